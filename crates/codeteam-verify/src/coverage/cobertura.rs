//! Reads Cobertura XML: a `class` has the name of its file, relative to one of the `source` folders,
//! and contains lines. Only these tags are looked at.

use super::{LineHits, lcov};

/// The largest number of source folders.
const SOURCES: usize = 50;

pub(super) fn read(text: &str, hits: &mut LineHits<'_>) {
    if !text.contains("<coverage") {
        return;
    }
    let mut sources: Vec<&str> = Vec::new();
    let mut file = None;
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').unwrap_or((after, ""));
        rest = after;
        let word = tag.split([' ', '\n', '\t', '/']).next().unwrap_or_default();
        match word {
            "source" if sources.len() < SOURCES => {
                sources.push(rest.split('<').next().unwrap_or_default().trim());
            }
            "class" => {
                file = attribute(tag, "filename").and_then(|name| find(hits, &sources, name));
            }
            "line" => {
                let number = attribute(tag, "number").and_then(|number| number.parse().ok());
                let count = attribute(tag, "hits");
                if let (Some(file), Some(number), Some(count)) = (file, number, count) {
                    hits.record(file, number, lcov::is_run(count));
                }
            }
            _ if tag.starts_with("/class") && !tag.starts_with("/classes") => file = None,
            _ => {}
        }
    }
}

fn find(hits: &mut LineHits<'_>, sources: &[&str], name: &str) -> Option<usize> {
    let mut below = sources.iter().filter(|source| !source.is_empty());
    let found = below.find_map(|source| hits.find_below(source, name));
    found.or_else(|| hits.find(name))
}

/// Returns the value of an attribute. Names of files with `&` or quotes in them are not found.
fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let mut parts = tag.match_indices(name);
    let (at, _) = parts.find(|(at, _)| {
        tag[..*at].ends_with([' ', '\n', '\t']) && tag[at + name.len()..].starts_with("=\"")
    })?;
    tag[at + name.len() + 2..].split('"').next()
}
