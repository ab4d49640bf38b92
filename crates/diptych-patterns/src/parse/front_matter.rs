//! The YAML between the two `---` lines: our own fields and those of the community's format.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::yaml;
use crate::problem::Problem;

/// A value and the line of the file that it is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lined<T> {
    pub(super) value: T,
    pub(super) line: usize,
}

/// What a front matter says, in our words.
#[derive(Debug, Default)]
pub(super) struct FrontMatter {
    pub(super) id: Option<Lined<String>>,
    pub(super) title: Option<Lined<String>>,
    pub(super) category: Option<Lined<String>>,
    pub(super) topic: Option<Lined<String>>,
    pub(super) difficulty: Option<Lined<String>>,
    pub(super) summary: Option<Lined<String>>,
    pub(super) rule: Option<Lined<String>>,
    pub(super) tags: Vec<Lined<String>>,
    pub(super) api: Vec<Lined<String>>,
    pub(super) use_when: Option<Lined<String>>,
    pub(super) avoid_when: Option<Lined<String>>,
    pub(super) use_cases: Vec<Lined<String>>,
    pub(super) related: Vec<Lined<String>>,
    /// Names that are none of ours but look like a slip of the pen.
    pub(super) misspelt: Vec<(Lined<String>, &'static str)>,
}

/// A file taken apart: its front matter, its body, and the line the body begins on.
pub(super) struct Split<'a> {
    pub(super) yaml: Option<&'a str>,
    pub(super) body: &'a str,
    pub(super) body_line: usize,
}

/// Takes a file apart. A front matter that is never closed is a problem, not an empty one.
pub(super) fn split<'a>(text: &'a str, file: &str) -> Result<Split<'a>, Problem> {
    let opening = text.lines().next().unwrap_or_default();
    if opening.trim_end() != "---" {
        return Ok(Split { yaml: None, body: text, body_line: 1 });
    }
    let start = (opening.len() + 1).min(text.len());
    let mut at = start;
    for (number, line) in text[start..].split_inclusive('\n').enumerate() {
        if matches!(line.trim_end(), "---" | "...") {
            let body = &text[at + line.len()..];
            return Ok(Split { yaml: Some(&text[start..at]), body, body_line: number + 3 });
        }
        at += line.len();
    }
    Err(Problem::error(
        file,
        1,
        "The front matter that begins here is never closed.",
        "Put a line `---` after its last field.",
    ))
}

/// Reads the front matter.
pub(super) fn read(yaml: &str, file: &str) -> Result<FrontMatter, Problem> {
    let raw: Raw = yaml::read(yaml, file, 1)?;
    Ok(FrontMatter {
        id: text(raw.id),
        title: text(raw.title),
        category: text(raw.category),
        topic: text(raw.application_pattern_id),
        difficulty: text(raw.difficulty).or_else(|| text(raw.skill_level)),
        summary: text(raw.summary).or_else(|| text(raw.description)),
        rule: raw.rule.and_then(|rule| text(rule.description)),
        tags: texts(raw.tags),
        api: texts(raw.api),
        use_when: joined(raw.use_when),
        avoid_when: joined(raw.avoid_when),
        use_cases: texts(raw.use_cases),
        related: texts(raw.related),
        misspelt: misspelt(yaml),
    })
}

