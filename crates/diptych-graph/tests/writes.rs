//! What is written, what is skipped, and what is said about it.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use common::*;
use diptych_graph::store::*;

#[test]
fn an_entity_that_exists_is_skipped_and_left_as_it_is() {
    let store = TestStore::new();
    store.make("Ada", "person", &["likes engines"]);
    let outcome = store
        .create_entities(
            &project(),
            &[entity("Ada", "robot", &["x"]), entity("Charles", "person", &[]), entity("Charles", "x", &[])],
        )
        .unwrap();
    assert_eq!(names(&outcome.entities), ["Charles"]);
    assert_eq!(outcome.skipped, ["Ada", "Charles"]);
    let all = store.all();
    assert_eq!(names(&all.entities), ["Ada", "Charles"]);
    assert_eq!((all.entities[0].entity_type.as_str(), all.entities[0].version), ("person", 1));
}

#[test]
fn an_invalid_item_fails_the_whole_batch_and_is_named() {
    let store = TestStore::new();
    let error = store
        .create_entities(&project(), &[entity("ok", "t", &[]), entity("bad\u{7}", "t", &[""])])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "Invalid input: entities[1].name must not contain line breaks or other control characters; \
         entities[1].observations[0] must not be empty"
    );
    assert!(store.all().entities.is_empty());
}

#[test]
fn near_duplicates_are_pointed_out() {
    let store = TestStore::new();
    for name in ["Auth Service", "Ada Lovelace", "Kubernetes", "Release 1.2", "PostgreSQL cluster"] {
        store.make(name, "thing", &[]);
    }
    let similar = |name: &str| {
        let outcome = store.make(name, "thing", &[]);
        outcome
            .similar
            .into_iter()
            .map(|near| format!("{}: {}", near.existing, near.reason))
            .collect::<Vec<_>>()
    };
    assert_eq!(similar("auth-service"), ["Auth Service: differs only in case, spacing or punctuation"]);
    assert_eq!(similar("Lovelace, Ada"), ["Ada Lovelace: has the same words in another order"]);
    assert_eq!(similar("Kubernets"), ["Kubernetes: differs in the spelling of one word"]);
    assert_eq!(similar("PostgreSQL clusters"), ["PostgreSQL cluster: differs in the spelling of one word"]);
    assert!(similar("Release 1.3").is_empty(), "numbers tell things apart");
    assert!(similar("Something else").is_empty());
}

#[test]
fn a_relation_needs_both_ends_and_the_error_names_what_is_near() {
    let store = TestStore::new();
    store.make("Ada Lovelace", "person", &[]);
    store.make("Analytical Engine", "machine", &[]);
    let error = store
        .create_relations(
            &project(),
            &[
                relation("Ada Lovelace", "wrote for", "Analytical Engin"),
                relation("Nobody", "knows", "Ada Lovelce"),
            ],
        )
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "Entity with name \"Analytical Engin\" not found. Nearest names: \"Analytical Engine\". \
         Entity with name \"Nobody\" not found. \
         Entity with name \"Ada Lovelce\" not found. Nearest names: \"Ada Lovelace\"."
    );
    assert!(store.all().relations.is_empty());
}

#[test]
fn relations_are_told_apart_by_ends_and_type_alone() {
    let store = TestStore::new();
    store.make("a", "t", &[]);
    store.make("b", "t", &[]);
    let strong = NewRelation {
        facts: RelationFacts { strength: Some(0.9), ..RelationFacts::default() },
        ..relation("a", "r", "b")
    };
    let outcome = store
        .create_relations(
            &project(),
            &[relation("a", "r", "b"), strong, relation("b", "r", "a"), relation("a", "r", "a")],
        )
        .unwrap();
    assert_eq!(outcome.relations.len(), 3);
    assert_eq!(outcome.skipped, [key("a", "r", "b")]);
    assert_eq!(store.get_relation(&project(), &key("a", "r", "b")).unwrap().strength, None);
}

