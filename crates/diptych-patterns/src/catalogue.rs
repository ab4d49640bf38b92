//! A catalogue: patterns that can be found, read and counted, and where they come from.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::SystemTime;

use diptych_search::{Correction, Index, NEAR_FLOOR, Synonyms, fuse, near};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::documents::{FIELDS, document};
use crate::manifest::Manifest;
use crate::parse::Parsed;
use crate::pattern::{Difficulty, Pattern};
use crate::problem::Problem;

/// How much meaning counts against words. Words count more: a catalogue of code is asked by names as well.
const MEANING: f32 = 0.4;
/// A list of matches that is shorter than this gets those of like meaning too.
const SHORT_LIST: usize = 6;
/// The cosine from which a pattern that has none of the words is a match all the same, and how near to the best.
const LIKE: (f32, f32) = (0.42, 0.85);

/// Where a catalogue's patterns come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Provenance {
    /// The catalogue's name; never a path.
    pub source: String,
    /// When the catalogue last changed: ISO 8601 with milliseconds, UTC.
    pub timestamp: String,
    /// The version that the catalogue gives itself, else a hash of its files.
    pub version: String,
    /// The version of this shape.
    pub marker: &'static str,
}

/// How many patterns there are of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count<T> {
    /// The kind.
    pub of: T,
    /// How many there are.
    pub patterns: usize,
}

/// A pattern that a search found.
#[derive(Debug, Clone)]
pub struct Match {
    /// The pattern.
    pub pattern: Arc<Pattern>,
    /// How well it fits; comparable within one search only.
    pub score: f32,
}

/// What a search found: all matches above the floor of relevance, best first.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// The matches.
    pub matches: Vec<Match>,
    /// Words that were taken for misspelt.
    pub corrections: Vec<Correction>,
}

impl Found {
    /// The matches by category, in the catalogue's order.
    #[must_use]
    pub fn categories(&self, catalogue: &Catalogue) -> Vec<Count<String>> {
        let patterns = || self.matches.iter().map(|found| found.pattern.as_ref());
        count_categories(patterns(), catalogue.categories.iter().map(|count| count.of.as_str()))
    }

    /// The matches by difficulty, easiest first.
    #[must_use]
    pub fn difficulties(&self) -> Vec<Count<Difficulty>> {
        count_difficulties(self.matches.iter().map(|found| found.pattern.as_ref()))
    }
}

/// Patterns by id, ready to be searched.
#[derive(Debug)]
pub struct Catalogue {
    title: String,
    provenance: Provenance,
    patterns: Vec<Arc<Pattern>>,
    by_id: HashMap<String, usize>,
    categories: Vec<Count<String>>,
    difficulties: Vec<Count<Difficulty>>,
    tags: Vec<String>,
    queries: Vec<String>,
    problems: Vec<Problem>,
    index: Index,
}

/// What one source adds to a catalogue.
pub(crate) struct Part<'a> {
    pub(crate) name: &'a str,
    pub(crate) manifest: &'a Manifest,
    pub(crate) patterns: Vec<&'a Arc<Parsed>>,
    pub(crate) problems: Vec<Problem>,
    /// When a file of it was last written; the manifest's date counts where there is none.
    pub(crate) newest: Option<SystemTime>,
}

impl Catalogue {
    /// The catalogue's name, as in "Effect Pattern Search Results".
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Where its patterns come from.
    #[must_use]
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// How many patterns it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.patterns.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// The patterns, by id.
    pub fn patterns(&self) -> impl ExactSizeIterator<Item = &Arc<Pattern>> {
        self.patterns.iter()
    }

    /// The categories, in the catalogue's own order.
    #[must_use]
    pub fn categories(&self) -> &[Count<String>] {
        &self.categories
    }

    /// The difficulties that occur, easiest first.
    #[must_use]
    pub fn difficulties(&self) -> &[Count<Difficulty>] {
        &self.difficulties
    }

    /// All tags, by name, each once.
    #[must_use]
    pub fn tags(&self) -> &[String] {
        &self.tags
    }

