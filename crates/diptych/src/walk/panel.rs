//! The JSON panel: serialised once, with a table of what stands where in the text.
//!
//! Every answer is checked against its schema. Building a `serde_json::Value` for that would mean
//! a map for every object, and a copy of every name and string. So the table is made while the text is
//! written, by the formatter, and the validator reads the panel where it stands.

use std::borrow::Cow;
use std::io::{self, Write};

use jsonschema::json::{Array, Json, JsonNumber, Node, NodeIdentity, Object};
use jsonschema::types::JsonType;
use serde::Serialize;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, Serializer};
use serde_json::{Number, Value};

/// A JSON panel, written.
#[derive(Debug, Clone)]
pub struct Panel {
    text: String,
    entries: Vec<Entry>,
}

/// One value, or one name of an object's member, in the text.
#[derive(Debug, Clone, Copy)]
struct Entry {
    kind: JsonType,
    start: usize,
    end: usize,
    /// The entry after this one and all that is in it.
    next: usize,
    /// Items of an array, members of an object.
    count: usize,
}

/// The members that the toolkit adds to what an author's type serialises to.
#[derive(Serialize)]
struct Whole<'a, T> {
    kind: &'a str,
    #[serde(flatten)]
    members: &'a T,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<&'a Truncated>,
}

/// What the budget, or the tool itself, left out.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Truncated {
    pub(crate) shown: usize,
    pub(crate) total: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

impl Panel {
    /// The panel of a value that serialises to an object.
    ///
    /// # Errors
    /// When it does not.
    pub(crate) fn new<T: Serialize>(
        kind: &str,
        members: &T,
        truncated: Option<&Truncated>,
    ) -> Result<Self, String> {
        Panel::write(&Whole { kind, members, truncated })
            .map_err(|error| format!("{kind} does not serialise to an object: {error}"))
    }

    /// The panel of one of the toolkit's own types, which always serialise to objects.
    pub(crate) fn of(kind: &str, members: &impl Serialize) -> Self {
        Panel::new(kind, members, None).unwrap_or_else(|problem| {
            tracing::error!(problem);
            let entry = Entry { kind: JsonType::Object, start: 0, end: 2, next: 1, count: 0 };
            Panel { text: "{}".to_owned(), entries: vec![entry] }
        })
    }

    fn write(value: &impl Serialize) -> serde_json::Result<Self> {
        let mut text = Vec::with_capacity(1024);
        let mut formatter = Recorder::default();
        value.serialize(&mut Serializer::with_formatter(&mut text, &mut formatter))?;
        if formatter.is_opaque {
            // Something in it was JSON already: it is read, and written again as one.
            return Panel::write(&serde_json::from_slice::<Value>(&text)?);
        }
        // What serde_json writes is UTF-8, and nothing is lost where it is not.
        let text = String::from_utf8(text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Ok(Panel { text, entries: formatter.entries })
    }

    /// As it is sent to programs.
    pub(crate) fn compact(&self) -> &str {
        &self.text
    }

    /// As a value, for whoever serialises by itself.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// As it is shown: the same, indented.
    pub(crate) fn pretty(&self) -> String {
        let mut out = String::with_capacity(self.text.len() * 2);
        if let Some(root) = self.root() {
            root.indent(&mut out, 0);
        }
        out
    }

    /// The whole panel, for the validator.
    pub(crate) fn root(&self) -> Option<Place<'_>> {
        (!self.entries.is_empty()).then_some(Place { panel: self, index: 0 })
    }
}

/// Writes compact JSON and remembers what it wrote where.
#[derive(Default)]
struct Recorder {
    at: usize,
    entries: Vec<Entry>,
    /// The containers that are open.
    open: Vec<usize>,
    /// Inside a string, whose pieces are no values of their own.
    in_string: bool,
    is_opaque: bool,
}

/// Counts what passes through.
struct Counting<'a, W: ?Sized> {
    writer: &'a mut W,
    at: &'a mut usize,
}

