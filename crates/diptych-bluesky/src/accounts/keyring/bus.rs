//! As much of D-Bus as the Secret Service needs: a connection to the session's bus, calls and signals.
//!
//! Everything is little-endian and blocking, and every wait has an end. Nothing of a message is ever logged.

use std::env;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::KeyringError;

/// How long the bus and the service may take to answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// The most bytes of a message.
const MOST: usize = 1 << 20;

type Result<T> = std::result::Result<T, KeyringError>;

/// Values on their way out, each aligned as D-Bus has it.
#[derive(Debug, Default, Clone)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn align(&mut self, to: usize) -> &mut Self {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
        self
    }

    pub(super) fn byte(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    pub(super) fn number(&mut self, value: u32) -> &mut Self {
        self.align(4);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(super) fn flag(&mut self, value: bool) -> &mut Self {
        self.number(u32::from(value))
    }

    /// A string, or the path of an object.
    pub(super) fn text(&mut self, value: &str) -> &mut Self {
        self.bytes(value.as_bytes()).byte(0)
    }

    pub(super) fn signature(&mut self, value: &str) -> &mut Self {
        // Signatures are ours, and short.
        self.byte(u8::try_from(value.len()).unwrap_or(0));
        self.0.extend_from_slice(value.as_bytes());
        self.byte(0)
    }

    /// An array of bytes.
    pub(super) fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.number(u32::try_from(value.len()).unwrap_or(u32::MAX));
        self.0.extend_from_slice(value);
        self
    }

    /// An array whose elements are aligned to `to`.
    pub(super) fn array(&mut self, to: usize, fill: impl FnOnce(&mut Writer)) -> &mut Self {
        self.number(0);
        let length_at = self.0.len() - 4;
        // The padding before the first element does not count.
        self.align(to);
        let start = self.0.len();
        fill(self);
        let length = u32::try_from(self.0.len() - start).unwrap_or(u32::MAX);
        self.0[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
        self
    }
}

/// Values on their way in.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    bytes: Vec<u8>,
    at: usize,
}

impl Reader {
    fn new(bytes: Vec<u8>) -> Self {
        Reader { bytes, at: 0 }
    }

    pub(super) fn align(&mut self, to: usize) -> Result<()> {
        self.at = self.at.next_multiple_of(to);
        if self.at <= self.bytes.len() { Ok(()) } else { Err(KeyringError::Nonsense) }
    }

