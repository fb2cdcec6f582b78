//! The literals one of which every secret has in it or before it.

use crate::redact::assignment::{self, Name};
use crate::redact::formats;
use crate::redact::known::{self, Shared};
use crate::redact::literals::{Case, Literals};

/// What may be where a literal is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// One of these formats begins.
    Formats(Vec<usize>),
    /// The colon of a Telegram bot's token.
    Bot,
    /// The name of something secret.
    Name(Name),
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
    Known(Shared),
}

/// All literals, those of the known secrets too.
pub(super) fn all(known: impl IntoIterator<Item = String>) -> Literals<Anchor> {
    let known = known::forms_of(known)
        .into_iter()
        .map(|(form, shared)| (form, Case::Exact, Anchor::Known(shared)));
    let own = own().into_iter();
    Literals::new(
        own.map(|(literal, anchor)| (literal.to_owned(), Case::Any, anchor))
            .chain(known),
    )
}

/// What every redactor looks for, in lower case.
fn own() -> Vec<(&'static str, Anchor)> {
    let mut literals = vec![
        ("-----begin ", Anchor::Pem),
        ("://", Anchor::Url),
        // As some write it in JSON, and in JSON inside JSON.
        (r":\/\/", Anchor::Url),
        (r":\\/\\/", Anchor::Url),
        (r":\\\\/\\\\/", Anchor::Url),
        (":aa", Anchor::Bot),
        ("authorization", Anchor::Authorization),
        ("bearer", Anchor::Bearer),
        ("password ", Anchor::Netrc),
        ("password\t", Anchor::Netrc),
        (":5432:", Anchor::PgPass),
        (":5433:", Anchor::PgPass),
        (":6432:", Anchor::PgPass),
        (":*:", Anchor::PgPass),
        ("\"auth", Anchor::Auth),
        ("auth:", Anchor::Auth),
        ("auth=", Anchor::Auth),
        ("curl", Anchor::Curl),
        (".atlasv1.", Anchor::Terraform),
        ("nral", Anchor::NewRelic),
    ];
    literals.extend(assignment::NAMES.map(|(literal, name)| (literal, Anchor::Name(name))));
    for (which, start) in formats::starts() {
        match literals.iter_mut().find(|(literal, _)| *literal == start) {
            Some((_, Anchor::Formats(formats))) => formats.push(which),
            _ => literals.push((start, Anchor::Formats(vec![which]))),
        }
    }
    literals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_in_lower_case_and_long_enough() {
        for (literal, _) in own() {
            assert_eq!(literal, literal.to_ascii_lowercase());
            assert!(literal.len() >= 3, "{literal}");
        }
    }
}