    /// Queries to begin with: the catalogue's own, else the names of its first categories.
    #[must_use]
    pub fn queries(&self) -> &[String] {
        &self.queries
    }

    /// What was wrong with its files.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The index that [`Self::find`] searches, to explain a ranking with.
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The pattern of that id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Arc<Pattern>> {
        self.by_id.get(id.trim()).map(|at| &self.patterns[*at])
    }

    /// The category of that name, whatever its case and the marks between its words.
    #[must_use]
    pub fn category(&self, name: &str) -> Option<&str> {
        let fold = |text: &str| {
            text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>()
        };
        let names = || self.categories.iter().map(|count| count.of.as_str());
        names().find(|known| *known == name.trim()).or_else(|| {
            let wanted = fold(name);
            names().find(|known| !wanted.is_empty() && fold(known) == wanted)
        })
    }

    /// Up to five ids that look like one that does not exist; none when none is alike.
    #[must_use]
    pub fn near_ids(&self, id: &str) -> Vec<&str> {
        let ids = self.patterns.iter().map(|pattern| pattern.id.as_str());
        near(id, ids, NEAR_FLOOR).into_iter().take(5).map(|near| near.id).collect()
    }

    /// The three patterns whose ids are least unlike the text, however unlike they are.
    #[must_use]
    pub fn least_unlike(&self, text: &str) -> Vec<&Arc<Pattern>> {
        let text: String = text.to_lowercase().chars().take(100).collect();
        let likeness = |pattern: &Pattern| strsim::sorensen_dice(&text, &pattern.id);
        let mut scored: Vec<_> =
            self.patterns.iter().map(|pattern| (likeness(pattern.as_ref()), pattern)).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        scored.into_iter().take(3).map(|(_, pattern)| pattern).collect()
    }

    /// All patterns that match, best first.
    #[must_use]
    pub fn find(&self, query: &str, category: Option<&str>, difficulty: Option<Difficulty>) -> Found {
        let found = self.index.search(query);
        let matches = found
            .hits
            .iter()
            .map(|hit| Match { pattern: Arc::clone(&self.patterns[hit.document]), score: hit.score })
            .filter(|found| category.is_none_or(|category| found.pattern.category == category))
            .filter(|found| difficulty.is_none_or(|difficulty| found.pattern.difficulty == difficulty))
            .collect();
        Found { matches, corrections: found.corrections }
    }

    /// The same, with a ranking by meaning: the places of patterns and their cosines, nearest first. It decides on the
    /// order of the matches, and adds to them where they are few.
    #[must_use]
    pub fn find_fused(
        &self,
        query: &str,
        category: Option<&str>,
        difficulty: Option<Difficulty>,
        near: &[(usize, f32)],
    ) -> Found {
        let found = self.index.search(query);
        let mut matching: Vec<usize> = found.hits.iter().map(|hit| hit.document).collect();
        let best = near.first().map_or(0.0, |(_, cosine)| *cosine);
        for (place, cosine) in near.iter().filter(|(_, cosine)| *cosine >= LIKE.0.max(best * LIKE.1)) {
            if matching.len() < SHORT_LIST
                && *place < self.patterns.len()
                && !matching.contains(place)
                && *cosine > 0.0
            {
                matching.push(*place);
            }
        }
        let all = self.index.search_all(query);
        let mut is_matching = vec![false; self.patterns.len()];
        for place in &matching {
            is_matching[*place] = true;
        }
        let is_match = |place: &usize| is_matching.get(*place).copied().unwrap_or_default();
        let lexical: Vec<(usize, f32)> = all
            .hits
            .iter()
            .map(|hit| (hit.document, hit.score))
            .filter(|(place, _)| is_match(place))
            .collect();
        let semantic: Vec<(usize, f32)> = near.iter().copied().filter(|(place, _)| is_match(place)).collect();
        let matches = fuse(&lexical, &semantic, MEANING)
            .into_iter()
            .map(|(place, score)| Match { pattern: Arc::clone(&self.patterns[place]), score })
            .filter(|found| category.is_none_or(|category| found.pattern.category == category))
            .filter(|found| difficulty.is_none_or(|difficulty| found.pattern.difficulty == difficulty))
            .collect();
        Found { matches, corrections: found.corrections }
    }

