//! A change has nothing in it that is left to be done.
//!
//! Code that says that it is not there yet is wrong, and so is a comment that promises it; other
//! notes (`TODO: faster`) are told. Abstract methods, protocols and overloads have no body on purpose.
//! Tests and documents may say what they like.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_context::language::Language;
use codeteam_context::outline::{Definition, DefinitionKind, Outline, outline};

use super::{HonestySubject, brief};
use crate::verify::CheckFindings;
use crate::verify::change::ChangedFile;
use crate::verify::source::is_source;

pub(super) fn stubs(subject: &HonestySubject<'_>) -> CheckFindings {
    let mut found = CheckFindings::default();
    for file in &subject.change.files {
        if !is_source(&file.path) || subject.tests.has(&file.path) {
            continue;
        }
        if subject.is_over(&file.path, &mut found) {
            break;
        }
        let Some(text) = file.after.text() else {
            continue;
        };
        let language = Language::of(&file.path);
        let parsed = language.map(|language| outline(text, language));
        let tree = parsed.as_ref().map(DefinitionTree::of);
        let lines: Vec<&str> = text.lines().collect();
        let gone: BTreeSet<&str> = file.removed.iter().map(|line| line.text.trim()).collect();
        for line in &file.added {
            if gone.contains(line.text.trim()) {
                // It has moved.
                continue;
            }
            let place = format!("{}:{}", file.path, line.number);
            let said = brief(&line.text);
            let is_abstract = || {
                let tree = tree.as_ref();
                tree.is_some_and(|tree| tree.is_abstract(line.number, &lines))
            };
            if is_missing(&line.text) && !is_abstract() {
                found
                    .wrong
                    .push(format!("{place}: not there yet: `{said}`"));
            } else if let Some(promise) = note(&line.text) {
                let told = format!("{place}: left to be done: `{said}`");
                if promise {
                    found.wrong.push(told);
                } else {
                    found.told.push(told);
                }
            }
        }
        if let (Some(parsed), Some(tree), Some(language)) = (&parsed, &tree, language) {
            let empty = empty(file, parsed, tree, language, &lines);
            found.wrong.extend(empty);
        }
    }
    if let Some(last) = found.wrong.last_mut() {
        last.push_str("\nfinish it, or answer `blocked` and say what is missing");
    }
    found
}

/// Whether code says of itself that it is not there.
fn is_missing(line: &str) -> bool {
    let text = line.trim();
    let lower = text.to_ascii_lowercase();
    let code = !["#", "//", "*", "\"", "'"]
        .iter()
        .any(|mark| text.starts_with(mark));
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let throws = says(&[
        "throw new error(",
        "panic(",
        "panic!(",
        "throw error(",
        "abort(",
    ]);
    let unsaid = says(&[
        "not implemented",
        "not yet implemented",
        "unimplemented",
        "todo",
    ]);
    code && (text.starts_with("todo!(")
        || text.contains(" todo!(")
        || text.contains("unimplemented!(")
        || text.starts_with("raise NotImplementedError")
        || text.contains(": raise NotImplementedError")
        || text.contains("new NotImplementedException(")
        || (lower.contains("unsupportedoperationexception(") && unsaid)
        || (throws && unsaid))
}

/// The definitions of a file, each with the one around it.
struct DefinitionTree<'a> {
    /// In the order of their lines; the one around comes before.
    all: Vec<(&'a Definition, Option<usize>)>,
    /// The types that name a word, two of them at most.
    named: BTreeMap<&'a str, Vec<&'a str>>,
}

impl<'a> DefinitionTree<'a> {
    fn of(outline: &'a Outline) -> Self {
        let mut definitions: Vec<&Definition> = outline.definitions.iter().collect();
        definitions.sort_by_key(|d| (d.line, std::cmp::Reverse(d.last_line)));
        let mut all: Vec<(&Definition, Option<usize>)> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let mut named: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (at, definition) in definitions.into_iter().enumerate() {
            while let Some(around) = open.last()
                && all[*around].0.last_line < definition.line
            {
                open.pop();
            }
            all.push((definition, open.last().copied()));
            open.push(at);
            if definition.kind != DefinitionKind::Type {
                continue;
            }
            let is_name = |c: char| c.is_alphanumeric() || c == '_';
            for word in definition.signature.split(|c| !is_name(c)) {
                let by = named.entry(word).or_default();
                if by.len() < 2 && !by.contains(&definition.name.as_str()) {
                    by.push(&definition.name);
                }
            }
        }
        Self { all, named }
    }

