//! Reading DAG-CBOR without copying: only what a caller asks for is looked at, the rest is skipped.
//!
//! Written by hand: of a million records a handful of fields each are needed, borrowed from the block, and a record
//! whose embed makes no sense must still give its text. With serde that takes a tree of optional types and a copy;
//! here it is one pass. Nothing recurses, so nesting cannot exhaust the stack.

use serde_json::{Map, Number, Value};

use super::content_id::written;
use super::error::RepositoryError;

const MALFORMED: RepositoryError = RepositoryError::Malformed("a block is not valid DAG-CBOR");
/// How deep a record may be nested to be turned into JSON.
const DEEPEST: usize = 64;

const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;
const OTHER: u8 = 7;

/// The tag of a link to another block.
const LINK: u64 = 42;

/// A place in a block.
#[derive(Clone, Copy)]
pub(crate) struct Cbor<'block> {
    rest: &'block [u8],
}

type Read<T> = Result<T, RepositoryError>;

impl<'block> Cbor<'block> {
    pub(crate) fn new(block: &'block [u8]) -> Self {
        Cbor { rest: block }
    }

    /// What has not been read yet.
    pub(crate) fn rest(&self) -> &'block [u8] {
        self.rest
    }

    /// That everything has been read.
    pub(crate) fn end(&self) -> Read<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(MALFORMED) }
    }

    fn take(&mut self, length: u64) -> Read<&'block [u8]> {
        let length = usize::try_from(length).map_err(|_| MALFORMED)?;
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(MALFORMED)?;
        self.rest = rest;
        Ok(taken)
    }

    /// The kind of the next item and the number that comes with it.
    fn head(&mut self) -> Read<(u8, u64)> {
        let first = self.take(1)?[0];
        let (kind, short) = (first >> 5, first & 31);
        let argument = match short {
            0..=23 => u64::from(short),
            24..=27 => {
                let bytes = self.take(1 << (short - 24))?;
                bytes.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte))
            }
            // Lengths that are not known beforehand are not allowed.
            _ => return Err(MALFORMED),
        };
        Ok((kind, argument))
    }

    fn expect(&mut self, wanted: u8) -> Read<u64> {
        match self.head()? {
            (kind, argument) if kind == wanted => Ok(argument),
            _ => Err(MALFORMED),
        }
    }

    /// How many entries a map has; each is a key ([`Cbor::text`]) and a value.
    pub(crate) fn map(&mut self) -> Read<u64> {
        self.expect(MAP)
    }

    pub(crate) fn array(&mut self) -> Read<u64> {
        self.expect(ARRAY)
    }

    pub(crate) fn unsigned(&mut self) -> Read<u64> {
        self.expect(UNSIGNED)
    }

    pub(crate) fn bytes(&mut self) -> Read<&'block [u8]> {
        let length = self.expect(BYTES)?;
        self.take(length)
    }

    pub(crate) fn text(&mut self) -> Read<&'block str> {
        let length = self.expect(TEXT)?;
        std::str::from_utf8(self.take(length)?).map_err(|_| MALFORMED)
    }

    /// A link to another block, as the bytes of its content id.
    pub(crate) fn link(&mut self) -> Read<&'block [u8]> {
        if self.expect(TAG)? != LINK {
            return Err(MALFORMED);
        }
        self.bytes()?.strip_prefix(&[0]).ok_or(MALFORMED)
    }

    /// A link, or nothing.
    pub(crate) fn link_or_null(&mut self) -> Read<Option<&'block [u8]>> {
        if self.rest.first() == Some(&0xf6) {
            self.rest = &self.rest[1..];
            return Ok(None);
        }
        self.link().map(Some)
    }

    /// Passes over one item and returns it.
    pub(crate) fn skip(&mut self) -> Read<&'block [u8]> {
        let start = self.rest;
        let mut pending = 1_u64;
        while pending > 0 {
            pending -= 1;
            let (kind, argument) = self.head()?;
            match kind {
                BYTES | TEXT => {
                    self.take(argument)?;
                }
                ARRAY | MAP => {
                    // Each item takes a byte at least, so a larger number is a lie.
                    if argument > self.rest.len() as u64 {
                        return Err(MALFORMED);
                    }
                    pending += if kind == MAP { 2 * argument } else { argument };
                }
                TAG => pending += 1,
                _ => {}
            }
        }
        Ok(&start[..start.len() - self.rest.len()])
    }

    /// Calls `field` with each key of a map and its value. A value that is not as expected is the caller's to ignore.
    pub(crate) fn fields(&mut self, mut field: impl FnMut(&'block str, Cbor<'block>)) -> Read<()> {
        for _ in 0..self.map()? {
            let key = self.text()?;
            field(key, Cbor::new(self.skip()?));
        }
        Ok(())
    }

    /// Calls `item` with each element of a list.
    pub(crate) fn items(&mut self, mut item: impl FnMut(Cbor<'block>)) -> Read<()> {
        for _ in 0..self.array()? {
            item(Cbor::new(self.skip()?));
        }
        Ok(())
    }

    /// One item in the JSON form of the AT Protocol: links as `$link`, bytes as `$bytes`.
    pub(crate) fn json(&mut self) -> Read<Value> {
        self.json_within(DEEPEST)
    }

    fn json_within(&mut self, depth: usize) -> Read<Value> {
        let depth = depth.checked_sub(1).ok_or(MALFORMED)?;
        let start = self.rest;
        let (kind, argument) = self.head()?;
        Ok(match kind {
            UNSIGNED => argument.into(),
            NEGATIVE => i64::try_from(argument).map(|number| -1 - number).map_err(|_| MALFORMED)?.into(),
            BYTES => {
                let bytes = base64::Engine::encode(
                    &base64::engine::general_purpose::STANDARD_NO_PAD,
                    self.take(argument)?,
                );
                Value::Object(Map::from_iter([("$bytes".to_owned(), bytes.into())]))
            }
            TEXT => std::str::from_utf8(self.take(argument)?).map_err(|_| MALFORMED)?.into(),
            ARRAY => {
                let mut items = Vec::new();
                for _ in 0..argument {
                    items.push(self.json_within(depth)?);
                }
                items.into()
            }
            MAP => {
                let mut members = Map::new();
                for _ in 0..argument {
                    let key = self.text()?.to_owned();
                    members.insert(key, self.json_within(depth)?);
                }
                members.into()
            }
            TAG => {
                self.rest = start;
                let link = written(self.link()?);
                Value::Object(Map::from_iter([("$link".to_owned(), link.into())]))
            }
            _ => match start[0] {
                0xf4 => false.into(),
                0xf5 => true.into(),
                0xf6 => Value::Null,
                0xfb => Number::from_f64(f64::from_bits(argument)).map(Value::Number).ok_or(MALFORMED)?,
                _ => return Err(MALFORMED),
            },
        })
    }
}

