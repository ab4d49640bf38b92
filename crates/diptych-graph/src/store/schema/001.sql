-- Layout 1. Ids of entities and relations are `project << 32 | sequence`, so that everything of a project lies in
-- one range of ids: the full-text tables, which know nothing but ids, can then be asked for one project alone.

CREATE TABLE project (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    changed_at INTEGER NOT NULL,
    sequence INTEGER NOT NULL
) STRICT;

-- The present state. A row stays when its entity is deleted, for its id and for the count of its versions.
CREATE TABLE entity (
    id INTEGER PRIMARY KEY,
    project INTEGER NOT NULL REFERENCES project (id),
    name TEXT NOT NULL,
    entity_type TEXT NOT NULL,
    position INTEGER NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER
) STRICT;
CREATE UNIQUE INDEX entity_by_name ON entity (project, name);
CREATE INDEX entity_in_order ON entity (project, position) WHERE deleted_at IS NULL;
CREATE INDEX entity_by_type ON entity (project, entity_type, deleted_at) WHERE deleted_at IS NULL;

-- The versions that are over.
CREATE TABLE entity_past (
    entity INTEGER NOT NULL REFERENCES entity (id),
    version INTEGER NOT NULL,
    entity_type TEXT NOT NULL,
    position INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    valid_to INTEGER NOT NULL,
    PRIMARY KEY (entity, version)
) STRICT, WITHOUT ROWID;

-- Observations have a life of their own, so that a version costs a row and not a copy of all of them.
CREATE TABLE observation (
    entity INTEGER NOT NULL REFERENCES entity (id),
    position INTEGER NOT NULL,
    content TEXT NOT NULL,
    valid_from INTEGER NOT NULL,
    valid_to INTEGER,
    PRIMARY KEY (entity, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE relation (
    id INTEGER PRIMARY KEY,
    project INTEGER NOT NULL REFERENCES project (id),
    from_entity INTEGER NOT NULL REFERENCES entity (id),
    to_entity INTEGER NOT NULL REFERENCES entity (id),
    relation_type TEXT NOT NULL,
    position INTEGER NOT NULL,
    version INTEGER NOT NULL,
    strength REAL,
    confidence REAL,
    metadata TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER
) STRICT;
CREATE UNIQUE INDEX relation_by_key ON relation (from_entity, to_entity, relation_type);
-- `deleted_at` is always null in these; it is there so that counting needs nothing but the index.
CREATE INDEX relation_by_start ON relation (from_entity, position, deleted_at) WHERE deleted_at IS NULL;
CREATE INDEX relation_by_end ON relation (to_entity, position, deleted_at) WHERE deleted_at IS NULL;
CREATE INDEX relation_in_order ON relation (project, position) WHERE deleted_at IS NULL;
CREATE INDEX relation_by_type ON relation (project, relation_type, deleted_at) WHERE deleted_at IS NULL;

CREATE TABLE relation_past (
    relation INTEGER NOT NULL REFERENCES relation (id),
    version INTEGER NOT NULL,
    position INTEGER NOT NULL,
    strength REAL,
    confidence REAL,
    metadata TEXT,
    created_at INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    valid_to INTEGER NOT NULL,
    PRIMARY KEY (relation, version)
) STRICT, WITHOUT ROWID;

-- What follows is index: made from the tables above in the same transactions, and can be rebuilt from them.

-- Names brought to forms in which near-duplicates are equal.
CREATE TABLE name_key (
    key TEXT NOT NULL,
    entity INTEGER NOT NULL,
    PRIMARY KEY (key, entity)
) STRICT, WITHOUT ROWID;

-- Names stand in a table of their own, so that a word common in observations costs nothing when names are asked.
CREATE VIRTUAL TABLE name_text USING fts5 (
    name, tag,
    content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE full_text USING fts5 (
    name, kind, body, tag,
    content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);

-- Every word ever indexed, for parts of words and for misspelt ones.
CREATE TABLE term (
    id INTEGER PRIMARY KEY,
    word TEXT NOT NULL UNIQUE
) STRICT;
CREATE VIRTUAL TABLE term_gram USING fts5 (word, content = 'term', content_rowid = 'id', tokenize = 'trigram');
CREATE TABLE term_deletion (
    key TEXT NOT NULL,
    term INTEGER NOT NULL,
    PRIMARY KEY (key, term)
) STRICT, WITHOUT ROWID;
