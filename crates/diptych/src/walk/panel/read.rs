//! Reading a panel where it stands: for the eye, and for the validator.

use std::borrow::Cow;

use jsonschema::json::{Array, Json, JsonNumber, Node, NodeIdentity, Object};
use jsonschema::types::JsonType;
use serde_json::{Number, Value};

use super::{Entry, Panel};

/// A value in a panel.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(super) panel: &'a Panel,
    pub(super) index: usize,
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

    pub(super) fn indent(self, out: &mut String, depth: usize) {
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
