//! The names of functions: those of a program, and those that ran.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use super::Outcome;

/// A name stands for all functions of that name if at least this part of their code ran.
const MOST: f64 = 0.75;

/// The functions of a program: by symbol, how many bytes each has.
pub(crate) struct Program(BTreeMap<String, u64>);

impl Program {
    pub(crate) fn read(path: &Path) -> Outcome<Self> {
        let listed = Command::new("nm")
            .args(["--defined-only", "--format=posix"])
            .arg(path)
            .output()?;
        let listed = String::from_utf8(listed.stdout)?;
        let functions = listed.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            let (symbol, kind) = (words.next()?, words.next()?);
            let bytes = words.nth(1).and_then(|b| u64::from_str_radix(b, 16).ok());
            matches!(kind, "t" | "T" | "w" | "W").then_some((symbol.to_owned(), bytes?))
        });
        Ok(Self(functions.collect()))
    }

    /// The lines of the file, for what ran in each part and altogether.
    pub(crate) fn order(
        &self,
        parts: &[(&str, BTreeSet<String>)],
        ran: &BTreeSet<String>,
    ) -> String {
        let mut bytes: BTreeMap<Cow<'_, str>, (u64, u64)> = BTreeMap::new();
        for (symbol, size) in &self.0 {
            let (name, _) = split(symbol);
            let (of_all, of_ran) = bytes.entry(name).or_default();
            *of_all += size;
            if ran.contains(symbol) {
                *of_ran += size;
            }
        }
        let mut whole = BTreeSet::new();
        let mut text = String::new();
        for (part, symbols) in parts {
            let _ = write!(text, "\n# {part}\n");
            let mut lines: BTreeMap<Cow<'_, str>, Vec<&str>> = BTreeMap::new();
            for symbol in symbols.iter().filter(|symbol| self.0.contains_key(*symbol)) {
                let (name, hash) = split(symbol);
                let (of_all, of_ran) = bytes[&name];
                #[expect(clippy::cast_precision_loss, reason = "sizes of functions")]
                let is_whole = of_ran as f64 >= MOST * of_all as f64;
                if !is_whole {
                    lines.entry(name).or_default().extend(hash);
                } else if whole.insert(name.clone()) {
                    lines.entry(name).or_default();
                }
            }
            for (name, hashes) in lines {
                let _ = write!(text, "{name}");
                for hash in hashes {
                    let _ = write!(text, " {hash}");
                }
                text.push('\n');
            }
        }
        text
    }
}

/// A symbol's name and the hash that tells it from others of that name, if it has one.
fn split(symbol: &str) -> (Cow<'_, str>, Option<&str>) {
    if symbol.starts_with("_R") {
        return (without_crates(symbol).into(), None);
    }
    let hashed = symbol.starts_with("_ZN").then(|| symbol.rsplit_once("17h"));
    match hashed.flatten() {
        Some((name, rest)) => (name.into(), rest.get(..16)),
        None => (symbol.into(), None),
    }
}

/// A symbol of the newer kind, which has a hash for each crate it names, with stars for them.
fn without_crates(symbol: &str) -> String {
    let mut pieces = symbol.split("Cs");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        text.push_str("Cs");
        match piece.split_once('_') {
            Some((hash, rest)) if hash.chars().all(|c| c.is_ascii_alphanumeric()) => {
                text.push_str("*_");
                text.push_str(rest);
            }
            _ => text.push_str(piece),
        }
    }
    text
}

/// The functions that were recorded as run.
pub(crate) fn recorded(text: &str) -> impl Iterator<Item = String> {
    let named = text.lines().filter_map(|line| line.strip_prefix("fn="));
    named.map(|name| match name.rsplit_once('\'') {
        // The second and further levels of what calls itself.
        Some((name, level)) if level.parse::<u32>().is_ok() => name.to_owned(),
        _ => name.to_owned(),
    })
}
