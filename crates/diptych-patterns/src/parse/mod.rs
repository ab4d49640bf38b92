//! From the text of one file to a [`Pattern`]: our own format and the community's, in one reading.
//!
//! What a file does not say is taken from where it can be found: the id from the file's name, the
//! category from its folder, the title from the first heading, the rest from the headings.

mod body;
mod front_matter;
mod heading;
pub(crate) mod yaml;

use std::sync::Arc;

use body::{Block, Body, Part};
use front_matter::{FrontMatter, Lined};

use crate::pattern::{Difficulty, Example, Pattern, SUMMARY_LIMIT, SectionKind};
use crate::problem::Problem;
use crate::text::{first_sentence, humanise, one_line, shorten, slug};

/// A pattern that could be read, and what could be better about its file.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// The pattern; its `related` are as the file has them.
    pub pattern: Arc<Pattern>,
    /// What could be better; the file is served all the same.
    pub problems: Vec<Problem>,
    /// The ids that the front matter names as related, with their lines.
    pub(crate) related_lines: Vec<(String, usize)>,
    /// Files that the body links to as related, relative to the catalogue.
    pub(crate) related_files: Vec<String>,
    /// The line of the id, or the first.
    pub(crate) id_line: usize,
    /// Of the file's bytes.
    pub(crate) hash: u64,
}

/// Reads one file. `file` is its path relative to its catalogue, with `/` between folders.
///
/// # Errors
/// The file is not UTF-8, is empty, or has a front matter that is not valid YAML.
pub fn parse(file: &str, bytes: &[u8]) -> Result<Parsed, Problem> {
    let text = decode(file, bytes)?;
    if text.trim().is_empty() {
        return Err(Problem::error(
            file,
            1,
            "The file is empty.",
            "Write the pattern, or delete the file. `diptych patterns new` gives a start.",
        ));
    }
    let split = front_matter::split(&text, file)?;
    let front = match split.yaml {
        Some(yaml) => front_matter::read(yaml, file)?,
        None => FrontMatter::default(),
    };
    let body = body::read(split.body);
    let reading = Reading { file, body_text: split.body, body_line: split.body_line, problems: Vec::new() };
    let hash = crate::hash::of(bytes);
    Ok(Parsed { hash, ..reading.assemble(front, body, split.yaml.is_some()) })
}

fn decode(file: &str, bytes: &[u8]) -> Result<String, Problem> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) if text.contains('\r') => Ok(text.replace("\r\n", "\n").replace('\r', "\n")),
        Ok(text) => Ok(text.to_owned()),
        Err(error) => {
            let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
            Err(Problem::error(
                file,
                line,
                "The file is not UTF-8 text; the first byte that does not fit is on this line.",
                "Save it as UTF-8.",
            ))
        }
    }
}

/// A file being read, and what was noticed on the way.
struct Reading<'a> {
    file: &'a str,
    body_text: &'a str,
    body_line: usize,
    problems: Vec<Problem>,
}

