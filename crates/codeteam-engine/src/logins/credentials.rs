//! The content of a credential file: what is lent of it, and what of a copy comes back.
//!
//! Nothing here touches a file. Of a copy only the named tokens and their time are ever used, so
//! that a worker cannot plant anything else in the user's file.

use blake3::Hash;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::clis::{CredentialFormat, CredentialTime};
use super::files::CredentialReadError;

/// A credential file that was read. It cannot be printed.
pub(super) struct CredentialContent {
    facts: &'static CredentialFormat,
    value: Value,
    time: Timestamp,
    layout: JsonStyle,
}

/// How the file was written, so that it can be written the same way.
struct JsonStyle {
    is_indented: bool,
    ends_line: bool,
}

impl CredentialContent {
    /// Reads a credential file; `None` if it does not have every token. They may be empty.
    pub(super) fn read(
        facts: &'static CredentialFormat,
        bytes: &[u8],
    ) -> Result<Option<CredentialContent>, CredentialReadError> {
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|_| CredentialReadError::Kind("it is not JSON"))?;
        let is_text = |place: &&str| value.pointer(place).is_some_and(Value::is_string);
        let is_login = facts.tokens.iter().all(is_text);
        let time = time(facts, &value).filter(|_| is_login);
        Ok(time.map(|time| CredentialContent {
            facts,
            value,
            time,
            layout: JsonStyle {
                is_indented: bytes.trim_ascii_end().contains(&b'\n'),
                ends_line: bytes.ends_with(b"\n"),
            },
        }))
    }

    /// Whether somebody could log in with it.
    pub(super) fn is_usable(&self) -> bool {
        self.tokens().all(is_token)
    }

    /// Until when its token is good, if the file says that and not when it was made.
    pub(super) fn until(&self) -> Option<Timestamp> {
        match self.facts.time {
            CredentialTime::Milliseconds(_) => Some(self.time),
            CredentialTime::Text(_) => None,
        }
    }

    /// The same for two files exactly if their tokens and their times are.
    pub(super) fn fingerprint(&self) -> Hash {
        let mut hasher = blake3::Hasher::new();
        for token in self.tokens() {
            hasher.update(&(token.len() as u64).to_le_bytes());
            hasher.update(token.as_bytes());
        }
        hasher.update(&self.time.as_nanosecond().to_le_bytes());
        hasher.finalize()
    }

    pub(super) fn is_newer_than(&self, other: &CredentialContent) -> bool {
        self.time > other.time
    }

    pub(super) fn is_of_the_account_of(&self, other: &CredentialContent) -> bool {
        let account = |login: &CredentialContent| login.value.pointer(self.facts.account?).cloned();
        account(self) == account(other)
    }

    /// The login alone, for a worker.
    pub(super) fn lent(&self) -> Vec<u8> {
        let member = |name: &&str| Some(((*name).to_owned(), self.value.get(name)?.clone()));
        let members: Map<String, Value> = self.facts.members.iter().filter_map(member).collect();
        self.layout.write(&Value::Object(members))
    }

    /// This file with the tokens and the time of another, and everything else as it is.
    pub(super) fn renewed_from(&self, other: &CredentialContent) -> Vec<u8> {
        let mut value = self.value.clone();
        let places = self.facts.tokens.iter().copied();
        for place in places.chain([self.facts.time.place()]) {
            if let (Some(old), Some(new)) = (value.pointer_mut(place), other.value.pointer(place)) {
                *old = new.clone();
            }
        }
        self.layout.write(&value)
    }

    fn tokens(&self) -> impl Iterator<Item = &str> {
        let token = |place| self.value.pointer(place).and_then(Value::as_str);
        self.facts
            .tokens
            .iter()
            .filter_map(move |place| token(place))
    }
}

impl JsonStyle {
    fn write(&self, value: &Value) -> Vec<u8> {
        let mut text = if self.is_indented {
            format!("{value:#}")
        } else {
            value.to_string()
        };
        if self.ends_line {
            text.push('\n');
        }
        text.into_bytes()
    }
}

impl CredentialTime {
    fn place(&self) -> &'static str {
        match *self {
            CredentialTime::Milliseconds(place) | CredentialTime::Text(place) => place,
        }
    }
}

/// Whether this may be a token or a key: something that can stand in a header.
pub(super) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn time(facts: &CredentialFormat, value: &Value) -> Option<Timestamp> {
    let value = value.pointer(facts.time.place())?;
    match facts.time {
        CredentialTime::Milliseconds(_) => Timestamp::from_millisecond(value.as_i64()?).ok(),
        CredentialTime::Text(_) => value.as_str()?.parse().ok(),
    }
}
