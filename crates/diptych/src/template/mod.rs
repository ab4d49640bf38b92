//! URI templates of resources: `{name}` (RFC 6570, level 1) and a closing `{?name,name}`.
//!
//! Only what can be read backwards is allowed, since a server is asked for `notes://7/draft` and has to find
//! the template and the values it came from. What [`UriTemplate::expand`] writes, [`UriTemplate::matches`]
//! reads back unchanged, whatever the values hold.
//!
//! By hand, because the template crates in wide use expand and do not match, and the few that match are at
//! their first releases and promise no such round trip.

#[cfg(test)]
mod tests;
mod uri;

use std::cmp::Reverse;
use std::fmt;

pub(crate) use self::uri::valid_uri;
use self::uri::{
    BROKEN_ESCAPE, decoded, illegal_character, is_legal, is_unreserved, normalised, push_byte, scheme_of,
};

/// A parsed URI template.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UriTemplate {
    source: String,
    /// The literal before the first variable.
    prefix: String,
    /// The literal after each variable of the path; only the last may be empty.
    literals: Vec<Separator>,
    /// Those of the path, in order, then those of the query.
    variables: Vec<Variable>,
}

/// A variable of a template.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Whether it belongs to the query form, and so may be absent.
    pub query: bool,
}

/// How much of a template is literal. The greater is the better choice when several match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Specificity {
    literal: usize,
    variables: Reverse<usize>,
}

/// What is wrong with a template, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the sentence of each says what its fields are")]
pub enum TemplateError {
    #[error(
        "The URI template `{template}` does not begin with a scheme. Begin it with one that is not a variable, as in `notes://{{id}}`."
    )]
    NoScheme { template: String },
    #[error(
        "The URI template `{template}` has a `{{` without its `}}`. Close it, or write `%7B` for a brace that is meant as such."
    )]
    Unclosed { template: String },
    #[error(
        "The URI template `{template}` has a `}}` without its `{{`. Open it, or write `%7D` for a brace that is meant as such."
    )]
    Unopened { template: String },
    #[error("The URI template `{template}` has a variable without a name. Write a name between the braces.")]
    EmptyName { template: String },
    #[error(
        "`{name}` in the URI template `{template}` is not a variable name. Use letters, digits and `_`, with `.` only between them."
    )]
    InvalidName { template: String, name: String },
    #[error("The URI template `{template}` has the variable `{name}` twice. Give each its own name.")]
    DuplicateName { template: String, name: String },
    #[error(
        "`{{{expression}}}` in the URI template `{template}` uses a form that cannot be matched. Use `{{name}}`, one name in each, or `{{?name,name}}` at the end."
    )]
    Unsupported { template: String, expression: String },
    #[error(
        "Nothing in the URI template `{template}` tells where `{first}` ends and `{second}` begins. Put a plain character between them, as in `{{{first}}}/{{{second}}}`."
    )]
    Adjacent { template: String, first: String, second: String },
    #[error(
        "The URI template `{template}` goes on after `{{?…}}`. Move the query form to the end, and all its names into one."
    )]
    QueryNotLast { template: String },
    #[error(
        "The URI template `{template}` has a `?` or `#` before `{{?…}}`, which writes its own. Name all parameters in the query form."
    )]
    QueryTwice { template: String },
    #[error("The URI template `{template}` is not valid: {problem}")]
    Literal { template: String, problem: String },
}

/// A literal that ends the value of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Separator {
    text: String,
    /// A character that values may hold as it is, and must not here, or the end could not be told.
    escape: Option<u8>,
}

