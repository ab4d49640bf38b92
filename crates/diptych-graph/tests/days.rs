//! What a day has changed is what differs between the graph at its beginning and at its end.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::collections::BTreeMap;

use common::*;
use diptych_graph::store::*;
use proptest::prelude::*;

const NAMES: [&str; 4] = ["ada", "bo", "cy", "dee"];
const FACTS: [&str; 3] = ["sings", "hums", "builds boats"];
const DAY: i64 = 86_400_000;

#[derive(Clone, Debug)]
enum Step {
    Create(usize, usize),
    Add(usize, usize),
    Forget(usize, usize),
    Delete(usize),
    Relate(usize, usize),
    Update(usize, usize, u8),
    Unrelate(usize, usize),
    Merge(usize, usize),
    Sleep,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (name, fact) = (0..NAMES.len(), 0..FACTS.len());
    let step = prop_oneof![
        (name.clone(), fact.clone()).prop_map(|(name, fact)| Step::Create(name, fact)),
        (name.clone(), fact.clone()).prop_map(|(name, fact)| Step::Add(name, fact)),
        (name.clone(), fact).prop_map(|(name, fact)| Step::Forget(name, fact)),
        name.clone().prop_map(Step::Delete),
        (name.clone(), name.clone()).prop_map(|(from, to)| Step::Relate(from, to)),
        (name.clone(), name.clone(), 0..4_u8).prop_map(|(from, to, sure)| Step::Update(from, to, sure)),
        (name.clone(), name.clone()).prop_map(|(from, to)| Step::Unrelate(from, to)),
        (name.clone(), name).prop_map(|(keep, absorb)| Step::Merge(keep, absorb)),
        Just(Step::Sleep),
    ];
    proptest::collection::vec(step, 1..40)
}

/// Takes a step, or tries to.
fn take(store: &TestStore, step: &Step) {
    let link = |from: usize, to: usize| key(NAMES[from], "knows", NAMES[to]);
    match *step {
        Step::Create(name, fact) => drop(store.make(NAMES[name], "person", &[FACTS[fact]])),
        Step::Add(name, fact) => {
            drop(store.add_observations(&project(), &[additions(NAMES[name], &[FACTS[fact]])]));
        }
        Step::Forget(name, fact) => {
            store.delete_observations(&project(), &[of(NAMES[name], &[FACTS[fact]])]).unwrap();
        }
        Step::Delete(name) => drop(store.delete_entities(&project(), &texts(&[NAMES[name]])).unwrap()),
        Step::Relate(from, to) => {
            drop(store.create_relations(&project(), &[relation(NAMES[from], "knows", NAMES[to])]));
        }
        Step::Update(from, to, sure) => {
            let change =
                RelationFacts { confidence: Some(f64::from(sure) / 4.0), ..RelationFacts::default() };
            drop(store.update_relation(&project(), &link(from, to), &change));
        }
        Step::Unrelate(from, to) => drop(store.delete_relations(&project(), &[link(from, to)]).unwrap()),
        Step::Merge(keep, absorb) => drop(store.merge(&project(), NAMES[keep], NAMES[absorb])),
        Step::Sleep => store.pass_days(1),
    }
}

type Seen = (BTreeMap<String, (Vec<String>, u32)>, BTreeMap<RelationKey, u32>);

fn seen(store: &TestStore, at: i64) -> Seen {
    let graph = store.graph_at(&scope(), Timestamp::from_millis(at), &PageRequest::everything()).unwrap();
    (
        graph
            .entities
            .into_iter()
            .map(|entity| (entity.name, (entity.observations, entity.version)))
            .collect(),
        graph.relations.iter().map(|relation| (relation.key(), relation.version)).collect(),
    )
}

fn fate<T: PartialEq>(before: Option<&T>, after: Option<&T>) -> Option<Fate> {
    match (before, after) {
        (None, Some(_)) => Some(Fate::Created),
        (Some(_), None) => Some(Fate::Deleted),
        (Some(before), Some(after)) if before != after => Some(Fate::Changed),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_day_is_the_difference_that_it_made(steps in steps()) {
        let store = TestStore::new();
        steps.iter().for_each(|step| take(&store, step));
        let last = store.now().unwrap();
        let days = store.days(&scope()).unwrap();
        prop_assert!(days.windows(2).all(|pair| pair[0] > pair[1]), "{:?}", days);
        for back in -1..=i64::try_from(steps.len()).unwrap() {
            let day = Day::of(Timestamp::from_millis(last.as_millis() - back * DAY));
            prop_assert_eq!(day.to_string().parse::<Day>().unwrap(), day);
            let begin = day.to_string().parse::<Timestamp>().unwrap().as_millis();
            let (before, after) = (seen(&store, begin - 1), seen(&store, begin + DAY - 1));
            let changes = store.changes_on(&scope(), day, 1_000).unwrap();
            let mut told: BTreeMap<&str, &EntityChange> = changes.entities.iter().map(|one| (&*one.name, one)).collect();
            for name in NAMES {
                let (was, is) = (before.0.get(name), after.0.get(name));
                let change = told.remove(name);
                prop_assert_eq!(change.map(|change| change.change), fate(was, is), "{} on {}", name, day);
                if let Some(change) = change {
                    let (was, is) = (was.map_or(&[][..], |was| &was.0), is.map_or(&[][..], |is| &is.0));
                    prop_assert!(change.learnt.iter().all(|fact| is.contains(fact) && !was.contains(fact)));
                    prop_assert!(change.forgotten.iter().all(|fact| was.contains(fact) && !is.contains(fact)));
                    prop_assert!(is.iter().all(|fact| was.contains(fact) || change.learnt.contains(fact)));
                    prop_assert!(was.iter().all(|fact| is.contains(fact) || change.forgotten.contains(fact)));
                }
            }
            prop_assert!(told.is_empty());
            let mut told: BTreeMap<&RelationKey, Fate> = changes.relations.iter().map(|one| (&one.key, one.change)).collect();
            for key in before.1.keys().chain(after.1.keys()) {
                let expected = fate(before.1.get(key), after.1.get(key));
                prop_assert_eq!(changes.relations.iter().find(|one| one.key == *key).map(|one| one.change), expected);
                told.remove(key);
            }
            prop_assert!(told.is_empty());
            if !changes.entities.is_empty() || !changes.relations.is_empty() {
                prop_assert!(days.contains(&day), "{} in {:?}", day, days);
            }
        }
    }
}

#[test]
fn a_day_is_written_as_a_date() {
    for text in ["2026-11-15", "1969-12-31", "2024-02-29"] {
        assert_eq!(text.parse::<Day>().unwrap().to_string(), text);
    }
    for text in ["", "today", "2026-02-30", "2026-13-01"] {
        assert!(text.parse::<Day>().is_err(), "{text}");
    }
}