#[test]
fn an_update_changes_what_is_given_and_counts_only_differences() {
    let store = TestStore::new();
    store.make("a", "t", &[]);
    store.make("b", "t", &[]);
    store.relate("a", "r", "b");
    let key = key("a", "r", "b");
    let update = |facts: &RelationFacts| store.update_relation(&project(), &key, facts).unwrap();
    let metadata = serde_json::json!({"why": ["x", 1.5, null, {"z": 1, "a": 2}]}).as_object().cloned();
    let strong =
        RelationFacts { strength: Some(0.5), metadata: metadata.clone(), ..RelationFacts::default() };
    assert_eq!(update(&strong).version, 2);
    assert_eq!(update(&strong).version, 2);
    assert_eq!(update(&RelationFacts::default()).version, 2);
    let sure = update(&RelationFacts { confidence: Some(0.25), ..RelationFacts::default() });
    assert_eq!(
        (sure.version, sure.strength, sure.confidence, &sure.metadata),
        (3, Some(0.5), Some(0.25), &metadata)
    );
    assert_eq!(store.get_relation(&project(), &key).unwrap(), sure);

    let beyond = RelationFacts { confidence: Some(1.5), ..RelationFacts::default() };
    let error = store.update_relation(&project(), &key, &beyond).unwrap_err();
    assert_eq!(error.to_string(), "Invalid input: confidence must be a number from 0 to 1");
    let error = store.update_relation(&project(), &common::key("b", "r", "a"), &strong).unwrap_err();
    assert_eq!(error.to_string(), "No relation \"r\" from \"b\" to \"a\" exists.");
}

#[test]
fn observations_that_are_there_already_are_not_added_again() {
    let store = TestStore::new();
    store.make("Ada", "person", &["one"]);
    let outcome = store
        .add_observations(
            &project(),
            &[additions("Ada", &["one", "two"]), additions("Ada", &["two", "three"])],
        )
        .unwrap();
    assert_eq!(outcome.added, 2);
    assert_eq!(outcome.results[0].added_observations, ["two"]);
    assert_eq!(outcome.results[1].added_observations, ["three"]);
    let ada = &store.all().entities[0];
    assert_eq!((ada.version, ada.observations.as_slice()), (2, texts(&["one", "two", "three"]).as_slice()));

    let before = store.last_change().unwrap();
    assert_eq!(store.add_observations(&project(), &[additions("Ada", &["one"])]).unwrap().at, None);
    assert_eq!(store.last_change().unwrap(), before, "nothing happened, so nothing changed");
    let error = store
        .add_observations(&project(), &[additions("Ada", &["four"]), additions("Eve", &["x"])])
        .unwrap_err();
    assert_eq!(error.to_string(), "Entity with name \"Eve\" not found.");
    assert_eq!(store.all().entities[0].observations.len(), 3);
}

#[test]
fn deletions_count_what_was_there() {
    let store = TestStore::new();
    store.make("a", "t", &["x", "y", "x"]);
    store.make("b", "t", &[]);
    store.relate("a", "r", "b");
    store.relate("b", "loops to", "b");

    let outcome = store.delete_observations(&project(), &[of("a", &["x", "z"]), of("c", &["q"])]).unwrap();
    assert_eq!((outcome.deleted, outcome.results), (2, vec![of("a", &["x"])]));
    assert_eq!(outcome.missing, [of("a", &["z"]), of("c", &["q"])]);

    let outcome = store.delete_relations(&project(), &[key("b", "r", "a"), key("a", "r", "b")]).unwrap();
    assert_eq!((outcome.relations, outcome.missing), (vec![key("a", "r", "b")], vec![key("b", "r", "a")]));

    store.relate("a", "r", "b");
    let outcome = store.delete_entities(&project(), &texts(&["b", "b", "nobody"])).unwrap();
    assert_eq!(
        (outcome.entity_names, outcome.missing, outcome.relations_deleted),
        (texts(&["b"]), texts(&["nobody"]), 2)
    );
    let all = store.all();
    assert_eq!((names(&all.entities), all.relations.len()), (vec!["a"], 0));
}

