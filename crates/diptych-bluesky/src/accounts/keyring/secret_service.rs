//! The Secret Service: what the keyrings of the desktops (GNOME, KDE, KeePassXC) speak.
//!
//! Secrets pass the session's bus as they are (the algorithm `plain`): it is a socket that only the user can open, and
//! whoever runs as the user can ask the keyring itself. A keyring that is locked asks its person to unlock it.

use std::time::Duration;

use super::bus::{Bus, Method, Reader, Writer};
use super::{Keyring, KeyringError};

/// How long a person may take to unlock the keyring.
const PERSON: Duration = Duration::from_secs(45);

const SERVICE: &str = "org.freedesktop.secrets";
const ROOT: &str = "/org/freedesktop/secrets";
/// The path that stands for none.
const NONE: &str = "/";

type Result<T> = std::result::Result<T, KeyringError>;

/// The keyring of the session. Each use is a connection of its own: they are rare, and a keyring may come and go.
#[derive(Debug)]
pub(super) struct SecretService;

/// A connection on which secrets may pass.
struct Open {
    bus: Bus,
    /// Names the agreement on how they pass.
    session: String,
}

impl Open {
    fn new() -> Result<Self> {
        let mut open = Open { bus: Bus::session()?, session: String::new() };
        let mut body = Writer::default();
        // No algorithm, and nothing to agree on.
        body.text("plain").signature("s").text("");
        let mut answer = open.call(ROOT, "Service", "OpenSession", "sv", &body)?;
        let kind = answer.signature()?;
        match kind.as_str() {
            "s" => drop(answer.text()?),
            "ay" => drop(answer.bytes()?),
            _ => return Err(KeyringError::Nonsense),
        }
        open.session = answer.text()?;
        Ok(open)
    }

    fn call(
        &mut self,
        path: &str,
        interface: &str,
        name: &str,
        signature: &str,
        body: &Writer,
    ) -> Result<Reader> {
        let interface = format!("org.freedesktop.Secret.{interface}");
        self.bus.call(&Method { of: SERVICE, path, interface: &interface, name }, signature, body)
    }

    /// The items of that name, unlocked.
    fn find(&mut self, name: &str) -> Result<Vec<String>> {
        let mut body = Writer::default();
        attributes(&mut body, name);
        let mut answer = self.call(ROOT, "Service", "SearchItems", "a{ss}", &body)?;
        let (mut found, locked) = (answer.texts()?, answer.texts()?);
        if !locked.is_empty() {
            self.unlock(&locked)?;
            found.extend(locked);
        }
        Ok(found)
    }

    fn unlock(&mut self, objects: &[String]) -> Result<()> {
        let mut body = Writer::default();
        body.array(4, |array| {
            for object in objects {
                array.text(object);
            }
        });
        let mut answer = self.call(ROOT, "Service", "Unlock", "ao", &body)?;
        let unlocked = answer.texts()?;
        let prompt = answer.text()?;
        if prompt == NONE && objects.iter().any(|object| !unlocked.contains(object)) {
            return Err(KeyringError::Locked);
        }
        self.prompt(&prompt)
    }

    /// Has the keyring ask its person, and waits for the answer.
    fn prompt(&mut self, prompt: &str) -> Result<()> {
        if prompt == NONE {
            return Ok(());
        }
        self.bus.hear(prompt)?;
        let mut body = Writer::default();
        // No window of ours that the question belongs to.
        body.text("");
        self.call(prompt, "Prompt", "Prompt", "s", &body)?;
        let dismissed = match self.bus.signal(prompt, "Completed", PERSON) {
            Ok(mut answer) => answer.number()? != 0,
            // Nobody was there.
            Err(_) => true,
        };
        if dismissed { Err(KeyringError::Locked) } else { Ok(()) }
    }
}

/// What an item is found by.
fn attributes(body: &mut Writer, name: &str) {
    body.array(8, |array| {
        for (key, value) in [("application", "diptych"), ("account", name)] {
            array.align(8).text(key).text(value);
        }
    });
}

impl Keyring for SecretService {
    fn write(&self, name: &str, label: &str, secret: &str) -> Result<()> {
        let mut open = Open::new()?;
        let mut body = Writer::default();
        body.text("default");
        let collection = open.call(ROOT, "Service", "ReadAlias", "s", &body)?.text()?;
        if collection == NONE {
            return Err(KeyringError::Absent);
        }
        open.unlock(std::slice::from_ref(&collection))?;
        let mut body = Writer::default();
        body.array(8, |array| {
            array.align(8).text("org.freedesktop.Secret.Item.Label").signature("s").text(label);
            array.align(8).text("org.freedesktop.Secret.Item.Attributes").signature("a{ss}");
            attributes(array, name);
        });
        body.align(8).text(&open.session).bytes(b"").bytes(secret.as_bytes()).text("text/plain");
        // In place of an item with the same attributes.
        body.flag(true);
        let mut answer = open.call(&collection, "Collection", "CreateItem", "a{sv}(oayays)b", &body)?;
        let _item = answer.text()?;
        let prompt = answer.text()?;
        open.prompt(&prompt)
    }

    fn read(&self, name: &str) -> Result<Option<String>> {
        let mut open = Open::new()?;
        let Some(item) = open.find(name)?.into_iter().next() else { return Ok(None) };
        let mut body = Writer::default();
        body.text(&open.session);
        let mut answer = open.call(&item, "Item", "GetSecret", "o", &body)?;
        answer.align(8)?;
        let (_session, _parameters, secret) = (answer.text()?, answer.bytes()?, answer.bytes()?);
        String::from_utf8(secret).map(Some).map_err(|_| KeyringError::Nonsense)
    }

    fn delete(&self, name: &str) -> Result<()> {
        let mut open = Open::new()?;
        for item in open.find(name)? {
            let prompt = open.call(&item, "Item", "Delete", "", &Writer::default())?.text()?;
            open.prompt(&prompt)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs where `DIPTYCH_KEYRING` says that the session's keyring is one for tests: the test command's step `keyring`
    /// starts one.
    #[test]
    fn a_real_keyring_keeps_secrets() {
        if std::env::var_os("DIPTYCH_KEYRING").is_none() {
            return;
        }
        let (keyring, name) = (SecretService, format!("did:plc:test {}", uuid::Uuid::new_v4().simple()));
        assert_eq!(keyring.read(&name), Ok(None));
        let long = "ü".repeat(20_000);
        for secret in ["one", "another, in place of it", long.as_str(), ""] {
            keyring.write(&name, "A test of Diptych", secret).unwrap();
            assert_eq!(keyring.read(&name).unwrap().as_deref(), Some(secret));
        }
        assert_eq!(keyring.read(&format!("{name} of somebody else")), Ok(None));
        keyring.delete(&name).unwrap();
        assert_eq!(keyring.read(&name), Ok(None));
        keyring.delete(&name).unwrap();
    }
}