    /// The definitions that a line is in, from the inside.
    fn around(&self, line: u32) -> Vec<&'a Definition> {
        let end = self.all.partition_point(|(d, _)| d.line <= line);
        let mut next = end.checked_sub(1);
        let mut found = Vec::new();
        while let Some(at) = next {
            let (definition, around) = self.all[at];
            if definition.last_line >= line {
                found.push(definition);
            }
            next = around;
        }
        found
    }

    /// Whether a line is in something that has no body on purpose.
    fn is_abstract(&self, line: u32, lines: &[&str]) -> bool {
        let around = self.around(line);
        let function = around
            .iter()
            .find(|d| matches!(d.kind, DefinitionKind::Function | DefinitionKind::Method));
        let marked = function.is_some_and(|function| {
            let end = (function.line.saturating_sub(1) as usize).min(lines.len());
            let above = &lines[end.saturating_sub(4)..end];
            above
                .iter()
                .any(|line| line.contains("abstract") || line.contains("overload"))
        });
        let is_base = around.iter().any(|d| {
            let words = ["ABC", "Protocol", "Abstract", "Base", "Interface", "Mixin"];
            let says = words
                .iter()
                .any(|word| d.signature.contains(word) || d.name.contains(word));
            d.kind == DefinitionKind::Interface
                || (matches!(d.kind, DefinitionKind::Type | DefinitionKind::Impl) && says)
        });
        marked || is_base || self.others_extend(&around)
    }

    /// Whether a class of the same file builds on the one around.
    fn others_extend(&self, around: &[&Definition]) -> bool {
        let class = around.iter().rev().find(|d| d.kind == DefinitionKind::Type);
        class.is_some_and(|class| {
            let by = self.named.get(class.name.as_str());
            by.is_some_and(|by| by.iter().any(|name| *name != class.name))
        })
    }
}

/// Whether a comment leaves something to be done, and whether what it leaves is the work itself.
fn note(line: &str) -> Option<bool> {
    let begins = ["#", "//", "/*", "<!--", "--", "*"]
        .iter()
        .filter_map(|mark| line.find(mark))
        .min()?;
    let comment = &line[begins..];
    let mut words = comment.split(|c: char| !c.is_alphanumeric());
    words.find(|word| matches!(*word, "TODO" | "FIXME" | "XXX" | "HACK"))?;
    let rest: String = words.collect::<Vec<_>>().join(" ").to_lowercase();
    let promises = [
        "implement",
        "finish",
        "complete",
        "fill in",
        "fill this",
        "placeholder",
        "stub",
        "not done",
        "write this",
        "write the",
    ];
    Some(rest.trim().is_empty() || promises.iter().any(|word| rest.contains(word)))
}

/// New functions without anything in them.
fn empty(
    file: &ChangedFile,
    after: &Outline,
    tree: &DefinitionTree<'_>,
    language: Language,
    lines: &[&str],
) -> Vec<String> {
    let before = file.before.text().map(|text| outline(text, language));
    let known: BTreeSet<&str> = before
        .iter()
        .flat_map(Outline::functions)
        .map(|function| function.name.as_str())
        .collect();
    after
        .functions()
        .filter(|function| !known.contains(function.name.as_str()))
        .filter(|function| promises(&function.name) && has_nothing(function, language, lines))
        .filter(|function| !tree.is_abstract(function.line, lines))
        .map(|function| {
            format!(
                "{}:{}: `{}` has nothing in it",
                file.path, function.line, function.name
            )
        })
        .collect()
}

/// Whether a name says that something is done: others may well do nothing.
fn promises(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "get",
        "compute",
        "calc",
        "calculate",
        "parse",
        "read",
        "write",
        "load",
        "save",
        "validate",
        "verify",
        "create",
        "make",
        "build",
        "send",
        "fetch",
        "find",
        "convert",
        "render",
        "format",
        "process",
        "sort",
        "sum",
        "add",
        "remove",
        "delete",
        "update",
        "merge",
        "search",
        "count",
        "is",
        "has",
        "apply",
        "encode",
        "decode",
        "generate",
        "transform",
        "normalize",
        "resolve",
        "fib",
        "fibonacci",
        "average",
        "total",
    ];
    let plain = name.trim_start_matches('_');
    let end = plain
        .char_indices()
        .skip(1)
        .find(|(_, c)| *c == '_' || c.is_uppercase())
        .map_or(plain.len(), |(at, _)| at);
    let first = plain[..end].to_ascii_lowercase();
    !name.starts_with("__") && WORDS.contains(&first.as_str())
}

fn has_nothing(function: &Definition, language: Language, lines: &[&str]) -> bool {
    let span = function.line.saturating_sub(1) as usize..function.last_line as usize;
    let text = lines.get(span).unwrap_or_default().join("\n");
    if language == Language::Python {
        // A stub file has nothing but declarations.
        let Some((_, body)) = text.split_once(":\n").or_else(|| text.rsplit_once(": ")) else {
            return false;
        };
        let mut in_text = false;
        let mut says = body.lines().map(str::trim).filter(|line| {
            let quotes = line.matches("\"\"\"").count() + line.matches("'''").count();
            let is_said = in_text || quotes > 0 || line.is_empty() || line.starts_with('#');
            in_text ^= quotes % 2 == 1;
            !is_said
        });
        let first = says.next();
        let first = first.map(|line| line.split('#').next().unwrap_or_default().trim());
        return matches!(first, Some("pass" | "...")) && says.next().is_none();
    }
    let Some((_, body)) = text.split_once('{') else {
        return false;
    };
    let body = body.rsplit_once('}').map_or(body, |(body, _)| body);
    let mut code = body.lines().map(str::trim);
    code.all(|line| line.is_empty() || line.starts_with("//") || line.starts_with('*'))
}