const NAMES: [&str; 15] = [
    "id",
    "title",
    "category",
    "difficulty",
    "skillLevel",
    "summary",
    "description",
    "rule",
    "tags",
    "api",
    "useWhen",
    "avoidWhen",
    "useCases",
    "related",
    "applicationPatternId",
];

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Raw {
    id: Option<Spanned<String>>,
    title: Option<Spanned<String>>,
    category: Option<Spanned<String>>,
    application_pattern_id: Option<Spanned<String>>,
    difficulty: Option<Spanned<String>>,
    #[serde(alias = "skill_level", alias = "level")]
    skill_level: Option<Spanned<String>>,
    summary: Option<Spanned<String>>,
    description: Option<Spanned<String>>,
    rule: Option<Rule>,
    tags: OneOrMore<Spanned<String>>,
    #[serde(alias = "apis")]
    api: OneOrMore<Spanned<String>>,
    #[serde(alias = "use_when", alias = "whenToUse")]
    use_when: OneOrMore<Spanned<String>>,
    #[serde(alias = "avoid_when", alias = "whenNotToUse")]
    avoid_when: OneOrMore<Spanned<String>>,
    #[serde(alias = "use_cases", alias = "useCase")]
    use_cases: OneOrMore<Spanned<String>>,
    #[serde(alias = "relatedPatterns", alias = "related_patterns")]
    related: OneOrMore<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Rule {
    description: Option<Spanned<String>>,
}

/// A list, or a single value where someone forgot that it is a list.
struct OneOrMore<T>(Vec<T>);

impl<T> Default for OneOrMore<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de> Deserialize<'de> for OneOrMore<Spanned<String>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The line of a single value is asked for first: a sequence inside `Spanned` keeps its own lines.
        let Spanned { value, referenced, defined } = Spanned::<Items>::deserialize(deserializer)?;
        Ok(Self(match value {
            Items::One(value) => vec![Spanned { value, referenced, defined }],
            Items::Many(values) => values,
        }))
    }
}

enum Items {
    One(String),
    Many(Vec<Spanned<String>>),
}

impl<'de> Deserialize<'de> for Items {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either(PhantomData<Items>);
        impl<'de> Visitor<'de> for Either {
            type Value = Items;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list of texts")
            }
            fn visit_str<E>(self, value: &str) -> Result<Items, E> {
                Ok(Items::One(value.to_owned()))
            }
            fn visit_bool<E>(self, value: bool) -> Result<Items, E> {
                Ok(Items::One(value.to_string()))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Items, E> {
                Ok(Items::One(value.to_string()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Items, E> {
                Ok(Items::One(value.to_string()))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Items, E> {
                Ok(Items::One(value.to_string()))
            }
            fn visit_unit<E>(self) -> Result<Items, E> {
                Ok(Items::Many(Vec::new()))
            }
            fn visit_none<E>(self) -> Result<Items, E> {
                Ok(Items::Many(Vec::new()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Items, A::Error> {
                let mut values = Vec::new();
                while let Some(item) = items.next_element::<Option<Spanned<String>>>()? {
                    values.extend(item);
                }
                Ok(Items::Many(values))
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

fn lined(Spanned { mut value, referenced, .. }: Spanned<String>) -> Option<Lined<String>> {
    // The YAML begins on the second line of its file.
    let line = usize::try_from(referenced.line()).unwrap_or_default() + 1;
    value.truncate(value.trim_end().len());
    value.drain(..value.len() - value.trim_start().len());
    (!value.is_empty()).then_some(Lined { value, line })
}

fn text(spanned: Option<Spanned<String>>) -> Option<Lined<String>> {
    spanned.and_then(lined)
}

fn texts(spanned: OneOrMore<Spanned<String>>) -> Vec<Lined<String>> {
    spanned.0.into_iter().filter_map(lined).collect()
}

fn joined(spanned: OneOrMore<Spanned<String>>) -> Option<Lined<String>> {
    let values = texts(spanned);
    let line = values.first()?.line;
    let value = values.into_iter().map(|item| item.value).collect::<Vec<_>>().join("; ");
    Some(Lined { value, line })
}

fn misspelt(yaml: &str) -> Vec<(Lined<String>, &'static str)> {
    let mut found = Vec::new();
    for (number, line) in yaml.lines().enumerate() {
        let Some((name, _)) = line.split_once(':') else { continue };
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name || NAMES.contains(&name) {
            continue;
        }
        let near = NAMES.iter().map(|known| (strsim::normalized_damerau_levenshtein(name, known), *known));
        if let Some((similarity, known)) = near.max_by(|a, b| a.0.total_cmp(&b.0))
            && similarity >= 0.75
            && known.len() > 3
            && !is_other_spelling(name)
        {
            found.push((Lined { value: name.to_owned(), line: number + 2 }, known));
        }
    }
    found
}

fn is_other_spelling(name: &str) -> bool {
    matches!(
        name,
        "skill_level"
            | "use_when"
            | "avoid_when"
            | "use_cases"
            | "useCase"
            | "relatedPatterns"
            | "related_patterns"
    )
}