    fn take(&mut self, length: usize) -> Result<&[u8]> {
        let end = self.at.checked_add(length).ok_or(KeyringError::Nonsense)?;
        let taken = self.bytes.get(self.at..end).ok_or(KeyringError::Nonsense)?;
        self.at = end;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    pub(super) fn number(&mut self) -> Result<u32> {
        self.align(4)?;
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    pub(super) fn bytes(&mut self) -> Result<Vec<u8>> {
        let length = self.number()? as usize;
        Ok(self.take(length)?.to_vec())
    }

    pub(super) fn text(&mut self) -> Result<String> {
        let bytes = self.bytes()?;
        self.byte()?;
        String::from_utf8(bytes).map_err(|_| KeyringError::Nonsense)
    }

    pub(super) fn signature(&mut self) -> Result<String> {
        let length = usize::from(self.byte()?);
        let text = String::from_utf8(self.take(length)?.to_vec()).map_err(|_| KeyringError::Nonsense)?;
        self.byte()?;
        Ok(text)
    }

    /// An array of strings or paths.
    pub(super) fn texts(&mut self) -> Result<Vec<String>> {
        let length = self.number()? as usize;
        let end = self.at.checked_add(length).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or(KeyringError::Nonsense)?;
        let mut texts = Vec::new();
        while self.at < end {
            texts.push(self.text()?);
        }
        Ok(texts)
    }
}

/// What arrived.
#[derive(Debug)]
struct Message {
    kind: u8,
    path: String,
    member: String,
    error: String,
    answers: Option<u32>,
    body: Reader,
}

/// What a call is of: an object, and a method of it.
pub(super) struct Method<'a> {
    pub(super) of: &'a str,
    pub(super) path: &'a str,
    pub(super) interface: &'a str,
    pub(super) name: &'a str,
}

const CALL: u8 = 1;
const ANSWER: u8 = 2;
const ERROR: u8 = 3;
const SIGNAL: u8 = 4;

/// A call as it is sent.
fn message(serial: u32, method: &Method<'_>, signature: &str, body: &[u8]) -> Vec<u8> {
    let mut out = Writer::default();
    out.byte(b'l').byte(CALL).byte(0).byte(1);
    out.number(u32::try_from(body.len()).unwrap_or(u32::MAX)).number(serial);
    let fields =
        [(1, "o", method.path), (2, "s", method.interface), (3, "s", method.name), (6, "s", method.of)];
    out.array(8, |out| {
        for (code, kind, value) in fields {
            out.align(8).byte(code).signature(kind).text(value);
        }
        if !signature.is_empty() {
            out.align(8).byte(8).signature("g").signature(signature);
        }
    });
    out.align(8);
    out.0.extend_from_slice(body);
    out.0
}

/// How long a message is, from its first sixteen bytes: up to its body, and as a whole.
fn lengths(start: &[u8; 16]) -> Result<(usize, usize)> {
    let number =
        |at: usize| u32::from_le_bytes([start[at], start[at + 1], start[at + 2], start[at + 3]]) as usize;
    let head = (16 + number(12)).next_multiple_of(8);
    let whole = head + number(4);
    if start[0] == b'l' && whole <= MOST { Ok((head, whole)) } else { Err(KeyringError::Nonsense) }
}

fn parse(bytes: Vec<u8>, head: usize) -> Result<Message> {
    let body = bytes.get(head..).ok_or(KeyringError::Nonsense)?.to_vec();
    let kind = *bytes.get(1).ok_or(KeyringError::Nonsense)?;
    let mut reader = Reader::new(bytes);
    reader.at = 12;
    let end = 16 + reader.number()? as usize;
    let mut message = Message {
        kind,
        path: String::new(),
        member: String::new(),
        error: String::new(),
        answers: None,
        body: Reader::new(body),
    };
    while reader.at < end {
        reader.align(8)?;
        let code = reader.byte()?;
        match (code, reader.signature()?.as_str()) {
            (1, "o") => message.path = reader.text()?,
            (3, "s") => message.member = reader.text()?,
            (4, "s") => message.error = reader.text()?,
            (5, "u") => message.answers = Some(reader.number()?),
            (_, "s" | "o") => drop(reader.text()?),
            (_, "u") => drop(reader.number()?),
            (_, "g") => drop(reader.signature()?),
            _ => return Err(KeyringError::Nonsense),
        }
    }
    Ok(message)
}

/// A connection to the session's bus.
#[derive(Debug)]
pub(super) struct Bus {
    stream: UnixStream,
    serial: u32,
}

impl Bus {
    /// The bus of the session that this process belongs to.
    pub(super) fn session() -> Result<Self> {
        let stream = addresses().iter().find_map(connect).ok_or(KeyringError::Absent)?;
        let mut bus = Bus { stream, serial: 0 };
        bus.limit(PATIENCE)?;
        // Who we are is what the socket says.
        bus.stream.write_all(b"\0AUTH EXTERNAL\r\nDATA\r\n").map_err(absent)?;
        while !bus.line()?.starts_with("OK ") {}
        bus.stream.write_all(b"BEGIN\r\n").map_err(absent)?;
        bus.daemon("Hello", "", &Writer::default())?;
        Ok(bus)
    }

    fn limit(&self, patience: Duration) -> Result<()> {
        let limit = Some(patience.max(Duration::from_millis(1)));
        self.stream
            .set_read_timeout(limit)
            .and_then(|()| self.stream.set_write_timeout(limit))
            .map_err(absent)
    }