impl Reading<'_> {
    fn warn(&mut self, line: usize, what: impl Into<String>, fix: impl Into<String>) {
        self.problems.push(Problem::warning(self.file, line, what, fix));
    }

    fn line_at(&self, offset: usize) -> usize {
        self.body_line + self.body_text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count()
    }

    fn assemble(mut self, front: FrontMatter, body: Body, has_front_matter: bool) -> Parsed {
        if !has_front_matter {
            self.warn(
                1,
                "The file has no front matter.",
                "Begin it with `---`, the fields (`id`, `title`, `difficulty`, `summary`, `tags` …) and `---`.",
            );
        }
        for (name, known) in &front.misspelt {
            self.warn(
                name.line,
                format!("`{}` is no field of a pattern.", name.value),
                format!("Did you mean `{known}`?"),
            );
        }

        let id_line = front.id.as_ref().map_or(1, |id| id.line);
        let id = self.id(front.id.as_ref(), has_front_matter);
        let title = self.title(front.title.as_ref(), &body, &id, has_front_matter);
        let difficulty = self.difficulty(front.difficulty.as_ref(), has_front_matter);
        let category = self.category(front.category.as_ref(), front.topic.as_ref());
        let rule = front.rule.as_ref().map(|rule| one_line(&rule.value));

        let description = description(&body, rule.as_deref(), front.summary.as_ref());
        let summary = self.summary(front.summary.as_ref(), rule.as_deref(), &description, has_front_matter);
        let examples = examples(&body);
        if examples.is_empty() {
            self.warn(
                self.body_line,
                "The pattern has no example.",
                "Add a section `## Example` with a fenced block of code.",
            );
        }
        let related_files = self.links(&body);
        let (section_use, section_avoid) = guidance(&body);
        let use_cases = match texts(&front.use_cases) {
            given if given.is_empty() => items_of(&body, SectionKind::UseCases),
            given => given,
        };

        let pattern = Pattern {
            title,
            category,
            difficulty,
            summary,
            description,
            tags: texts(&front.tags),
            api: texts(&front.api),
            use_when: front.use_when.map(|text| one_line(&text.value)).or(section_use),
            avoid_when: front.avoid_when.map(|text| one_line(&text.value)).or(section_avoid),
            use_cases,
            related: texts(&front.related),
            rule,
            topic: front.topic.map(|topic| one_line(&topic.value)),
            examples,
            notes: notes(&body),
            sections: body
                .parts
                .into_iter()
                .map(|part| part.section)
                .filter(|section| !section.content.is_empty())
                .collect(),
            file: self.file.to_owned(),
            id,
        };
        let related_lines = front.related.into_iter().map(|id| (one_line(&id.value), id.line)).collect();
        Parsed {
            pattern: Arc::new(pattern),
            problems: self.problems,
            related_lines,
            related_files,
            id_line,
            hash: 0,
        }
    }

    fn id(&mut self, given: Option<&Lined<String>>, has_front_matter: bool) -> String {
        let name = self.file.rsplit('/').next().unwrap_or(self.file);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let fallback = match slug(stem) {
            empty if empty.is_empty() => format!("pattern-{:x}", crate::hash::of(self.file.as_bytes())),
            stem => stem,
        };
        match given {
            Some(id) => {
                let safe = slug(&id.value);
                if safe == id.value {
                    return safe;
                }
                let safe = if safe.is_empty() { fallback } else { safe };
                self.warn(
                    id.line,
                    "The id has characters that do not fit in a link, or is longer than 100.",
                    format!("Use letters, digits, `-`, `_` and `.` only; it is served as `{safe}`."),
                );
                safe
            }
            None => {
                if has_front_matter {
                    self.warn(
                        1,
                        "The id is missing.",
                        format!("Add `id: {fallback}`; until then it is taken from the file's name."),
                    );
                }
                fallback
            }
        }
    }

    fn title(
        &mut self,
        given: Option<&Lined<String>>,
        body: &Body,
        id: &str,
        has_front_matter: bool,
    ) -> String {
        if let Some(title) = given {
            return shorten(&one_line(&title.value), SUMMARY_LIMIT);
        }
        // A heading such as "Example" is the name of a section, not of a pattern.
        let is_name = |heading: &&String| heading::kind_of(heading) == SectionKind::Other;
        let heading = body.title.as_ref().or(body.first_heading.as_ref().filter(is_name));
        let title = match heading.map(|heading| shorten(&one_line(heading), SUMMARY_LIMIT)) {
            Some(heading) if !heading.is_empty() => heading,
            _ => Some(humanise(id)).filter(|words| !words.is_empty()).unwrap_or_else(|| id.to_owned()),
        };
        if has_front_matter {
            self.warn(1, "The title is missing.", format!("Add `title:`; until then it is \"{title}\"."));
        }
        title
    }

    fn difficulty(&mut self, given: Option<&Lined<String>>, has_front_matter: bool) -> Difficulty {
        match given.map(|word| (word, word.value.parse())) {
            Some((_, Ok(difficulty))) => return difficulty,
            Some((word, Err(_))) => self.warn(
                word.line,
                format!("\"{}\" is no difficulty.", shorten(&one_line(&word.value), 40)),
                "Use beginner, intermediate or advanced; until then it is intermediate.",
            ),
            None if has_front_matter => self.warn(
                1,
                "The difficulty is missing.",
                "Add `difficulty: beginner`, `intermediate` or `advanced`; until then it is intermediate.",
            ),
            None => {}
        }
        Difficulty::Intermediate
    }

    fn category(&self, given: Option<&Lined<String>>, topic: Option<&Lined<String>>) -> String {
        let folder = self.file.rsplit('/').nth(1);
        given
            .map(|category| category.value.as_str())
            .or(folder)
            .or(topic.map(|topic| topic.value.as_str()))
            .map(|name| shorten(&one_line(name), 100))
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| "general".into())
    }

    fn summary(
        &mut self,
        given: Option<&Lined<String>>,
        rule: Option<&str>,
        description: &str,
        has_front_matter: bool,
    ) -> String {
        if let Some(summary) = given {
            let text = one_line(&summary.value);
            let length = text.chars().count();
            if length > SUMMARY_LIMIT {
                self.warn(
                    summary.line,
                    format!("The summary has {length} characters, more than {SUMMARY_LIMIT}."),
                    "Shorten it; until then it is cut.",
                );
            }
            return shorten(&text, SUMMARY_LIMIT);
        }
        let text = rule.map_or_else(|| one_line(first_sentence(&one_line(description))), str::to_owned);
        if has_front_matter {
            self.warn(
                1,
                "The summary is missing.",
                format!("Add `summary:` with at most {SUMMARY_LIMIT} characters; until then it is taken from the text."),
            );
        }
        shorten(&text, SUMMARY_LIMIT)
    }

    /// Warns about links that leave the catalogue; returns the files named as related.
    fn links(&mut self, body: &Body) -> Vec<String> {
        let mut related = Vec::new();
        for link in &body.links {
            match target(self.file, &link.to) {
                Target::Elsewhere => {}
                Target::Inside(path) => {
                    if link.is_related {
                        related.push(path);
                    }
                }
                Target::Outside => self.warn(
                    self.line_at(link.at),
                    "A link leads out of the catalogue's folder.",
                    "Link to a file of this catalogue or to a web address; the link is not followed.",
                ),
            }
        }
        related
    }
}