#[test]
fn relations_survive_a_change_of_their_entity_and_end_with_it() {
    let store = TestStore::new();
    store.make("a", "t", &[]);
    store.make("b", "t", &[]);
    store.relate("a", "r", "b");
    store.add_observations(&project(), &[additions("a", &["changed"])]).unwrap();
    assert_eq!(store.all().relations.len(), 1);
    store.delete_entities(&project(), &texts(&["a"])).unwrap();
    let again = store.make("a", "other", &["new"]);
    assert_eq!((again.entities[0].version, &*again.entities[0].entity_type), (3, "other"));
    assert!(store.all().relations.is_empty());
    assert_eq!(store.relate("a", "r", "b").relations[0].version, 2);
}

#[test]
fn text_comes_back_byte_for_byte() {
    let store = TestStore::new();
    let texts_to_keep = [
        "```\n# not a heading\n```",
        "a\u{0}b\u{1f}\u{7f}\r\n",
        "שלום ‏עולם",
        "e\u{301} \u{200b}\u{feff}",
        &"ü".repeat(5_000),
        "'; DROP TABLE entity; --",
    ];
    store.make("it's \"quoted\" * NEAR(", "AND OR NOT", &texts_to_keep);
    assert_eq!(store.all().entities[0].observations, texts(&texts_to_keep));
    let opened = store.open_nodes(&scope(), &texts(&["it's \"quoted\" * NEAR("])).unwrap();
    assert_eq!(opened.entities[0].observations, texts(&texts_to_keep));
}

#[test]
fn opening_gives_the_relations_that_touch_and_names_what_is_missing() {
    let store = TestStore::new();
    for name in ["a", "b", "c"] {
        store.make(name, "t", &[]);
    }
    store.relate("b", "r", "c");
    store.relate("a", "r", "b");
    store.relate("c", "r", "a");
    let opened = store.open_nodes(&scope(), &texts(&["b", "zz", "b", "zz"])).unwrap();
    assert_eq!(names(&opened.entities), ["b"]);
    assert_eq!(opened.missing, ["zz"]);
    let keys: Vec<_> = opened.relations.iter().map(Relation::key).collect();
    assert_eq!(keys, [key("b", "r", "c"), key("a", "r", "b")]);
    let both = store.open_nodes(&scope(), &texts(&["c", "a"])).unwrap();
    assert_eq!((names(&both.entities), both.relations.len()), (vec!["a", "c"], 3));
}

#[test]
fn projects_are_apart_and_can_be_looked_at_together() {
    let store = TestStore::new();
    let other = Project::new("other");
    store.make("shared name", "t", &["here"]);
    store.create_entities(&other, &[entity("shared name", "t", &["there"]), entity("b", "t", &[])]).unwrap();
    store.create_relations(&other, &[relation("shared name", "r", "b")]).unwrap();
    assert_eq!((store.all().entities.len(), store.all().relations.len()), (1, 0));
    assert_eq!(store.found("there"), Vec::<String>::new());
    let everywhere = store.open_nodes(&Scope::All, &texts(&["shared name"])).unwrap();
    let seen: Vec<_> = everywhere
        .entities
        .iter()
        .map(|entity| (entity.project.clone(), entity.observations[0].as_str()))
        .collect();
    assert_eq!(seen, [(Some("default".into()), "here"), (Some("other".into()), "there")]);
    let graph = store.read_graph(&Scope::All, &PageRequest::everything()).unwrap();
    assert_eq!((graph.entities.len(), graph.relations.len()), (3, 1));
    let overview: Vec<_> =
        store.projects().unwrap().into_iter().map(|p| (p.name, p.entities, p.relations)).collect();
    assert_eq!(overview, [("default".into(), 1, 0), ("other".into(), 2, 1)]);
    let nowhere = Scope::Project(Project::new("never written"));
    assert!(store.read_graph(&nowhere, &PageRequest::default()).unwrap().entities.is_empty());
    assert!(store.last_change_of(&other).unwrap() > store.last_change_of(&project()).unwrap());
}

