//! Writing a panel: the formatter that notes what it wrote where.

use std::io::{self, Write};

use jsonschema::types::JsonType;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter};

use super::Entry;

/// Writes compact JSON and remembers what it wrote where.
#[derive(Default)]
pub(super) struct Recorder {
    at: usize,
    pub(super) entries: Vec<Entry>,
    /// The containers that are open.
    open: Vec<usize>,
    /// Inside a string, whose pieces are no values of their own.
    in_string: bool,
    /// Whether something was JSON before it was written, of which nothing is known.
    pub(super) is_opaque: bool,
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