impl<W: ?Sized + Write> Write for Counting<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes)?;
        *self.at += written;
        Ok(written)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes)?;
        *self.at += bytes.len();
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Recorder {
    fn begin(&mut self, kind: JsonType) {
        if let Some(container) = self.open.last() {
            self.entries[*container].count += 1;
        }
        let next = self.entries.len() + 1;
        self.entries.push(Entry { kind, start: self.at, end: self.at, next, count: 0 });
    }

    /// A value without parts.
    fn leaf<W: ?Sized + Write>(
        &mut self,
        kind: JsonType,
        writer: &mut W,
        write: impl FnOnce(&mut Counting<'_, W>) -> io::Result<()>,
    ) -> io::Result<()> {
        let is_value = !self.in_string;
        if is_value {
            self.begin(kind);
        }
        write(&mut Counting { writer, at: &mut self.at })?;
        if is_value && let Some(entry) = self.entries.last_mut() {
            entry.end = self.at;
        }
        Ok(())
    }

    fn put<W: ?Sized + Write>(&mut self, writer: &mut W, bytes: &[u8]) -> io::Result<()> {
        Counting { writer, at: &mut self.at }.write_all(bytes)
    }

    fn enter<W: ?Sized + Write>(&mut self, kind: JsonType, writer: &mut W, bytes: &[u8]) -> io::Result<()> {
        self.begin(kind);
        self.open.push(self.entries.len() - 1);
        self.put(writer, bytes)
    }

    fn leave<W: ?Sized + Write>(&mut self, writer: &mut W, bytes: &[u8]) -> io::Result<()> {
        self.put(writer, bytes)?;
        let (at, next) = (self.at, self.entries.len());
        if let Some(entry) = self.open.pop().and_then(|index| self.entries.get_mut(index)) {
            (entry.end, entry.next) = (at, next);
            if entry.kind == JsonType::Object {
                // Names and values were counted alike.
                entry.count /= 2;
            }
        }
        Ok(())
    }
}

/// The formatter's methods for numbers differ in nothing but their types.
macro_rules! numbers {
    ($($method:ident: $type:ty),*) => {
        $(fn $method<W: ?Sized + Write>(&mut self, writer: &mut W, value: $type) -> io::Result<()> {
            self.leaf(JsonType::Number, writer, |out| CompactFormatter.$method(out, value))
        })*
    };
}

impl Formatter for &mut Recorder {
    numbers! {
        write_i8: i8, write_i16: i16, write_i32: i32, write_i64: i64, write_i128: i128,
        write_u8: u8, write_u16: u16, write_u32: u32, write_u64: u64, write_u128: u128,
        write_f32: f32, write_f64: f64, write_number_str: &str
    }

    fn write_null<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.leaf(JsonType::Null, writer, |out| out.write_all(b"null"))
    }

    fn write_bool<W: ?Sized + Write>(&mut self, writer: &mut W, value: bool) -> io::Result<()> {
        self.leaf(JsonType::Boolean, writer, |out| CompactFormatter.write_bool(out, value))
    }

    fn begin_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(JsonType::String);
        self.in_string = true;
        self.put(writer, b"\"")
    }

    fn end_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.in_string = false;
        self.put(writer, b"\"")?;
        if let Some(entry) = self.entries.last_mut() {
            entry.end = self.at;
        }
        Ok(())
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, piece: &str) -> io::Result<()> {
        self.put(writer, piece.as_bytes())
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()> {
        CompactFormatter.write_char_escape(&mut Counting { writer, at: &mut self.at }, escape)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter(JsonType::Array, writer, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.leave(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { self.put(writer, b",") }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter(JsonType::Object, writer, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.leave(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { self.put(writer, b",") }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.put(writer, b":")
    }

    fn write_raw_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        self.is_opaque = true;
        self.put(writer, fragment.as_bytes())
    }
}

/// A value in a panel.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    panel: &'a Panel,
    index: usize,
}

impl<'a> Place<'a> {
    fn entry(self) -> Entry {
        self.panel.entries[self.index]
    }

    fn text(self) -> &'a str {
        let entry = self.entry();
        &self.panel.text[entry.start..entry.end]
    }

    fn at(self, index: usize) -> Self {
        Place { panel: self.panel, index }
    }

    /// What a string says.
    fn string(self) -> Cow<'a, str> {
        let quoted = self.text();
        let inner = &quoted[1..quoted.len().max(2) - 1];
        if inner.as_bytes().contains(&b'\\') {
            Cow::Owned(serde_json::from_str(quoted).unwrap_or_default())
        } else {
            Cow::Borrowed(inner)
        }
    }

    /// The values directly in it; an object's names and values in turn.
    fn children(self) -> impl Iterator<Item = Place<'a>> {
        let end = self.entry().next;
        let first = self.index + 1;
        std::iter::successors((first < end).then(|| self.at(first)), move |child| {
            let next = child.entry().next;
            (next < end).then(|| child.at(next))
        })
    }

    fn indent(self, out: &mut String, depth: usize) {
        let entry = self.entry();
        if entry.count == 0 {
            out.push_str(self.text());
            return;
        }
        let is_object = entry.kind == JsonType::Object;
        out.push(if is_object { '{' } else { '[' });
        let line = |out: &mut String, depth: usize| {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth));
        };
        for (position, child) in self.children().enumerate() {
            if is_object && position % 2 == 1 {
                out.push_str(": ");
            } else {
                if position > 0 {
                    out.push(',');
                }
                line(out, depth + 1);
            }
            child.indent(out, depth + 1);
        }
        line(out, depth);
        out.push(if is_object { '}' } else { ']' });
    }
}

