//! The past: every state that ever was, against a model that simply keeps a copy of each.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::collections::BTreeMap;

use common::*;
use diptych_graph::store::*;
use proptest::prelude::*;

const NAMES: [&str; 4] = ["Ada", "Bo", "Cy", "Di"];
const FACTS: [&str; 4] = ["walks", "talks", "reads", "codes"];
const LINKS: [&str; 2] = ["knows", "likes"];

#[derive(Clone, Debug)]
enum Step {
    Create(Vec<(usize, usize)>),
    Add(Vec<(usize, usize)>),
    Forget(usize, usize),
    Delete(Vec<usize>),
    Relate(usize, usize, usize, Option<u8>),
    Update(usize, usize, usize, u8),
    Unrelate(usize, usize, usize),
    Merge(usize, usize),
    /// The wall clock moves, backwards too.
    Wait(i64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let name = 0..NAMES.len();
    let fact = 0..FACTS.len();
    let link = 0..LINKS.len();
    let step = prop_oneof![
        4 => prop::collection::vec((name.clone(), fact.clone()), 1..3).prop_map(Step::Create),
        4 => prop::collection::vec((name.clone(), fact.clone()), 1..4).prop_map(Step::Add),
        2 => (name.clone(), fact).prop_map(|(name, fact)| Step::Forget(name, fact)),
        1 => prop::collection::vec(name.clone(), 1..3).prop_map(Step::Delete),
        4 => (name.clone(), name.clone(), link.clone(), prop::option::of(0..5_u8))
            .prop_map(|(from, to, link, sure)| Step::Relate(from, to, link, sure)),
        3 => (name.clone(), name.clone(), link.clone(), 0..5_u8)
            .prop_map(|(from, to, link, sure)| Step::Update(from, to, link, sure)),
        1 => (name.clone(), name.clone(), link).prop_map(|(from, to, link)| Step::Unrelate(from, to, link)),
        1 => (name.clone(), name).prop_map(|(keep, absorb)| Step::Merge(keep, absorb)),
        2 => (-3..5_i64).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..40)
}

/// What an answer says about an entity: name, type, observations, version, made at, changed at.
type EntityFacts = (String, String, Vec<String>, u32, i64, i64);
/// The same for a relation: key, confidence, version, made at, changed at.
type RelationFactsOf = (RelationKey, Option<f64>, u32, i64, i64);

#[derive(Clone, Debug, Default, PartialEq)]
struct State {
    entities: Vec<EntityFacts>,
    relations: Vec<RelationFactsOf>,
}

impl State {
    fn of(page: &GraphPage) -> Self {
        Self {
            entities: page
                .entities
                .iter()
                .map(|e| {
                    let times = (e.created_at.as_millis(), e.updated_at.as_millis());
                    (
                        e.name.clone(),
                        e.entity_type.clone(),
                        e.observations.clone(),
                        e.version,
                        times.0,
                        times.1,
                    )
                })
                .collect(),
            relations: page
                .relations
                .iter()
                .map(|r| {
                    (r.key(), r.confidence, r.version, r.created_at.as_millis(), r.updated_at.as_millis())
                })
                .collect(),
        }
    }

    fn entity(&mut self, name: &str) -> Option<&mut EntityFacts> {
        self.entities.iter_mut().find(|entity| entity.0 == name)
    }

    fn relation(&mut self, key: &RelationKey) -> Option<&mut RelationFactsOf> {
        self.relations.iter_mut().find(|relation| relation.0 == *key)
    }
}

/// The store as it should be, and every state that it had.
#[derive(Default)]
struct Model {
    now: State,
    past: Vec<(i64, State)>,
    entity_versions: BTreeMap<String, u32>,
    relation_versions: BTreeMap<RelationKey, u32>,
}

impl Model {
    fn create(&mut self, name: &str, facts: Vec<String>, at: i64) {
        if self.now.entity(name).is_none() {
            let version = self.entity_versions.entry(name.into()).or_default();
            *version += 1;
            self.now.entities.push((name.into(), "person".into(), facts, *version, at, at));
        }
    }

    fn change(&mut self, name: &str, at: i64, change: impl FnOnce(&mut Vec<String>)) {
        let version = self.entity_versions.get_mut(name);
        if let (Some(entity), Some(version)) = (self.now.entity(name), version) {
            let before = entity.2.clone();
            change(&mut entity.2);
            if entity.2 != before && entity.5 != at {
                *version += 1;
                (entity.3, entity.5) = (*version, at);
            }
        }
    }