    /// A line of the greeting.
    fn line(&mut self) -> Result<String> {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            let mut byte = [0];
            self.stream.read_exact(&mut byte).map_err(absent)?;
            line.push(byte[0]);
            if line.len() > 1_000 || line.starts_with(b"REJECTED") || line.starts_with(b"ERROR") {
                return Err(KeyringError::Absent);
            }
        }
        String::from_utf8(line).map_err(|_| KeyringError::Absent)
    }

    /// A call to the bus itself.
    fn daemon(&mut self, name: &str, signature: &str, body: &Writer) -> Result<Reader> {
        let bus = "org.freedesktop.DBus";
        self.call(&Method { of: bus, path: "/org/freedesktop/DBus", interface: bus, name }, signature, body)
    }

    /// Wants to hear the signals of an object.
    pub(super) fn hear(&mut self, path: &str) -> Result<()> {
        let mut rule = Writer::default();
        rule.text(&format!("type='signal',path='{path}'"));
        self.daemon("AddMatch", "s", &rule).map(drop)
    }

    /// Calls a method, and waits for its answer.
    pub(super) fn call(&mut self, method: &Method<'_>, signature: &str, body: &Writer) -> Result<Reader> {
        self.serial += 1;
        let serial = self.serial;
        self.stream.write_all(&message(serial, method, signature, &body.0)).map_err(absent)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let message = self.next(deadline)?;
            match message.kind {
                ANSWER if message.answers == Some(serial) => return Ok(message.body),
                ERROR if message.answers == Some(serial) => return Err(refusal(&message.error)),
                _ => {}
            }
        }
    }

    /// Waits for a signal of an object that is [heard](Bus::hear).
    pub(super) fn signal(&mut self, path: &str, name: &str, patience: Duration) -> Result<Reader> {
        let deadline = Instant::now() + patience;
        loop {
            let message = self.next(deadline)?;
            if message.kind == SIGNAL && message.path == path && message.member == name {
                return Ok(message.body);
            }
        }
    }

    fn next(&mut self, deadline: Instant) -> Result<Message> {
        self.limit(deadline.saturating_duration_since(Instant::now()))?;
        let mut start = [0; 16];
        self.stream.read_exact(&mut start).map_err(absent)?;
        let (head, whole) = lengths(&start)?;
        let mut bytes = start.to_vec();
        bytes.resize(whole, 0);
        self.stream.read_exact(&mut bytes[16..]).map_err(absent)?;
        parse(bytes, head)
    }
}

fn absent(_: std::io::Error) -> KeyringError {
    KeyringError::Absent
}

/// What an error of the other side means. Only its name is looked at.
fn refusal(name: &str) -> KeyringError {
    let last = name.rsplit('.').next().unwrap_or_default();
    match last {
        "ServiceUnknown" | "NameHasNoOwner" | "NoReply" | "Disconnected" => KeyringError::Absent,
        // A service that was to be started and could not be.
        _ if name.starts_with("org.freedesktop.DBus.Error.Spawn") => KeyringError::Absent,
        "IsLocked" => KeyringError::Locked,
        _ => KeyringError::Refused(last.chars().filter(char::is_ascii_alphanumeric).take(40).collect()),
    }
}

/// Where the bus may be found.
#[derive(Debug, PartialEq, Eq)]
enum Address {
    Path(PathBuf),
    /// A name that is in no folder; Linux alone has these.
    Abstract(Vec<u8>),
}

fn addresses() -> Vec<Address> {
    match env::var("DBUS_SESSION_BUS_ADDRESS") {
        Ok(list) if !list.is_empty() => list.split(';').filter_map(address).collect(),
        // As systemd has it.
        _ => env::var_os("XDG_RUNTIME_DIR")
            .map(|folder| Address::Path(PathBuf::from(folder).join("bus")))
            .into_iter()
            .collect(),
    }
}

/// Reads an address such as `unix:path=/run/user/1000/bus,guid=…`.
fn address(text: &str) -> Option<Address> {
    let pairs = text.strip_prefix("unix:")?.split(',').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find_map(|(key, value)| {
        let value = unescape(value)?;
        match key {
            "path" => Some(Address::Path(PathBuf::from(
                <std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(value),
            ))),
            "abstract" => Some(Address::Abstract(value)),
            _ => None,
        }
    })
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, others @ ..] = rest {
        if *first == b'%' {
            let digits = std::str::from_utf8(others.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &others[2..];
        } else {
            bytes.push(*first);
            rest = others;
        }
    }
    Some(bytes)
}