enum Target {
    /// A web address, a heading of the same page, a mail address.
    Elsewhere,
    /// A file of the catalogue, relative to its folder.
    Inside(String),
    /// A file that is not the catalogue's.
    Outside,
}

fn target(file: &str, link: &str) -> Target {
    let path = link.split(['#', '?']).next().unwrap_or_default();
    if path.is_empty() {
        return Target::Elsewhere;
    }
    let scheme = path.split_once(':').map(|(scheme, _)| scheme);
    match scheme {
        Some("file") => return Target::Outside,
        // One letter before a colon is a drive, not a scheme.
        Some(drive) if drive.len() == 1 => return Target::Outside,
        Some(_) => return Target::Elsewhere,
        None => {}
    }
    // On a website `/x` is the site's root and `//x` another host; a catalogue has neither.
    if path.starts_with(['/', '\\', '~']) {
        return if path.starts_with("//") { Target::Elsewhere } else { Target::Outside };
    }
    let mut folders: Vec<&str> = file.split('/').collect();
    folders.pop();
    for step in path.split(['/', '\\']) {
        match step {
            "" | "." => {}
            ".." => {
                if folders.pop().is_none() {
                    return Target::Outside;
                }
            }
            name => folders.push(name),
        }
    }
    Target::Inside(folders.join("/"))
}

fn texts(values: &[Lined<String>]) -> Vec<String> {
    values.iter().map(|value| one_line(&value.value)).filter(|value| !value.is_empty()).collect()
}

fn description(body: &Body, rule: Option<&str>, summary: Option<&Lined<String>>) -> String {
    let of_kind = |kind| {
        body.parts
            .iter()
            .map(|part| &part.section)
            .find(|section| section.kind == kind && !section.content.is_empty())
            .map(|section| section.content.clone())
    };
    of_kind(SectionKind::Description)
        .or_else(|| of_kind(SectionKind::Rationale))
        .or_else(|| rule.map(str::to_owned))
        .or_else(|| summary.map(|summary| one_line(&summary.value)))
        .or_else(|| body.parts.iter().map(|part| part.section.content.clone()).find(|text| !text.is_empty()))
        .unwrap_or_default()
}

/// Fences that show a program's output or a command, not the pattern.
fn is_output(language: &str) -> bool {
    matches!(
        language,
        "text" | "txt" | "plaintext" | "output" | "console" | "bash" | "sh" | "shell" | "mermaid"
    )
}

