//! Rule: a change leaves nothing unfinished.
//!
//! Code that says it is not implemented fails the rule, and so does a comment that promises an
//! implementation; other notes (`TODO: faster`) are only reported. Abstract methods, protocols and
//! overloads have no body on purpose. Tests and documents may say what they like.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_context::language::Language;
use codeteam_context::outline::{Definition, DefinitionKind, Outline, outline};

use super::{HonestySubject, shorten_line};
use crate::CheckFindings;
use crate::change::ChangedFile;
use crate::source::is_source;

pub(super) fn check_stubs(subject: &HonestySubject<'_>) -> CheckFindings {
    let mut found = CheckFindings::default();
    for file in &subject.change.files {
        if !is_source(&file.path) || subject.tests.is_test(&file.path) {
            continue;
        }
        if subject.is_out_of_time(&file.path, &mut found) {
            break;
        }
        let Some(text) = file.after.text() else {
            continue;
        };
        let language = Language::from_path(&file.path);
        let parsed = language.map(|language| outline(text, language));
        let tree = parsed.as_ref().map(DefinitionTree::from_outline);
        let lines: Vec<&str> = text.lines().collect();
        let gone: BTreeSet<&str> = file.removed.iter().map(|line| line.text.trim()).collect();
        for line in &file.added {
            if gone.contains(line.text.trim()) {
                // The line was moved, not added.
                continue;
            }
            let place = format!("{}:{}", file.path, line.number);
            let said = shorten_line(&line.text);
            let is_abstract = || {
                let tree = tree.as_ref();
                tree.is_some_and(|tree| tree.is_abstract(line.number, &lines))
            };
            if says_unimplemented(&line.text) && !is_abstract() {
                found
                    .failures
                    .push(format!("{place}: not there yet: `{said}`"));
            } else if let Some(promise) = todo_comment(&line.text) {
                let told = format!("{place}: left to be done: `{said}`");
                if promise {
                    found.failures.push(told);
                } else {
                    found.notes.push(told);
                }
            }
        }
        if let (Some(parsed), Some(tree), Some(language)) = (&parsed, &tree, language) {
            let empty = empty_functions(file, parsed, tree, language, &lines);
            found.failures.extend(empty);
        }
    }
    if let Some(last) = found.failures.last_mut() {
        last.push_str("\nfinish it, or answer `blocked` and say what is missing");
    }
    found
}

/// Returns true if code says that it is not implemented.
fn says_unimplemented(line: &str) -> bool {
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

/// The definitions of a file, each with the one that encloses it.
struct DefinitionTree<'a> {
    /// The definitions in the order of their lines; an enclosing one comes before its contents.
    all: Vec<(&'a Definition, Option<usize>)>,
    /// For each word, the types that mention it, at most two.
    named: BTreeMap<&'a str, Vec<&'a str>>,
}

impl<'a> DefinitionTree<'a> {
    fn from_outline(outline: &'a Outline) -> Self {
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

    /// Returns the definitions that enclose a line, innermost first.
    fn enclosing_definitions(&self, line: u32) -> Vec<&'a Definition> {
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

    /// Returns true if a line belongs to something that has no body on purpose.
    fn is_abstract(&self, line: u32, lines: &[&str]) -> bool {
        let around = self.enclosing_definitions(line);
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
        // `"""Renders something; subclasses say what."""`
        let says_so = around.iter().any(|d| {
            let is_class = matches!(d.kind, DefinitionKind::Type | DefinitionKind::Impl);
            let begin = (d.line.saturating_sub(1) as usize).min(lines.len());
            let end = (line as usize).clamp(begin, lines.len());
            let mut above = lines[begin..end].iter();
            is_class && above.any(|line| line.contains("ubclass"))
        });
        marked || is_base || says_so || self.others_extend(&around)
    }

    /// Returns true if another class of the same file builds on the enclosing one.
    fn others_extend(&self, around: &[&Definition]) -> bool {
        let class = around.iter().rev().find(|d| d.kind == DefinitionKind::Type);
        class.is_some_and(|class| {
            let by = self.named.get(class.name.as_str());
            by.is_some_and(|by| by.iter().any(|name| *name != class.name))
        })
    }
}

/// Returns `None` if the comment leaves nothing to do, and otherwise whether it postpones the work
/// itself.
fn todo_comment(line: &str) -> Option<bool> {
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

/// Finds new functions with an empty body.
fn empty_functions(
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
        .filter(|function| {
            promises_work(&function.name) && has_empty_body(function, language, lines)
        })
        .filter(|function| !tree.is_abstract(function.line, lines))
        .map(|function| {
            format!(
                "{}:{}: `{}` has nothing in it",
                file.path, function.line, function.name
            )
        })
        .collect()
}

/// Returns true if a name promises that something is done. Functions with other names may well do
/// nothing.
fn promises_work(name: &str) -> bool {
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

fn has_empty_body(function: &Definition, language: Language, lines: &[&str]) -> bool {
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
