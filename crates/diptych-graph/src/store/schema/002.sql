-- Layout 2: vectors, for searches by meaning. Like the full-text tables they are made from the entities and can be
-- made again; unlike them they are made later, by whoever has an embedder.

-- The one model whose vectors are kept. Another model begins another epoch: no vector of the one before stays.
CREATE TABLE embedding_model (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    name TEXT NOT NULL,
    -- 0 until the first vector is there.
    dimensions INTEGER NOT NULL,
    epoch INTEGER NOT NULL
) STRICT;

-- A byte for each dimension, in steps of `scale`. Each change has a number greater than all before it, so that those
-- who hold copies read only what is new; a row without a vector tells them that its entity is gone.
CREATE TABLE embedding (
    entity INTEGER PRIMARY KEY,
    change INTEGER NOT NULL,
    -- Of the text that the vector was made from.
    text_hash INTEGER NOT NULL,
    scale REAL,
    vector BLOB
) STRICT;
CREATE INDEX embedding_by_change ON embedding (change);

-- Entities whose text has changed since their vector was made. `ticket` counts the changes, so that one that happens
-- while a vector is being made is not forgotten. Whoever makes a vector moves `not_before` ahead first: if they die,
-- somebody else's turn comes then.
CREATE TABLE embedding_queue (
    entity INTEGER PRIMARY KEY,
    ticket INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX embedding_due ON embedding_queue (not_before);

INSERT INTO embedding_queue (entity, ticket) SELECT id, 1 FROM entity WHERE deleted_at IS NULL;