fn connect(address: &Address) -> Option<UnixStream> {
    match address {
        Address::Path(path) => UnixStream::connect(path).ok(),
        #[cfg(target_os = "linux")]
        Address::Abstract(name) => {
            use std::os::linux::net::SocketAddrExt as _;
            let address = std::os::unix::net::SocketAddr::from_abstract_name(name).ok()?;
            UnixStream::connect_addr(&address).ok()
        }
        #[cfg(not(target_os = "linux"))]
        Address::Abstract(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_are_read() {
        let path = |text: &str| Some(Address::Path(PathBuf::from(text)));
        assert_eq!(address("unix:path=/run/user/1000/bus"), path("/run/user/1000/bus"));
        assert_eq!(address("unix:guid=12,path=/a%20b"), path("/a b"));
        assert_eq!(
            address("unix:abstract=/tmp/dbus-x,guid=12"),
            Some(Address::Abstract(b"/tmp/dbus-x".to_vec()))
        );
        for text in ["", "tcp:host=localhost,port=1", "unix:", "unix:path=%2", "unix:path=%zz", "autolaunch:"]
        {
            assert_eq!(address(text), None, "{text}");
        }
    }

    #[test]
    fn a_call_is_written_as_the_specification_has_it() {
        let method = Method { of: "a.b", path: "/c", interface: "d.e", name: "F" };
        let mut body = Writer::default();
        body.text("x").flag(true);
        let bytes = message(7, &method, "sb", &body.0);
        assert_eq!(&bytes[..12], b"l\x01\0\x01\x0c\0\0\0\x07\0\0\0");
        let (head, whole) = lengths(bytes[..16].try_into().unwrap()).unwrap();
        assert_eq!((head % 8, whole), (0, bytes.len()));
        assert_eq!(&bytes[head..], b"\x01\0\0\0x\0\0\0\x01\0\0\0");
        let mut read = parse(bytes, head).unwrap();
        assert_eq!((read.path.as_str(), read.member.as_str(), read.kind), ("/c", "F", CALL));
        assert_eq!((read.body.text().unwrap().as_str(), read.body.number().unwrap()), ("x", 1));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(texts in prop::collection::vec(".{0,20}", 0..5), bytes: Vec<u8>, number: u32, first: u8) {
            let mut writer = Writer::default();
            writer.byte(first).array(4, |array| {
                for text in &texts {
                    array.text(text);
                }
            });
            writer.bytes(&bytes).number(number).signature("a{ss}").align(8);
            let mut reader = Reader::new(writer.0);
            prop_assert_eq!(reader.byte().unwrap(), first);
            prop_assert_eq!(reader.texts().unwrap(), texts);
            prop_assert_eq!(reader.bytes().unwrap(), bytes);
            prop_assert_eq!(reader.number().unwrap(), number);
            prop_assert_eq!(reader.signature().unwrap(), "a{ss}");
            prop_assert!(reader.align(8).is_ok() && reader.byte().is_err());
        }

        #[test]
        fn nonsense_is_said_to_be_nonsense(mut bytes in prop::collection::vec(any::<u8>(), 16..200)) {
            bytes[0] = b'l';
            // Lengths that are believable now and then.
            if bytes[1] % 2 == 0 {
                let (body, fields) = (bytes[2] % 32, bytes[3] % 128);
                bytes[4..8].copy_from_slice(&[body, 0, 0, 0]);
                bytes[12..16].copy_from_slice(&[fields, 0, 0, 0]);
            }
            if let Ok((head, whole)) = lengths(bytes[..16].try_into().unwrap()) {
                bytes.resize(whole, 0);
                if let Ok(mut message) = parse(bytes, head) {
                    let _ = (message.body.clone().texts(), message.body.clone().text(), message.body.bytes());
                }
            }
        }
    }
}
