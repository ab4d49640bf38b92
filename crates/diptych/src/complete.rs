//! Completion: what could stand in an argument of a prompt or in a variable of a resource template.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use crate::call::Cx;
use crate::stop::Stop;
use crate::tool::Run;
use crate::walk::admit::Shape;

/// The argument as far as it has been typed, and the other arguments given so far.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Partial {
    /// What has been typed.
    pub value: String,
    /// The other arguments.
    #[serde(default)]
    pub others: BTreeMap<String, String>,
}

impl Partial {
    /// The candidates that fit what was typed: those that begin with it, then those that contain it,
    /// whatever their case, in their own order.
    pub fn filter<C: AsRef<str>>(&self, candidates: impl IntoIterator<Item = C>) -> Vec<String> {
        let typed = self.value.to_lowercase();
        let mut starting = Vec::new();
        let mut containing = Vec::new();
        for candidate in candidates {
            let candidate = candidate.as_ref();
            match candidate.to_lowercase().find(&typed) {
                Some(0) => starting.push(candidate.to_owned()),
                Some(_) => containing.push(candidate.to_owned()),
                None => {}
            }
        }
        starting.append(&mut containing);
        starting
    }
}

/// The shape of a [`Partial`], for the walk.
pub(crate) fn shape() -> &'static Shape {
    static SHAPE: LazyLock<Shape> = LazyLock::new(|| {
        let schema = crate::schema::of_input::<Partial>();
        Shape::new(Arc::new(schema)).unwrap_or_else(|_| unreachable!("the schema of Partial is one"))
    });
    &SHAPE
}

/// The most values that one completion returns.
pub(crate) const MOST: usize = 100;

pub(crate) fn completer<S, F, Fut>(function: F) -> Run<S, Vec<String>>
where
    S: Send + Sync + 'static,
    F: Fn(Cx<S>, Partial) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Vec<String>, Stop>> + Send + 'static,
{
    Arc::new(move |cx, partial| {
        let partial = serde_json::from_value(partial).unwrap_or_default();
        Box::pin(function(cx, partial))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_come_first() {
        let partial = Partial { value: "er".into(), ..Partial::default() };
        assert_eq!(partial.filter(["service", "Error", "layer", "all"]), ["Error", "service", "layer"]);
    }
}