fn examples(body: &Body) -> Vec<Example> {
    let of = |wanted: &dyn Fn(SectionKind) -> bool| -> Vec<Example> {
        body.parts.iter().filter(|part| wanted(part.section.kind)).flat_map(examples_of).collect()
    };
    let mut found = of(&|kind| kind == SectionKind::Example);
    if found.is_empty() {
        found = of(&|kind| !matches!(kind, SectionKind::AntiPattern | SectionKind::Related));
    }
    if found.iter().any(|example| !is_output(&example.language)) {
        found.retain(|example| !is_output(&example.language));
    }
    found
}

fn examples_of(part: &Part) -> Vec<Example> {
    let title = &part.section.title;
    // "Example: with a limit" describes its first fence when no paragraph does.
    let mut description = title.split_once(": ").map(|(_, rest)| rest.to_owned());
    let content_free = part.section.kind == SectionKind::Example;
    if description.is_none() && !content_free {
        description = Some(title.clone());
    }
    let mut examples = Vec::new();
    for block in &part.blocks {
        match block {
            Block::Paragraph { text } | Block::Heading { text } => description = Some(shorten(text, 300)),
            Block::Code { language, code } if !code.is_empty() => examples.push(Example {
                code: code.clone(),
                language: language.clone(),
                description: description.take(),
            }),
            Block::Code { .. } | Block::List(_) => {}
        }
    }
    examples
}

fn items_of(body: &Body, kind: SectionKind) -> Vec<String> {
    let parts = || body.parts.iter().filter(|part| part.section.kind == kind).flat_map(|part| &part.blocks);
    let items: Vec<String> = parts()
        .filter_map(|block| match block {
            Block::List(items) => Some(items.iter().filter(|item| !item.is_empty()).cloned()),
            _ => None,
        })
        .flatten()
        .collect();
    if !items.is_empty() {
        return items;
    }
    parts()
        .filter_map(|block| match block {
            Block::Paragraph { text } => Some(text.clone()),
            _ => None,
        })
        .collect()
}

/// The items of the notes; without any, those that explain an example.
fn notes(body: &Body) -> Vec<String> {
    let notes = items_of(body, SectionKind::Notes);
    if !notes.is_empty() {
        return notes;
    }
    body.parts
        .iter()
        .filter(|part| part.section.kind == SectionKind::Example)
        .flat_map(|part| &part.blocks)
        .filter_map(|block| match block {
            Block::List(items) => Some(items.iter().filter(|item| !item.is_empty()).cloned()),
            _ => None,
        })
        .flatten()
        .collect()
}

/// When to use it and when not, from the sections about that.
fn guidance(body: &Body) -> (Option<String>, Option<String>) {
    let mut when = Vec::new();
    let mut avoid = items_of(body, SectionKind::AvoidWhen);
    for part in body.parts.iter().filter(|part| part.section.kind == SectionKind::UseWhen) {
        let mut lead = Lead::Use;
        for block in &part.blocks {
            match block {
                Block::Paragraph { text } | Block::Heading { text } => {
                    lead = Lead::of(text);
                    if lead == Lead::Use && !text.ends_with([':', '*']) {
                        when.push(text.clone());
                    }
                }
                Block::List(items) => match lead {
                    Lead::Use => when.extend(items.iter().cloned()),
                    Lead::Avoid => avoid.extend(items.iter().cloned()),
                    Lead::Other => {}
                },
                Block::Code { .. } => {}
            }
        }
    }
    let join = |items: Vec<String>| (!items.is_empty()).then(|| shorten(&items.join("; "), 600));
    (join(when), join(avoid))
}

/// What a line above a list says the list is about.
#[derive(PartialEq)]
enum Lead {
    Use,
    Avoid,
    Other,
}

impl Lead {
    fn of(text: &str) -> Self {
        let text = text.to_lowercase();
        if ["avoid", "don't", "do not", "not use", "❌"].iter().any(|sign| text.contains(sign)) {
            Self::Avoid
        } else if ["trade-off", "tradeoff", "⚠", "consider"].iter().any(|sign| text.contains(sign)) {
            Self::Other
        } else {
            Self::Use
        }
    }
}

#[cfg(test)]
mod tests;
