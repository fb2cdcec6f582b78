//! The literals one of which every secret has in it or before it.

use crate::redact::assignment::{self, SecretKind};
use crate::redact::formats;
use crate::redact::known_secrets::{self, SharedDigits};
use crate::redact::literals::{CaseSensitivity, LiteralMatcher};

/// The kind of secret that may be where a literal is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SecretAnchor {
    /// One of these formats begins.
    Formats(Vec<usize>),
    /// The colon of a Telegram bot's token.
    Bot,
    /// The name of something secret.
    Name(SecretKind),
    /// The authority of a URL follows.
    Url,
    /// The value of the header follows.
    Authorization,
    /// A bearer's token follows.
    Bearer,
    /// A private key begins.
    Pem,
    /// The password of a `.netrc` follows.
    Netrc,
    /// The port in a line of `.pgpass`.
    PgPass,
    /// A login in base64 follows.
    Auth,
    /// A call of `curl`.
    Curl,
    /// The middle of a Terraform token.
    Terraform,
    /// The end of a New Relic key.
    NewRelic,
    /// A secret that is known exactly.
    Known(SharedDigits),
}

/// All literals, those of the known secrets too.
pub(super) fn build_matcher(
    known: impl IntoIterator<Item = String>,
) -> LiteralMatcher<SecretAnchor> {
    let known = known_secrets::secret_forms(known)
        .into_iter()
        .map(|(form, shared)| (form, CaseSensitivity::Exact, SecretAnchor::Known(shared)));
    let own = built_in_literals().into_iter();
    LiteralMatcher::new(
        own.map(|(literal, anchor)| (literal.to_owned(), CaseSensitivity::Any, anchor))
            .chain(known),
    )
}

/// Returns the literals that every redactor searches for, in lower case.
fn built_in_literals() -> Vec<(&'static str, SecretAnchor)> {
    let mut literals = vec![
        ("-----begin ", SecretAnchor::Pem),
        ("://", SecretAnchor::Url),
        // As some write it in JSON, and in JSON inside JSON.
        (r":\/\/", SecretAnchor::Url),
        (r":\\/\\/", SecretAnchor::Url),
        (r":\\\\/\\\\/", SecretAnchor::Url),
        (":aa", SecretAnchor::Bot),
        ("authorization", SecretAnchor::Authorization),
        ("bearer", SecretAnchor::Bearer),
        ("password ", SecretAnchor::Netrc),
        ("password\t", SecretAnchor::Netrc),
        (":5432:", SecretAnchor::PgPass),
        (":5433:", SecretAnchor::PgPass),
        (":6432:", SecretAnchor::PgPass),
        (":*:", SecretAnchor::PgPass),
        ("\"auth", SecretAnchor::Auth),
        ("auth:", SecretAnchor::Auth),
        ("auth=", SecretAnchor::Auth),
        ("curl", SecretAnchor::Curl),
        (".atlasv1.", SecretAnchor::Terraform),
        ("nral", SecretAnchor::NewRelic),
    ];
    literals.extend(assignment::NAMES.map(|(literal, name)| (literal, SecretAnchor::Name(name))));
    for (which, start) in formats::format_starts() {
        match literals.iter_mut().find(|(literal, _)| *literal == start) {
            Some((_, SecretAnchor::Formats(formats))) => formats.push(which),
            _ => literals.push((start, SecretAnchor::Formats(vec![which]))),
        }
    }
    literals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_in_lower_case_and_long_enough() {
        for (literal, _) in built_in_literals() {
            assert_eq!(literal, literal.to_ascii_lowercase());
            assert!(literal.len() >= 3, "{literal}");
        }
    }
}