impl UriTemplate {
    /// Reads a template.
    ///
    /// # Errors
    /// The first thing that is wrong with it, as a sentence that says how to mend it.
    pub fn parse(source: &str) -> Result<UriTemplate, TemplateError> {
        let template = || source.to_owned();
        let mut parsed = UriTemplate {
            source: template(),
            prefix: String::new(),
            literals: Vec::new(),
            variables: Vec::new(),
        };
        let mut rest = source;
        let mut ended = false;
        while let Some(open) = rest.find(['{', '}']) {
            let (literal, braced) = rest.split_at(open);
            let Some(inside) = braced.strip_prefix('{') else {
                return Err(TemplateError::Unopened { template: template() });
            };
            let close = inside.find(['{', '}']).filter(|&at| inside[at..].starts_with('}'));
            let Some(close) = close else {
                return Err(TemplateError::Unclosed { template: template() });
            };
            let expression = &inside[..close];
            rest = &inside[close + 1..];
            if ended {
                return Err(TemplateError::QueryNotLast { template: template() });
            }
            parsed.push_literal(literal)?;
            if let Some(names) = expression.strip_prefix('?') {
                ended = true;
                if parsed.literal_texts().any(|text| text.contains(['?', '#'])) {
                    return Err(TemplateError::QueryTwice { template: template() });
                }
                for name in names.split(',') {
                    parsed.push_variable(name, expression, true)?;
                }
            } else {
                parsed.push_variable(expression, expression, false)?;
                parsed.separate_last_two()?;
                parsed.literals.push(Separator::default());
            }
        }
        if ended && !rest.is_empty() {
            return Err(TemplateError::QueryNotLast { template: template() });
        }
        parsed.push_literal(rest)?;
        if scheme_of(&parsed.prefix).is_none() {
            return Err(TemplateError::NoScheme { template: template() });
        }
        Ok(parsed)
    }

    fn push_literal(&mut self, literal: &str) -> Result<(), TemplateError> {
        let fail = |problem| TemplateError::Literal { template: self.source.clone(), problem };
        if let Some(character) =
            literal.chars().find(|&character| character.is_ascii() && !is_legal(character))
        {
            return Err(fail(illegal_character(character)));
        }
        let text = normalised(literal).ok_or_else(|| fail(BROKEN_ESCAPE.to_owned()))?;
        match self.literals.last_mut() {
            Some(separator) => separator.text.push_str(&text),
            None => self.prefix.push_str(&text),
        }
        Ok(())
    }

    fn push_variable(&mut self, name: &str, expression: &str, query: bool) -> Result<(), TemplateError> {
        let template = || self.source.clone();
        if name.is_empty() {
            return Err(TemplateError::EmptyName { template: template() });
        }
        // The operators, reserved operators, lists and modifiers of RFC 6570's higher levels.
        if name.starts_with(['+', '#', '.', '/', ';', '?', '&', '=', '!', '@', '|'])
            || name.contains([',', '*', ':'])
        {
            return Err(TemplateError::Unsupported {
                template: template(),
                expression: expression.to_owned(),
            });
        }
        let is_word = |word: &str| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        if !name.split('.').all(is_word) {
            return Err(TemplateError::InvalidName { template: template(), name: name.to_owned() });
        }
        if self.variables.iter().any(|variable| variable.name == name) {
            return Err(TemplateError::DuplicateName { template: template(), name: name.to_owned() });
        }
        self.variables.push(Variable { name: name.to_owned(), query });
        Ok(())
    }

    /// Sees to it that the value before the newest variable has an end that can be found: a character that
    /// the value never holds as it is. A reserved one never is; failing that, a plain one is kept out.
    fn separate_last_two(&mut self) -> Result<(), TemplateError> {
        let [.., first, second] = &self.variables[..] else { return Ok(()) };
        let Some(separator) = self.literals.last_mut() else { return Ok(()) };
        let plain = plain_bytes(&separator.text);
        separator.escape = if plain.iter().any(|&byte| !is_unreserved(byte)) {
            None
        } else if let Some(&byte) = plain.first() {
            Some(byte)
        } else {
            return Err(TemplateError::Adjacent {
                template: self.source.clone(),
                first: first.name.clone(),
                second: second.name.clone(),
            });
        };
        Ok(())
    }

    /// The template as it was written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// The variables: those of the path in order, then those of the query.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// How literal this template is, to choose among several that match.
    pub fn specificity(&self) -> Specificity {
        Specificity {
            literal: self.literal_texts().map(str::len).sum(),
            variables: Reverse(self.variables.len()),
        }
    }

