//! The nouns of a catalogue: a pattern, its sections and its examples.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most characters a summary may have; the contract's number.
pub const SUMMARY_LIMIT: usize = 200;

/// How much someone should know already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Difficulty {
    /// For a first week with the subject.
    Beginner,
    /// For daily work.
    Intermediate,
    /// For when the simple way is not enough.
    Advanced,
}

impl Difficulty {
    /// All of them, easiest first.
    pub const ALL: [Self; 3] = [Self::Beginner, Self::Intermediate, Self::Advanced];

    /// The word used in files and on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Beginner => "beginner",
            Self::Intermediate => "intermediate",
            Self::Advanced => "advanced",
        }
    }
}

impl fmt::Display for Difficulty {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The word is none of `beginner`, `intermediate` and `advanced`, nor a usual name for one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a difficulty is beginner, intermediate or advanced")]
pub struct UnknownDifficulty;

impl FromStr for Difficulty {
    type Err = UnknownDifficulty;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word.trim().to_ascii_lowercase().as_str() {
            "beginner" | "basic" | "easy" | "novice" => Ok(Self::Beginner),
            "intermediate" | "medium" => Ok(Self::Intermediate),
            "advanced" | "expert" | "hard" => Ok(Self::Advanced),
            _ => Err(UnknownDifficulty),
        }
    }
}

/// What a section of a pattern is for, told from its heading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum SectionKind {
    /// What the pattern is: the text before the first heading, a guideline, a problem.
    Description,
    /// Code that shows it.
    Example,
    /// What to do instead of it, or rather not to do.
    AntiPattern,
    /// Things to keep in mind.
    Notes,
    /// When it fits.
    UseWhen,
    /// When it does not.
    AvoidWhen,
    /// Where it has been of use.
    UseCases,
    /// Why it is good.
    Rationale,
    /// Where to read on.
    Related,
    /// Any other heading.
    #[serde(rename = "section")]
    Other,
}

impl SectionKind {
    /// The word used on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Description => "description",
            Self::Example => "example",
            Self::AntiPattern => "antiPattern",
            Self::Notes => "notes",
            Self::UseWhen => "useWhen",
            Self::AvoidWhen => "avoidWhen",
            Self::UseCases => "useCases",
            Self::Rationale => "rationale",
            Self::Related => "related",
            Self::Other => "section",
        }
    }
}

/// A part of a pattern's text, as written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Section {
    /// The heading, or `Description` for the text before the first one.
    pub title: String,
    /// Markdown below the heading, without the heading itself.
    pub content: String,
    /// What it is for.
    #[serde(rename = "type")]
    pub kind: SectionKind,
}

/// Code to start from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Example {
    /// The code, without its fence.
    pub code: String,
    /// The language of its fence, such as `typescript`; `text` when the fence has none.
    pub language: String,
    /// One line about it, when the file has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// One entry of a catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// Its name in URIs and arguments; unique in its catalogue.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// The group it belongs to.
    pub category: String,
    /// How much one should know already.
    pub difficulty: Difficulty,
    /// One or two sentences, at most [`SUMMARY_LIMIT`] characters.
    pub summary: String,
    /// What it is, in full.
    pub description: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// The functions and types it is about, such as `Effect.all`.
    pub api: Vec<String>,
    /// When it fits.
    pub use_when: Option<String>,
    /// When it does not.
    pub avoid_when: Option<String>,
    /// Where it has been of use.
    pub use_cases: Vec<String>,
    /// Ids of other patterns of the catalogue; all of them resolve.
    pub related: Vec<String>,
    /// The one-sentence rule that the community's format has.
    pub rule: Option<String>,
    /// The broader subject that the community's format calls `applicationPatternId`.
    pub topic: Option<String>,
    /// The text, in the order of the file.
    pub sections: Vec<Section>,
    /// The examples, in the order of the file.
    pub examples: Vec<Example>,
    /// Things to keep in mind, one line each.
    pub notes: Vec<String>,
    /// The file it came from, relative to its catalogue, with `/` between folders.
    pub file: String,
}

impl Pattern {
    /// What a vector is made from: what the pattern is called and for, which is what people ask by.
    #[must_use]
    pub fn embedded_text(&self) -> String {
        let mut text = format!("{}. {}", self.title, self.summary);
        let more = self.use_when.iter().chain(&self.rule).chain(&self.use_cases);
        for part in more.chain(&self.api).chain(&self.tags) {
            text.push(' ');
            text.push_str(part);
        }
        text
    }

    /// The API names to show: the front matter's, else the tags that look like `X.y`.
    #[must_use]
    pub fn api_names(&self) -> Vec<&str> {
        if self.api.is_empty() {
            self.tags.iter().map(String::as_str).filter(|tag| looks_like_api(tag)).collect()
        } else {
            self.api.iter().map(String::as_str).collect()
        }
    }
}

fn looks_like_api(tag: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    tag.split_once('.').is_some_and(|(module, rest)| is_name(module) && rest.split('.').all(is_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_that_look_like_an_api_are_names_with_a_dot() {
        for (tag, expected) in [
            ("Effect.all", true),
            ("Http.request.schemaBodyJson", true),
            ("error-handling", false),
            ("Layer", false),
            ("3.0", false),
            ("e.g. this", false),
            (".x", false),
        ] {
            assert_eq!(looks_like_api(tag), expected, "{tag}");
        }
    }

    #[test]
    fn difficulties_have_usual_names_too() {
        assert_eq!("Beginner ".parse(), Ok(Difficulty::Beginner));
        assert_eq!("expert".parse(), Ok(Difficulty::Advanced));
        assert_eq!("wizard".parse::<Difficulty>(), Err(UnknownDifficulty));
    }
}