/// How the validator reads a panel.
pub(crate) struct PanelJson;

impl Json for PanelJson {
    type Node<'a> = Place<'a>;
    type PreparedKey = String;
    type StringBuffer = Option<Panel>;

    // Members are found by looking at one after the other.
    const KEYS_PER_LOOKUP: usize = 8;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Option<Panel>, string: &str, f: impl FnOnce(Place<'_>) -> T) -> T {
        // A string always serialises; an empty panel would still be a place that says nothing.
        let panel = buffer.insert(Panel::write(&string).unwrap_or(Panel {
            text: "\"\"".to_owned(),
            entries: vec![Entry { kind: JsonType::String, start: 0, end: 2, next: 1, count: 0 }],
        }));
        f(Place { panel, index: 0 })
    }
}

impl<'a> Node<'a, PanelJson> for Place<'a> {
    type Object = Self;
    type Array = Self;
    type Number = Self;

    fn as_object(&self) -> Option<Self> {
        (self.entry().kind == JsonType::Object).then_some(*self)
    }

    fn as_array(&self) -> Option<Self> {
        (self.entry().kind == JsonType::Array).then_some(*self)
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        (self.entry().kind == JsonType::String).then(|| self.string())
    }

    fn as_number(&self) -> Option<Self> {
        (self.entry().kind == JsonType::Number).then_some(*self)
    }

    fn as_boolean(&self) -> Option<bool> {
        (self.entry().kind == JsonType::Boolean).then(|| self.text() == "true")
    }

    fn is_null(&self) -> bool {
        self.entry().kind == JsonType::Null
    }

    fn json_type(&self) -> JsonType {
        self.entry().kind
    }

    fn equals_value(&self, expected: &Value) -> bool {
        match expected {
            Value::String(expected) => self.as_string().is_some_and(|string| string == expected.as_str()),
            expected => jsonschema::json::cmp::equal(&self.to_value(), expected),
        }
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(serde_json::from_str(self.text()).unwrap_or_default())
    }

    fn identity(&self) -> Option<NodeIdentity> {
        let address = std::ptr::from_ref(&self.panel.entries[self.index]) as usize;
        Some(NodeIdentity::new(address))
    }
}

impl<'a> Object<'a, PanelJson> for Place<'a> {
    type Node = Self;
    type MemberName = Cow<'a, str>;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        self.entry().count
    }

    fn get(&self, key: &String) -> Option<Self> {
        Object::members(self).find(|(name, _)| name == key).map(|(_, value)| value)
    }

    fn members(&self) -> Members<'a> {
        Members { parent: *self, next: self.index + 1 }
    }
}

/// The members of an object, one after the other.
pub(crate) struct Members<'a> {
    parent: Place<'a>,
    next: usize,
}

impl<'a> Iterator for Members<'a> {
    type Item = (Cow<'a, str>, Place<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let name = self.parent.at(self.next);
        if self.next >= self.parent.entry().next {
            return None;
        }
        let value = self.parent.at(self.next + 1);
        self.next = value.entry().next;
        Some((name.string(), value))
    }
}

impl<'a> Array<'a, PanelJson> for Place<'a> {
    type Node = Self;
    type ElementsIter = Elements<'a>;

    fn len(&self) -> usize {
        self.entry().count
    }

    fn elements(&self) -> Elements<'a> {
        Elements { parent: *self, next: self.index + 1 }
    }
}

/// The items of an array, one after the other.
pub(crate) struct Elements<'a> {
    parent: Place<'a>,
    next: usize,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Place<'a>;

    fn next(&mut self) -> Option<Place<'a>> {
        let element = self.parent.at(self.next);
        if self.next >= self.parent.entry().next {
            return None;
        }
        self.next = element.entry().next;
        Some(element)
    }
}