    /// The values that make this template the given URI, decoded, in the order of [`Self::variables`].
    ///
    /// A variable of the path holds at least one character and no `/`, `?` or `#` as such. Those of the query
    /// may come in any order or be absent; of a repeated one the first counts; unknown ones are ignored.
    /// Where a separator occurs more than once, the earlier variable takes as little as it can.
    ///
    /// A decoded value can hold anything, `/` and `..` included: never use one as a path unchecked.
    pub fn matches(&self, uri: &str) -> Option<Vec<(&str, String)>> {
        let uri = normalised(uri)?;
        let (path_variables, query_variables) = self.variables.split_at(self.literals.len());
        let (path, query) = match uri.split_once('?') {
            Some((path, query)) if !query_variables.is_empty() => (path, query),
            _ => (uri.as_str(), ""),
        };
        if query.contains('#') {
            return None;
        }
        let mut values = Vec::with_capacity(self.variables.len());
        let mut rest = path.strip_prefix(self.prefix.as_str())?;
        for (index, (variable, separator)) in path_variables.iter().zip(&self.literals).enumerate() {
            let text = separator.text.as_str();
            let end = if index + 1 == path_variables.len() {
                rest.strip_suffix(text)?.len()
            } else {
                end_of_value(rest, text)?
            };
            let value = &rest[..end];
            if value.is_empty() || value.contains(['/', '?', '#']) {
                return None;
            }
            values.push((variable.name.as_str(), decoded(value)?));
            rest = &rest[end + text.len()..];
        }
        if !rest.is_empty() {
            return None;
        }
        for variable in query_variables {
            let mut pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
            if let Some((_, value)) = pairs.find(|(key, _)| decoded(key).as_ref() == Some(&variable.name)) {
                values.push((variable.name.as_str(), decoded(value)?));
            }
        }
        Some(values)
    }

    /// The URI that these values make, given by name in any order. Everything but unreserved characters is
    /// percent-encoded. A query variable without a value is left out; one of the path leaves its place
    /// empty, as RFC 6570 has it, and such a URI does not match again.
    pub fn expand<Name: AsRef<str>, Value: AsRef<str>>(&self, values: &[(Name, Value)]) -> String {
        let value_of = |variable: &Variable| {
            values.iter().find(|(name, _)| name.as_ref() == variable.name).map(|(_, value)| value.as_ref())
        };
        let (path_variables, query_variables) = self.variables.split_at(self.literals.len());
        let mut uri = self.prefix.clone();
        for (variable, separator) in path_variables.iter().zip(&self.literals) {
            for byte in value_of(variable).unwrap_or_default().bytes() {
                push_byte(&mut uri, byte, is_unreserved(byte) && separator.escape != Some(byte));
            }
            uri.push_str(&separator.text);
        }
        let mut mark = '?';
        for variable in query_variables {
            let Some(value) = value_of(variable) else { continue };
            uri.push(mark);
            uri.push_str(&variable.name);
            uri.push('=');
            value.bytes().for_each(|byte| push_byte(&mut uri, byte, is_unreserved(byte)));
            mark = '&';
        }
        uri
    }

    fn literal_texts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.prefix.as_str()).chain(self.literals.iter().map(|literal| literal.text.as_str()))
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.source)
    }
}

/// The bytes of a normalised text that are not part of an escape.
fn plain_bytes(text: &str) -> Vec<u8> {
    let mut plain = Vec::new();
    let mut rest = text.as_bytes();
    while let Some(&byte) = rest.first() {
        if byte != b'%' {
            plain.push(byte);
        }
        rest = &rest[unit(byte).min(rest.len())..];
    }
    plain
}

/// Where the first separator after at least one character of a normalised text begins, escapes being taken as a whole.
fn end_of_value(text: &str, separator: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += unit(*text.as_bytes().get(at)?);
        if text.get(at..)?.starts_with(separator) {
            return Some(at);
        }
    }
}

/// How many bytes of a normalised text belong together, by the first of them.
fn unit(first: u8) -> usize {
    if first == b'%' { 3 } else { 1 }
}