#[test]
fn pages_put_together_are_the_whole_graph() {
    let store = TestStore::new();
    for index in 0..7 {
        store.make(&format!("e{index}"), "t", &["o"]);
    }
    for index in 1..7 {
        store.relate("e0", "r", &format!("e{index}"));
    }
    store.delete_entities(&project(), &texts(&["e3"])).unwrap();
    store.make("e3", "t", &[]);
    let whole = store.all();
    assert_eq!(names(&whole.entities), ["e0", "e1", "e2", "e4", "e5", "e6", "e3"]);
    for limit in 1..15 {
        let mut request = PageRequest { limit, cursor: None };
        let (mut entities, mut relations) = (Vec::new(), Vec::new());
        loop {
            let page = store.read_graph(&scope(), &request).unwrap();
            assert!(page.entities.len() + page.relations.len() <= limit);
            // Only half of each page is used, as when an answer must be cut.
            let shown = (page.entities.len() + page.relations.len()).div_ceil(2);
            entities.extend(page.entities.iter().take(shown).cloned());
            relations.extend(page.relations.iter().take(shown.saturating_sub(page.entities.len())).cloned());
            request.cursor = page.cursor_after(shown).map(|cursor| cursor.to_string().parse().unwrap());
            if request.cursor.is_none() {
                break;
            }
        }
        assert_eq!((&entities, &relations), (&whole.entities, &whole.relations), "limit {limit}");
    }
    let foreign = store.read_graph(&Scope::All, &PageRequest { limit: 1, cursor: None }).unwrap().next;
    let refused = store.read_graph(&scope(), &PageRequest { limit: 1, cursor: foreign }).unwrap_err();
    assert_eq!(refused.to_string(), "This cursor does not belong to this query.");
}