impl JsonNumber for Place<'_> {
    fn as_u64(&self) -> Option<u64> {
        self.text().parse().ok()
    }

    fn as_i64(&self) -> Option<i64> {
        self.text().parse().ok()
    }

    fn as_f64(&self) -> Option<f64> {
        self.text().parse().ok()
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.text())
    }

    fn to_number(&self) -> Cow<'_, Number> {
        Cow::Owned(serde_json::from_str(self.text()).unwrap_or_else(|_| Number::from(0)))
    }

    fn is_integer(&self) -> bool {
        self.is_written_as_integer() || self.as_f64().is_some_and(|number| number.fract() == 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e9..1e9f64).prop_map(Value::from),
            "(\\PC|[\"\\\\\n\u{0}]){0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec(("(\\PC|\"){0,6}", inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    /// Schemas that between them look at everything the validator can ask of a value.
    fn schemas() -> Vec<Value> {
        vec![
            json!({"type": "object", "required": ["a"], "additionalProperties": {"type": ["string", "null"]}}),
            json!({"type": "array", "items": {"type": "integer", "minimum": 0}, "uniqueItems": true}),
            json!({"type": ["string", "number"], "minLength": 3, "maximum": 10.5, "multipleOf": 1}),
            json!({"enum": [null, true, 1, "a", [1, 2], {"a": 1}]}),
            json!({"oneOf": [{"type": "object", "maxProperties": 2}, {"type": "array", "maxItems": 2}, {"type": "boolean"}]}),
            json!({"propertyNames": {"maxLength": 2}, "patternProperties": {"^a": {"type": "number"}}}),
            json!({"contains": {"type": "string"}, "prefixItems": [{"type": "null"}]}),
            json!({"$defs": {"tree": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/tree"}}]}}, "$ref": "#/$defs/tree"}),
        ]
    }

    proptest! {
        #[test]
        fn a_panel_is_the_value_that_was_written(value in any_json()) {
            let panel = Panel::write(&value).unwrap();
            prop_assert_eq!(panel.compact(), serde_json::to_string(&value).unwrap());
            prop_assert_eq!(panel.pretty(), serde_json::to_string_pretty(&value).unwrap());
            prop_assert_eq!(panel.value(), panel.root().unwrap().to_value().into_owned());
        }

        #[test]
        fn the_validator_judges_a_panel_as_it_judges_the_value(value in any_json()) {
            // As a client reads it: a number may come back in another form.
            let value: Value = serde_json::from_str(&value.to_string()).unwrap();
            let panel = Panel::write(&value).unwrap();
            for schema in schemas() {
                let ours = jsonschema::options_for::<PanelJson>().build(&schema).unwrap();
                let theirs = jsonschema::validator_for(&schema).unwrap();
                prop_assert_eq!(
                    ours.is_valid(panel.root().unwrap()), theirs.is_valid(&value), "{} against {}", value, schema
                );
                let told: Vec<String> = ours.iter_errors(panel.root().unwrap()).map(|error| error.to_string()).collect();
                let expected: Vec<String> = theirs.iter_errors(&value).map(|error| error.to_string()).collect();
                prop_assert_eq!(told, expected);
            }
        }
    }

    #[test]
    fn the_toolkits_members_stand_around_the_authors() {
        #[derive(Serialize)]
        struct Found {
            hits: Vec<u8>,
            by: std::collections::BTreeMap<i32, bool>,
            raw: Box<serde_json::value::RawValue>,
        }
        let raw = serde_json::value::RawValue::from_string("{ \"x\" : [1, 2] }".to_owned()).unwrap();
        let found = Found { hits: vec![1, 2], by: [(7, true)].into(), raw };
        let truncated = Truncated { shown: 2, total: 9, next_cursor: Some("c".to_owned()) };
        let panel = Panel::new("found:v1", &found, Some(&truncated)).unwrap();
        insta::assert_snapshot!(panel.compact(), @r#"{"kind":"found:v1","hits":[1,2],"by":{"7":true},"raw":{"x":[1,2]},"truncated":{"shown":2,"total":9,"nextCursor":"c"}}"#);
        assert!(Panel::new("list:v1", &[1, 2], None).unwrap_err().starts_with("list:v1 does not serialise"));
    }
}
