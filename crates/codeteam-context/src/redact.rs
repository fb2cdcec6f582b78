//! Secrets go, everything else stays.
//!
//! A [`Redactor`] looks for secrets by what they are (the formats of providers' keys, private keys),
//! by where they stand (`password = "…"`, an `Authorization` header, a URL) and by what they are
//! known to be (the keys of the user's own environment). Each becomes `[redacted: <rule>]`.
//!
//! - **A line is redacted by itself**; only private keys span lines. So a text redacted as a whole
//!   and the same text redacted line by line give the same.
//! - **JSON stays JSON.** No quote, brace or backslash outside a secret is touched, and no escape is
//!   cut in two.
//! - **Redacting twice is redacting once**: a line is redacted until nothing is found in it.
//! - **A line without a candidate costs one scan.** `anchors` has the literals one of which every
//!   secret has in it or before it, and `literals` finds them all at once; what stands there is
//!   looked at only where one is found.
//!
//! What is not promised is in `docs/security.md`.

mod anchors;
mod assignment;
mod credentials;
mod formats;
mod known_secrets;
mod line;
mod literals;
mod logins;
mod pem;
mod surroundings;
mod value;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use memchr::{memchr, memrchr};
use regex::Regex;

use crate::redact::anchors::SecretAnchor;
use crate::redact::literals::LiteralMatcher;
use crate::redact::pem::OpenPemBlock;

/// The number of secrets that were found, by rule.
pub type RedactionCounts = BTreeMap<&'static str, usize>;

/// Removes secrets from text. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Redactor {
    anchors: Arc<LiteralMatcher<SecretAnchor>>,
    allowed: Arc<[Regex]>,
    fingerprint: [u8; blake3::OUT_LEN],
}

/// A text without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactedText<'t> {
    /// The text; borrowed if nothing was found in it.
    pub text: Cow<'t, str>,
    /// The secrets that were found.
    pub hits: RedactionCounts,
}

/// Why an allowlist cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("`{pattern}` is not a regular expression that can be used")]
pub struct Error {
    /// The pattern.
    pub pattern: String,
    /// The problem with it.
    pub source: regex::Error,
}

impl Redactor {
    /// A redactor that knows these exact secrets: they are always redacted, also where they are
    /// JSON-escaped, percent-encoded or base64-encoded. Those shorter than 8 characters are ignored.
    pub fn new(known: impl IntoIterator<Item = String>) -> Self {
        let mut known: Vec<String> = known.into_iter().collect();
        known.sort();
        known.dedup();
        let mut hasher = blake3::Hasher::new();
        for secret in &known {
            hasher.update(blake3::hash(secret.as_bytes()).as_bytes());
        }
        Self {
            fingerprint: *hasher.finalize().as_bytes(),
            anchors: Arc::new(anchors::build_matcher(known)),
            allowed: Arc::default(),
        }
    }

    /// Lets stay what one of these regular expressions matches whole. What was known exactly is
    /// redacted all the same.
    pub fn allow<P: AsRef<str>>(
        self,
        patterns: impl IntoIterator<Item = P>,
    ) -> Result<Self, Error> {
        let mut allowed = self.allowed.to_vec();
        let mut fingerprint = self.fingerprint;
        for pattern in patterns {
            let pattern = pattern.as_ref();
            fingerprint = *blake3::keyed_hash(&fingerprint, pattern.as_bytes()).as_bytes();
            // By itself first: `a)|(b` is none, but would be one in parentheses.
            let whole =
                Regex::new(pattern).and_then(|_| Regex::new(&format!(r"\A(?:{pattern})\z")));
            allowed.push(whole.map_err(|source| Error {
                pattern: pattern.to_owned(),
                source,
            })?);
        }
        Ok(Self {
            allowed: allowed.into(),
            fingerprint,
            ..self
        })
    }

    /// A sum of what it knows and allows: two with the same, of the same codeteam, redact alike.
    pub(crate) fn fingerprint(&self) -> [u8; blake3::OUT_LEN] {
        self.fingerprint
    }

    /// Redacts a whole text.
    pub fn redact<'t>(&self, text: &'t str) -> RedactedText<'t> {
        self.redact_lines(&mut None, text)
    }

    /// Redacts a stream, line by line.
    pub fn line_redactor(&self) -> LineRedactor {
        LineRedactor {
            redactor: self.clone(),
            block: None,
        }
    }

    fn is_allowed(&self, secret: &str) -> bool {
        self.allowed.iter().any(|pattern| pattern.is_match(secret))
    }

    /// Goes from candidate to candidate and redacts the lines they are in.
    fn redact_lines<'t>(
        &self,
        block: &mut Option<OpenPemBlock>,
        text: &'t str,
    ) -> RedactedText<'t> {
        let mut hits = RedactionCounts::new();
        let mut out = String::new();
        let (mut at, mut copied) = (0, 0);
        while at < text.len() {
            let found = match block {
                Some(_) => at,
                None => match self.anchors.find(text, at) {
                    Some(found) => found.window,
                    None => break,
                },
            };
            let start = memrchr(b'\n', &text.as_bytes()[at..found]).map_or(at, |i| at + i + 1);
            let end = memchr(b'\n', &text.as_bytes()[found..]).map_or(text.len(), |i| found + i);
            let line = &text[start..end];
            if let Some(redacted) = self.redact_line(block, line, found - start, &mut hits) {
                out.push_str(&text[copied..start]);
                out.push_str(&redacted);
                copied = end;
            }
            at = end + 1;
        }
        let text = if copied == 0 && hits.is_empty() {
            Cow::Borrowed(text)
        } else {
            out.push_str(&text[copied..]);
            Cow::Owned(out)
        };
        RedactedText { text, hits }
    }
}

/// Counts the places where a text says that something was removed from it.
pub fn count_markers(text: &str) -> usize {
    text.lines().map(|line| line::markers(line).count()).sum()
}

/// Redacts a stream. Private keys, which span lines, go from their first line to their last; one
/// that never ends is given up soon after what follows no longer looks like one.
#[derive(Clone, Debug)]
pub struct LineRedactor {
    redactor: Redactor,
    block: Option<OpenPemBlock>,
}

impl LineRedactor {
    /// Returns true if the next line may belong to a private key that has begun.
    pub fn is_inside_key(&self) -> bool {
        self.block.is_some()
    }

    /// Redacts the next line, with or without its line end; several lines at once are as good.
    pub fn redact_line<'t>(&mut self, line: &'t str) -> RedactedText<'t> {
        self.redactor.redact_lines(&mut self.block, line)
    }
}