    /// Puts a catalogue together; where two parts have the same id, the later one wins.
    pub(crate) fn build(parts: &[Part<'_>]) -> Self {
        let mut problems = Vec::new();
        let mut chosen: BTreeMap<&str, (usize, &Arc<Parsed>)> = BTreeMap::new();
        for (number, part) in parts.iter().enumerate() {
            let mut own = part.problems.clone();
            for parsed in &part.patterns {
                let id = parsed.pattern.id.as_str();
                match chosen.get(id) {
                    Some((earlier, first)) if *earlier == number => own.push(Problem::error(
                        &parsed.pattern.file,
                        parsed.id_line,
                        format!(
                            "The id `{id}` is taken by {} already, so this file is not served.",
                            first.pattern.file
                        ),
                        "Give one of them another id.",
                    )),
                    _ => {
                        chosen.insert(id, (number, parsed));
                    }
                }
            }
            problems.push(own);
        }

        let files: HashMap<(usize, &str), &str> =
            chosen.iter().map(|(id, (part, parsed))| ((*part, parsed.pattern.file.as_str()), *id)).collect();
        let patterns: Vec<Arc<Pattern>> = chosen
            .values()
            .map(|(part, parsed)| {
                let resolved =
                    resolve(parsed, *part, &files, |id| chosen.contains_key(id), &mut problems[*part]);
                if resolved == parsed.pattern.related {
                    Arc::clone(&parsed.pattern)
                } else {
                    Arc::new(Pattern { related: resolved, ..Pattern::clone(&parsed.pattern) })
                }
            })
            .collect();

        let order = parts.iter().flat_map(|part| &part.manifest.categories).map(String::as_str);
        let categories = count_categories(patterns.iter().map(Arc::as_ref), order);
        let mut tags: Vec<String> = patterns.iter().flat_map(|pattern| pattern.tags.clone()).collect();
        tags.sort_unstable();
        tags.dedup();
        let declared = parts.iter().rev().map(|part| &part.manifest.queries).find(|given| !given.is_empty());
        let queries = declared.cloned().unwrap_or_else(|| {
            categories.iter().take(4).map(|count| count.of.replace(['-', '_'], " ")).collect()
        });
        Self {
            title: title(parts),
            provenance: provenance(parts),
            by_id: patterns.iter().enumerate().map(|(at, pattern)| (pattern.id.clone(), at)).collect(),
            difficulties: count_difficulties(patterns.iter().map(Arc::as_ref)),
            problems: gather(parts, problems),
            index: index(parts, &patterns),
            categories,
            tags,
            queries,
            patterns,
        }
    }
}

/// The related ids that exist; those that do not are reported.
fn resolve(
    parsed: &Parsed,
    part: usize,
    files: &HashMap<(usize, &str), &str>,
    exists: impl Fn(&str) -> bool,
    problems: &mut Vec<Problem>,
) -> Vec<String> {
    let own_id = parsed.pattern.id.as_str();
    let mut related: Vec<String> = Vec::new();
    for (id, line) in &parsed.related_lines {
        if !exists(id) {
            problems.push(Problem::warning(
                &parsed.pattern.file,
                *line,
                format!(
                    "The related id `{}` is no pattern of this catalogue, so it is left out.",
                    id.escape_debug()
                ),
                "Correct it or remove it.",
            ));
        } else if id != own_id && !related.contains(id) {
            related.push(id.clone());
        }
    }
    if parsed.related_lines.is_empty() {
        for file in &parsed.related_files {
            if let Some(id) = files.get(&(part, file.as_str()))
                && *id != own_id
                && !related.iter().any(|known| known == id)
            {
                related.push((*id).to_owned());
            }
        }
    }
    related
}

fn title(parts: &[Part<'_>]) -> String {
    let declared = parts.iter().rev().find_map(|part| part.manifest.title.clone());
    declared
        .or_else(|| parts.last().map(|part| crate::folder::title_of(part.name)))
        .unwrap_or_else(|| "Empty".into())
}

fn provenance(parts: &[Part<'_>]) -> Provenance {
    let names: Vec<String> = parts
        .iter()
        .map(|part| part.manifest.title.clone().unwrap_or_else(|| crate::folder::title_of(part.name)))
        .map(|title| format!("{title} pattern catalogue"))
        .collect();
    let versions: Vec<String> = parts.iter().map(version).collect();
    let time = |part: &Part<'_>| match part.newest {
        Some(newest) => Timestamp::try_from(newest).ok(),
        None => part.manifest.date,
    };
    let newest = parts.iter().filter_map(time).max().unwrap_or(Timestamp::UNIX_EPOCH);
    Provenance {
        source: names.join(" + "),
        timestamp: format!("{newest:.3}"),
        version: versions.join(" + "),
        marker: "v1",
    }
}

fn version(part: &Part<'_>) -> String {
    part.manifest.version.clone().unwrap_or_else(|| {
        let hash = part.patterns.iter().fold(crate::hash::of(b""), |hash, parsed| {
            let hash = crate::hash::extend(hash, parsed.pattern.file.as_bytes());
            crate::hash::extend(hash, &parsed.hash.to_le_bytes())
        });
        format!("content-{hash:016x}")
    })
}

/// All problems, by file and line. With several parts, each file says which it is of.
fn gather(parts: &[Part<'_>], problems: Vec<Vec<Problem>>) -> Vec<Problem> {
    let mut all = Vec::new();
    for (part, mut own) in parts.iter().zip(problems) {
        own.sort();
        own.dedup();
        if parts.len() > 1 {
            for problem in &mut own {
                problem.file = match problem.file.as_str() {
                    "." => part.name.to_owned(),
                    file => format!("{}/{file}", part.name),
                };
            }
        }
        all.append(&mut own);
    }
    all
}

fn index(parts: &[Part<'_>], patterns: &[Arc<Pattern>]) -> Index {
    let mut synonyms = Synonyms::builtin();
    for manifest in parts.iter().map(|part| part.manifest) {
        for group in &manifest.synonyms {
            synonyms = synonyms.group(group.iter().map(String::as_str));
        }
        for (phrase, to) in &manifest.rewrites {
            synonyms = synonyms.rewrite(phrase, to.iter().map(String::as_str));
        }
    }
    let builder =
        FIELDS.into_iter().fold(Index::builder(), |builder, (name, weight)| builder.field(name, weight));
    builder
        .synonyms(synonyms)
        .build(patterns.iter().map(|pattern| document(pattern)))
        .expect("the fields are fixed and ids are the keys of a map")
}

fn count_categories<'a>(
    patterns: impl Iterator<Item = &'a Pattern>,
    order: impl Iterator<Item = &'a str>,
) -> Vec<Count<String>> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for pattern in patterns {
        *counts.entry(pattern.category.as_str()).or_default() += 1;
    }
    let mut counted = Vec::with_capacity(counts.len());
    for category in order {
        if let Some(patterns) = counts.remove(category) {
            counted.push(Count { of: category.to_owned(), patterns });
        }
    }
    counted.extend(counts.into_iter().map(|(of, patterns)| Count { of: of.to_owned(), patterns }));
    counted
}

fn count_difficulties<'a>(patterns: impl Iterator<Item = &'a Pattern>) -> Vec<Count<Difficulty>> {
    let mut counts: BTreeMap<Difficulty, usize> = BTreeMap::new();
    for pattern in patterns {
        *counts.entry(pattern.difficulty).or_default() += 1;
    }
    counts.into_iter().map(|(of, patterns)| Count { of, patterns }).collect()
}
