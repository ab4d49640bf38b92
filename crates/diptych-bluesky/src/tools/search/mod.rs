//! `search`: the whole history of an account, or the network.

mod everyone;
mod own;
#[cfg(test)]
mod tests;

use diptych::{Cx, Field, Markdown, NeedsInput, Present, Stop, ToolError};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Bluesky, invalid, shown};
use crate::history::{Problem, Query};
use crate::posts::{Post, draw_posts, note};
use crate::reference::AccountName;

const EVERYONE: &str = "everyone";
const DEFAULT_LIMIT: usize = 25;

/// What the model is told about the tool.
pub(super) const DESCRIPTION: &str = "Search posts. With an account (handle, DID or profile link): everything it ever \
    posted, from its own repository, also offline. With account \"everyone\": the network. The query has plain words (typos are \
    forgiven), \"exact phrases\", /regular expressions/ and operators: from:HANDLE, to:HANDLE (replies and mentions), has:image, \
    has:video, has:link, has:quote, after:2024-05-17 (or 2024, 2024-05, 30d), before:2024-06, likes:10 (at least; also likes:<10 and \
    likes:10..20). A - before any of them excludes. No words: the newest first.";

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Search {
    /// Whose posts: a handle, DID or profile link; or "everyone".
    account: String,
    /// What to look for.
    #[schemars(length(max = 2000))]
    query: String,
    /// The most posts to return; 25 without it.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// Where to go on, from the answer before.
    cursor: Option<String>,
}

/// The posts that were found, best first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PostSearchResults {
    /// Whose posts were searched: a handle or DID, or "everyone".
    account: String,
    /// The query as it was understood.
    query: String,
    /// The posts, best first.
    posts: Vec<Post>,
    /// How many there are in all, as far as is known.
    total: usize,
    /// How well they fit.
    quality: Quality,
    /// Words that no post has, and what was looked for instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    corrections: Vec<Correction>,
    /// The moment that the answer is true for, where it comes from a repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
    /// What else must be known to read the answer rightly.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notices: Vec<String>,
    /// For the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    /// Where to go on after each number of posts.
    #[serde(skip)]
    places: Vec<Option<String>>,
}

/// How well posts fit a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
enum Quality {
    /// Everything that was asked for.
    Everything,
    /// Everything, some words in another spelling.
    Corrected,
    /// Only some of the words.
    SomeWords,
}

/// A word and what was looked for instead.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Correction {
    typed: String,
    used: String,
}

impl Present for PostSearchResults {
    const KIND: &'static str = "postSearchResults:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.heading_with(1, |line| {
            line.literal("Search · ");
            if self.account == EVERYONE {
                line.literal("everyone");
            } else {
                line.literal("@").text(&self.account);
            }
            if !self.query.is_empty() {
                line.literal(" · ").text(&self.query);
            }
        });
        for notice in &self.notices {
            markdown.text(notice);
        }
        if self.quality == Quality::SomeWords {
            markdown.paragraph(|line| {
                line.literal("No post has all the words; these have some of them.");
            });
        } else if !self.corrections.is_empty() {
            markdown.paragraph(|line| {
                for (index, correction) in self.corrections.iter().enumerate() {
                    line.literal(if index == 0 { "Looked for " } else { ", " });
                    line.code(&correction.used).literal(" instead of ").code(&correction.typed);
                }
                line.literal(".");
            });
        }
        draw_posts(markdown, &self.posts);
        if let Some(cursor) = &self.cursor {
            markdown.paragraph(|line| {
                line.literal("Cursor: ").code(cursor);
            });
        }
        markdown.paragraph(|line| {
            line.literal("Results: ").text(self.total);
        });
    }

    fn records(&self) -> usize {
        self.posts.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        self.posts.truncate(keep);
        self.cursor = self.places.get(keep).cloned().flatten();
        self.cursor.clone()
    }
}

pub(super) async fn search(cx: Cx<Bluesky>, arguments: Search) -> Result<PostSearchResults, Stop> {
    let query =
        Query::parse(&arguments.query, Timestamp::now()).map_err(|problems| not_understood(&problems))?;
    let limit = arguments.limit.unwrap_or(DEFAULT_LIMIT);
    let account = arguments.account.trim();
    let mut results = if account.eq_ignore_ascii_case(EVERYONE) {
        if query.terms.is_empty() {
            let ask = NeedsInput::new("Search Query Needed", "What should be searched for?");
            return Err(ask
                .reason("The network is not searched for nothing.")
                .field(Field::text("query"))
                .into());
        }
        everyone::search(&cx, &query, limit, arguments.cursor.as_deref()).await?
    } else {
        let name = AccountName::parse(account).ok_or_else(|| {
            invalid("account", "must be a handle, a DID, a link to a profile, or \"everyone\"")
        })?;
        own::search(&cx, &name, &query, limit, arguments.cursor.as_deref()).await?
    };
    results.cursor = results.places.get(results.posts.len()).cloned().flatten();
    note(&shown(&cx), &mut results.posts);
    Ok(results)
}

/// Every problem of a query, in the form of any other violation.
fn not_understood(problems: &[Problem]) -> ToolError {
    let sentences: Vec<&str> = problems.iter().map(|problem| problem.problem.as_str()).collect();
    let violations: Vec<Value> = problems
        .iter()
        .map(|problem| {
            let mut violation = json!({"path": "query", "problem": problem.problem});
            if let Some(suggestion) = &problem.suggestion {
                violation["suggestion"] = suggestion.as_str().into();
            }
            violation
        })
        .collect();
    ToolError::client(format!("Invalid input: {}", sentences.join(" "))).detail("violations", violations)
}

fn foreign_cursor() -> ToolError {
    ToolError::client("This cursor does not belong to this search.")
        .hint("Leave the cursor out to start from the beginning.")
}