/// Writing the few items that the nodes of a tree are made of.
#[derive(Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    fn head(&mut self, kind: u8, argument: u64) {
        let kind = kind << 5;
        match argument {
            0..=23 => self.0.push(kind | argument as u8),
            24..=0xff => self.0.extend([kind | 24, argument as u8]),
            0x100..=0xffff => {
                self.0.push(kind | 25);
                self.0.extend((argument as u16).to_be_bytes());
            }
            0x1_0000..=0xffff_ffff => {
                self.0.push(kind | 26);
                self.0.extend((argument as u32).to_be_bytes());
            }
            _ => {
                self.0.push(kind | 27);
                self.0.extend(argument.to_be_bytes());
            }
        }
    }

    pub(crate) fn map(&mut self, entries: u64) {
        self.head(MAP, entries);
    }

    pub(crate) fn array(&mut self, items: usize) {
        self.head(ARRAY, items as u64);
    }

    pub(crate) fn unsigned(&mut self, number: u64) {
        self.head(UNSIGNED, number);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.head(TEXT, text.len() as u64);
        self.0.extend(text.as_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.head(BYTES, bytes.len() as u64);
        self.0.extend(bytes);
    }

    pub(crate) fn link(&mut self, id: &[u8]) {
        self.head(TAG, LINK);
        self.head(BYTES, id.len() as u64 + 1);
        self.0.push(0);
        self.0.extend(id);
    }

    pub(crate) fn null(&mut self) {
        self.head(OTHER, 22);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut writer = Writer::default();
        writer.map(3);
        writer.text("a");
        writer.unsigned(70_000);
        writer.text("b");
        writer.array(2);
        writer.null();
        writer.bytes(b"xyz");
        writer.text("c");
        writer.link(&super::super::content_id::ContentId::of(b"").bytes());
        let json = Cbor::new(&writer.0).json().unwrap();
        assert_eq!(json["a"], 70_000);
        assert_eq!(json["b"][0], Value::Null);
        assert_eq!(json["b"][1]["$bytes"], "eHl6");
        assert!(json["c"]["$link"].as_str().unwrap().starts_with("bafyrei"));
        let mut whole = Cbor::new(&writer.0);
        assert_eq!(whole.skip().unwrap(), writer.0);
        assert!(whole.end().is_ok());
    }

    #[test]
    fn nesting_does_not_exhaust_the_stack() {
        let mut deep = vec![0x81; 1_000_000];
        deep.push(0xf6);
        assert!(Cbor::new(&deep).skip().is_ok());
        assert!(Cbor::new(&deep).json().is_err());
        // A list of more items than there are bytes, and one of endless length.
        assert!(Cbor::new(&[0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]).skip().is_err());
        assert!(Cbor::new(&[0x9f, 0xff]).skip().is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_can_break_it(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let skipped = Cbor::new(&bytes).skip().map(<[u8]>::len);
            if let Ok(length) = skipped {
                proptest::prop_assert!(length <= bytes.len());
            }
            let _ = Cbor::new(&bytes).json();
        }
    }
}