#[test]
fn the_summary_counts_types_and_connections_and_keeps_up() {
    let store = TestStore::new();
    for (name, kind) in [("a", "x"), ("b", "x"), ("c", "y")] {
        store.make(name, kind, &[]);
    }
    store.relate("a", "r", "b");
    store.relate("a", "s", "c");
    store.relate("a", "s", "a");
    let summary = store.summary(&scope()).unwrap();
    insta::assert_json_snapshot!(summary, @r#"
    {
      "entities": 3,
      "relations": 3,
      "entityTypes": [
        {
          "type": "x",
          "count": 2
        },
        {
          "type": "y",
          "count": 1
        }
      ],
      "relationTypes": [
        {
          "type": "s",
          "count": 2
        },
        {
          "type": "r",
          "count": 1
        }
      ],
      "mostConnected": [
        {
          "name": "a",
          "entityType": "x",
          "relations": 3
        },
        {
          "name": "b",
          "entityType": "x",
          "relations": 1
        },
        {
          "name": "c",
          "entityType": "y",
          "relations": 1
        }
      ]
    }
    "#);
    store.delete_entities(&project(), &texts(&["c"])).unwrap();
    assert_eq!(store.summary(&scope()).unwrap().entities, 2);
}

#[test]
fn merging_keeps_what_is_known_and_how_it_came_about() {
    let store = TestStore::new();
    store.make("Auth Service", "service", &["issues tokens", "in Rust"]);
    store.make("auth-service", "service", &["in Rust", "owned by Eve"]);
    store.make("Eve", "person", &[]);
    store.relate("Eve", "owns", "auth-service");
    store.relate("Eve", "owns", "Auth Service");
    store.relate("auth-service", "replaces", "Auth Service");
    store.relate("auth-service", "serves", "Eve");
    let before = store.now().unwrap();

    let candidates = store.merge_candidates(&project(), 10).unwrap();
    assert_eq!(candidates.len(), 1);
    let pair = &candidates[0];
    assert_eq!((&*pair.keep, &*pair.absorb, pair.same_type), ("auth-service", "Auth Service", true));
    let outcome = store.merge(&project(), &pair.keep, &pair.absorb).unwrap();
    assert_eq!((outcome.observations_added, outcome.relations_moved, outcome.relations_dropped), (1, 0, 2));

    let all = store.all();
    assert_eq!(names(&all.entities), ["auth-service", "Eve"]);
    assert_eq!(all.entities[0].observations, ["in Rust", "owned by Eve", "issues tokens"]);
    let keys: Vec<_> = all.relations.iter().map(Relation::key).collect();
    assert_eq!(keys, [key("Eve", "owns", "auth-service"), key("auth-service", "serves", "Eve")]);
    assert!(store.merge_candidates(&project(), 10).unwrap().is_empty());

    let then = store.graph_at(&scope(), before, &PageRequest::everything()).unwrap();
    assert_eq!((then.entities.len(), then.relations.len()), (3, 4));
    let history = store.entity_history(&project(), "Auth Service", &PageRequest::default()).unwrap();
    let last = &history.versions[1];
    assert_eq!((history.versions.len(), last.valid_to), (2, Some(outcome.at)));
    assert_eq!(last.observations, ["issues tokens", "in Rust", "Merged into \"auth-service\"."]);
    assert!(store.check_integrity().unwrap().is_empty());
}

#[test]
fn relations_of_the_absorbed_entity_move() {
    let store = TestStore::new();
    for name in ["one", "uno", "x"] {
        store.make(name, "t", &[]);
    }
    let sure = NewRelation {
        facts: RelationFacts { confidence: Some(0.5), ..RelationFacts::default() },
        ..relation("uno", "r", "x")
    };
    store.create_relations(&project(), &[sure, relation("uno", "r", "uno")]).unwrap();
    let outcome = store.merge(&project(), "one", "uno").unwrap();
    assert_eq!((outcome.relations_moved, outcome.relations_dropped), (2, 0));
    assert_eq!(store.get_relation(&project(), &key("one", "r", "x")).unwrap().confidence, Some(0.5));
    assert!(store.get_relation(&project(), &key("one", "r", "one")).is_ok());
    assert_eq!(
        store.merge(&project(), "one", "uno").unwrap_err().to_string(),
        "Entity with name \"uno\" not found."
    );
}

#[test]
fn a_neighbourhood_is_what_lies_within_so_many_steps() {
    let store = TestStore::new();
    for name in ["a", "b", "c", "d"] {
        store.make(name, "t", &[]);
    }
    store.relate("a", "r", "b");
    store.relate("c", "r", "b");
    store.relate("c", "r", "d");
    let around = |steps| {
        let near = store.neighbourhood(&project(), "a", steps, 100).unwrap();
        (names(&near.entities).into_iter().map(str::to_owned).collect::<Vec<_>>(), near.relations.len())
    };
    assert_eq!(around(0), (texts(&["a"]), 0));
    assert_eq!(around(1), (texts(&["a", "b"]), 1));
    assert_eq!(around(2), (texts(&["a", "b", "c"]), 2));
}

#[test]
fn names_are_completed_whatever_the_case() {
    let store = TestStore::new();
    for name in ["Auth Service", "authority", "Other"] {
        store.make(name, "t", &[]);
    }
    assert_eq!(store.names_beginning(&scope(), "AUTH", 10).unwrap(), ["authority", "Auth Service"]);
    assert_eq!(store.names_beginning(&scope(), "auth s", 10).unwrap(), ["Auth Service"]);
    assert_eq!(store.names_beginning(&scope(), "", 2).unwrap().len(), 2);
}