    fn delete(&mut self, name: &str) {
        self.now.entities.retain(|entity| entity.0 != name);
        self.now.relations.retain(|relation| relation.0.from != name && relation.0.to != name);
    }

    fn relate(&mut self, key: RelationKey, sure: Option<f64>, at: i64) {
        if self.now.relation(&key).is_none() {
            let version = self.relation_versions.entry(key.clone()).or_default();
            *version += 1;
            self.now.relations.push((key, sure, *version, at, at));
        }
    }

    fn update(&mut self, key: &RelationKey, sure: f64, at: i64) {
        let version = self.relation_versions.get_mut(key);
        if let (Some(relation), Some(version)) = (self.now.relation(key), version)
            && relation.1 != Some(sure)
        {
            *version += 1;
            (relation.1, relation.2, relation.4) = (Some(sure), *version, at);
        }
    }

    fn merge(&mut self, keep: &str, absorb: &str, at: i64) {
        let absorbed = self.now.entity(absorb).unwrap().2.clone();
        // For a moment the one that goes says where.
        self.change(absorb, at - 1, |facts| facts.push(format!("Merged into {keep:?}.")));
        self.past.push((at - 1, self.now.clone()));
        let moving: Vec<_> =
            self.now.relations.iter().filter(|r| r.0.from == absorb || r.0.to == absorb).cloned().collect();
        self.delete(absorb);
        self.change(keep, at, |facts| {
            let new: Vec<_> = absorbed.into_iter().filter(|fact| !facts.contains(fact)).collect();
            facts.extend(new);
        });
        for (key, sure, ..) in moving {
            let was_loop = key.from == key.to;
            let renamed = |name: String| if name == absorb { keep.to_owned() } else { name };
            let key = RelationKey { from: renamed(key.from), to: renamed(key.to), ..key };
            if was_loop || key.from != key.to {
                self.relate(key, sure, at);
            }
        }
    }
}

fn share(number: u8) -> f64 {
    f64::from(number) / 4.0
}

/// Takes a step in the store and, if something happened there, in the model.
fn take(store: &TestStore, model: &mut Model, step: &Step) {
    let text = |index: usize| FACTS[index].to_owned();
    let key = |from: usize, to: usize, link: usize| common::key(NAMES[from], LINKS[link], NAMES[to]);
    let at = match step {
        Step::Create(list) => {
            let new: Vec<_> =
                list.iter().map(|(name, fact)| entity(NAMES[*name], "person", &[FACTS[*fact]])).collect();
            let at = store.create_entities(&project(), &new).unwrap().at;
            for (name, fact) in at.map(|_| list).into_iter().flatten() {
                model.create(NAMES[*name], vec![text(*fact)], at.unwrap().as_millis());
            }
            at
        }
        Step::Add(list) => {
            let new: Vec<_> =
                list.iter().map(|(name, fact)| additions(NAMES[*name], &[FACTS[*fact]])).collect();
            let outcome = store.add_observations(&project(), &new);
            let all_exist = list.iter().all(|(name, _)| model.now.entity(NAMES[*name]).is_some());
            assert_eq!(outcome.is_ok(), all_exist);
            let at = outcome.ok().and_then(|outcome| outcome.at);
            for (name, fact) in at.map(|_| list).into_iter().flatten() {
                model.change(NAMES[*name], at.unwrap().as_millis(), |facts| {
                    if !facts.contains(&text(*fact)) {
                        facts.push(text(*fact));
                    }
                });
            }
            at
        }
        Step::Forget(name, fact) => {
            let at = store.delete_observations(&project(), &[of(NAMES[*name], &[FACTS[*fact]])]).unwrap().at;
            if let Some(at) = at {
                model.change(NAMES[*name], at.as_millis(), |facts| facts.retain(|kept| *kept != text(*fact)));
            }
            at
        }
        Step::Delete(list) => {
            let names: Vec<_> = list.iter().map(|name| NAMES[*name].to_owned()).collect();
            let at = store.delete_entities(&project(), &names).unwrap().at;
            names.iter().for_each(|name| model.delete(name));
            at
        }
        Step::Relate(from, to, link, sure) => {
            let new = NewRelation {
                facts: RelationFacts { confidence: sure.map(share), ..RelationFacts::default() },
                ..relation(NAMES[*from], LINKS[*link], NAMES[*to])
            };
            let outcome = store.create_relations(&project(), &[new]);
            let both_exist = [from, to].iter().all(|name| model.now.entity(NAMES[**name]).is_some());
            assert_eq!(outcome.is_ok(), both_exist);
            let at = outcome.ok().and_then(|outcome| outcome.at);
            if let Some(at) = at {
                model.relate(key(*from, *to, *link), sure.map(share), at.as_millis());
            }
            at
        }
        Step::Update(from, to, link, sure) => {
            let key = key(*from, *to, *link);
            let change = RelationFacts { confidence: Some(share(*sure)), ..RelationFacts::default() };
            let before = store.last_change().unwrap();
            let outcome = store.update_relation(&project(), &key, &change);
            assert_eq!(outcome.is_ok(), model.now.relation(&key).is_some());
            let at = outcome.ok().map(|relation| relation.updated_at).filter(|at| Some(*at) > before);
            if let Some(at) = at {
                model.update(&key, share(*sure), at.as_millis());
            }
            at
        }
        Step::Unrelate(from, to, link) => {
            let key = key(*from, *to, *link);
            let at = store.delete_relations(&project(), std::slice::from_ref(&key)).unwrap().at;
            model.now.relations.retain(|relation| relation.0 != key);
            at
        }
        Step::Merge(keep, absorb) => {
            let outcome = store.merge(&project(), NAMES[*keep], NAMES[*absorb]);
            let possible =
                keep != absorb && [keep, absorb].iter().all(|name| model.now.entity(NAMES[**name]).is_some());
            assert_eq!(outcome.is_ok(), possible);
            let at = outcome.ok().map(|outcome| outcome.at);
            if let Some(at) = at {
                model.merge(NAMES[*keep], NAMES[*absorb], at.as_millis());
            }
            at
        }
        Step::Wait(millis) => {
            store.pass_millis(*millis);
            None
        }
    };
    if let Some(at) = at {
        assert!(model.past.last().is_none_or(|(last, _)| *last < at.as_millis()), "time only goes forward");
        model.past.push((at.as_millis(), model.now.clone()));
    }
}

/// What history says about an entity at a time must be what the graph said.
fn check_histories(store: &TestStore, model: &Model) {
    for name in NAMES {
        let history = store.entity_history(&project(), name, &PageRequest { limit: 3, cursor: None });
        let Some(total) = model.entity_versions.get(name) else {
            assert!(matches!(history, Err(StoreError::MissingEntities(_))));
            continue;
        };
        let mut page = history.unwrap();
        assert_eq!(page.total, u64::from(*total));
        let mut versions = Vec::new();
        loop {
            versions.append(&mut page.versions);
            let Some(cursor) = page.next else { break };
            page = store
                .entity_history(&project(), name, &PageRequest { limit: 3, cursor: Some(cursor) })
                .unwrap();
        }
        assert_eq!(versions.iter().map(|v| v.version).collect::<Vec<_>>(), (1..=*total).collect::<Vec<_>>());
        for (at, state) in &model.past {
            let holds = |v: &&EntityVersion| {
                v.valid_from.as_millis() <= *at && v.valid_to.is_none_or(|to| *at < to.as_millis())
            };
            let found: Vec<_> = versions.iter().filter(holds).collect();
            let expected: Vec<_> = state.entities.iter().filter(|entity| entity.0 == name).collect();
            assert_eq!(found.len(), expected.len());
            for (version, expected) in found.iter().zip(expected) {
                assert_eq!((&version.observations, version.version), (&expected.2, expected.3));
                assert_eq!(version.created_at.as_millis(), expected.4);
            }
        }
    }
    for (key, total) in &model.relation_versions {
        let page = store.relation_history(&project(), key, &PageRequest::everything()).unwrap();
        assert_eq!(page.versions.len(), usize::try_from(*total).unwrap());
        for (at, state) in &model.past {
            let holds = |v: &&RelationVersion| {
                v.valid_from.as_millis() <= *at && v.valid_to.is_none_or(|to| *at < to.as_millis())
            };
            let found: Vec<_> =
                page.versions.iter().filter(holds).map(|v| (v.confidence, v.version)).collect();
            let expected: Vec<_> =
                state.relations.iter().filter(|r| r.0 == *key).map(|r| (r.1, r.2)).collect();
            assert_eq!(found, expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_state_that_was_can_be_read_again(steps in steps()) {
        let store = TestStore::new();
        let mut model = Model::default();
        for step in &steps {
            take(&store, &mut model, step);
            prop_assert_eq!(&State::of(&store.all()), &model.now, "after {:?}", step);
        }
        let first = model.past.first().map_or(0, |(at, _)| *at) - 2;
        let last = model.past.last().map_or(0, |(at, _)| *at) + 2;
        for at in first..=last {
            let expected = model.past.iter().rev().find(|(from, _)| *from <= at).map(|(_, state)| state.clone()).unwrap_or_default();
            let time = Timestamp::from_millis(at);
            let graph = store.graph_at(&scope(), time, &PageRequest::everything()).unwrap();
            prop_assert_eq!(&State::of(&graph), &expected, "at {}", at);
            // In pages it is the same graph.
            let mut request = PageRequest { limit: 2, cursor: None };
            let mut paged = State::default();
            loop {
                let page = store.graph_at(&scope(), time, &request).unwrap();
                let mut part = State::of(&page);
                paged.entities.append(&mut part.entities);
                paged.relations.append(&mut part.relations);
                request.cursor = page.next;
                if request.cursor.is_none() { break }
            }
            prop_assert_eq!(&paged, &expected, "in pages at {}", at);
        }
        check_histories(&store, &model);
        for name in NAMES {
            let lives = model.now.entity(name).is_some();
            prop_assert_eq!(store.found(name).first().map(String::as_str) == Some(name), lives);
        }
        prop_assert_eq!(store.check_integrity().unwrap(), Vec::<String>::new());
    }
}

#[test]
fn confidence_fades_from_the_last_change() {
    let store = TestStore::new();
    store.make("a", "t", &[]);
    store.make("b", "t", &[]);
    let sure = NewRelation {
        facts: RelationFacts { confidence: Some(0.8), ..RelationFacts::default() },
        ..relation("a", "r", "b")
    };
    let made = store.create_relations(&project(), &[sure, relation("b", "s", "a")]).unwrap().at.unwrap();
    let later = |days: i64| Timestamp::from_millis(made.as_millis() + days * 86_400_000);
    let decay = Decay { half_life_days: 30.0, floor: 0.1 };
    let confidence = |at: Timestamp| {
        let graph = store.decayed_graph(&scope(), at, &decay, &PageRequest::everything()).unwrap();
        graph.relations.iter().map(|relation| relation.confidence).collect::<Vec<_>>()
    };
    assert_eq!(confidence(made), [Some(0.8), None]);
    assert!((confidence(later(30))[0].unwrap() - 0.4).abs() < 1e-12);
    assert_eq!(confidence(later(3_000))[0], Some(0.1));
    assert!(confidence(later(-1)).is_empty(), "before it was made there was nothing to believe");
    assert_eq!(store.all().relations[0].confidence, Some(0.8), "what is stored does not fade");

    store.pass_days(30);
    let change = RelationFacts { confidence: Some(0.6), ..RelationFacts::default() };
    let confirmed = store.update_relation(&project(), &key("a", "r", "b"), &change).unwrap();
    assert_eq!(confidence(confirmed.updated_at)[0], Some(0.6));

    let never = Decay { half_life_days: 0.0, floor: 0.1 };
    let error = store.decayed_graph(&scope(), made, &never, &PageRequest::default()).unwrap_err();
    assert_eq!(error.to_string(), "Invalid input: halfLifeDays must be greater than 0");
}

#[test]
fn a_history_can_be_cut_anywhere() {
    let store = TestStore::new();
    store.make("a", "t", &[]);
    for index in 0..9 {
        store.add_observations(&project(), &[additions("a", &[&index.to_string()])]).unwrap();
    }
    let page = store.entity_history(&project(), "a", &PageRequest { limit: 6, cursor: None }).unwrap();
    assert_eq!((page.versions.len(), page.total), (6, 10));
    for shown in 0..=6 {
        let cursor = page.cursor_after(shown);
        let rest = store.entity_history(&project(), "a", &PageRequest { limit: 100, cursor }).unwrap();
        assert_eq!(rest.versions[0].version as usize, shown + 1);
    }
    insta::assert_json_snapshot!(&page.versions[1], @r#"
    {
      "name": "a",
      "entityType": "t",
      "observations": [
        "0"
      ],
      "version": 2,
      "createdAt": "2027-01-15T08:00:00.000Z",
      "validFrom": "2027-01-15T08:00:00.001Z",
      "validTo": "2027-01-15T08:00:00.002Z"
    }
    "#);
}
