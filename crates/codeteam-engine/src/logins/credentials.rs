//! Parses the content of a credential file: which part of it is lent, and which part of a copy is
//! taken back.
//!
//! Nothing in this module touches a file. Only the named tokens and their expiry time are ever
//! taken from a copy, so that a worker cannot plant anything else in the user's file.

use blake3::Hash;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::files::CredentialReadError;
use crate::api_keys::is_token;
use crate::worker_clis::{CredentialFormat, CredentialTime};

/// The content of a credential file. It has no `Debug`, so it cannot be printed.
pub(super) struct CredentialContent {
    facts: &'static CredentialFormat,
    value: Value,
    time: Timestamp,
    layout: JsonStyle,
}

/// The formatting of the file, so that it can be written the same way.
struct JsonStyle {
    is_indented: bool,
    ends_line: bool,
}

impl CredentialContent {
    /// Parses a credential file; `None` if it does not have every token. Tokens may be empty.
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

    /// Returns true if the tokens can be used to log in.
    pub(super) fn is_usable(&self) -> bool {
        self.tokens().all(is_token)
    }

    /// Returns when its token expires, if the file contains that rather than when it was created.
    pub(super) fn expires_at(&self) -> Option<Timestamp> {
        match self.facts.time {
            CredentialTime::Milliseconds(_) => Some(self.time),
            CredentialTime::Text(_) => None,
        }
    }

    /// Returns a hash that is equal for two files exactly if their tokens and times are equal.
    pub(super) fn fingerprint(&self) -> Hash {
        let mut hasher = blake3::Hasher::new();
        for token in self.tokens() {
            hasher.update(&(token.len() as u64).to_le_bytes());
            hasher.update(token.as_bytes());
        }
        hasher.update(&self.time.as_nanosecond().to_le_bytes());
        hasher.finalize()
    }

    /// Returns true if this login was renewed after the other one.
    pub(super) fn is_newer_than(&self, other: &CredentialContent) -> bool {
        self.time > other.time
    }

    /// Returns true if both logins belong to the same account, as far as the files say.
    pub(super) fn has_same_account(&self, other: &CredentialContent) -> bool {
        let account = |login: &CredentialContent| login.value.pointer(self.facts.account?).cloned();
        account(self) == account(other)
    }

    /// Returns the login alone, for a worker.
    pub(super) fn for_worker(&self) -> Vec<u8> {
        let member = |name: &&str| Some(((*name).to_owned(), self.value.get(name)?.clone()));
        let members: Map<String, Value> = self.facts.members.iter().filter_map(member).collect();
        self.layout.write(&Value::Object(members))
    }

    /// Returns this file with the tokens and the time of another, and everything else unchanged.
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

fn time(facts: &CredentialFormat, value: &Value) -> Option<Timestamp> {
    let value = value.pointer(facts.time.place())?;
    match facts.time {
        CredentialTime::Milliseconds(_) => Timestamp::from_millisecond(value.as_i64()?).ok(),
        CredentialTime::Text(_) => value.as_str()?.parse().ok(),
    }
}
