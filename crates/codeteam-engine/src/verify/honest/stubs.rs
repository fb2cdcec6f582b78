//! A change has nothing in it that is left to be done.
//!
//! Code that says that it is not there yet is wrong, and so is a comment that promises it; other
//! notes (`TODO: faster`) are told. Abstract methods, protocols and overloads have no body on purpose.
//! Tests and documents may say what they like.

use codeteam_context::language::Language;
use codeteam_context::outline::{Definition, Kind, Outline, outline};

use super::{Subject, brief};
use crate::verify::Found;
use crate::verify::change::{Changed, Line};
use crate::verify::source::is_source;

pub(super) fn stubs(subject: &Subject<'_>) -> Found {
    let mut found = Found::default();
    for file in &subject.change.files {
        if !is_source(&file.path) || subject.tests.has(&file.path) {
            continue;
        }
        let Some(text) = file.after.text() else {
            continue;
        };
        let language = Language::of(&file.path);
        let parsed = language.map(|language| outline(text, language));
        let lines: Vec<&str> = text.lines().collect();
        for line in &file.added {
            let moved = file
                .removed
                .iter()
                .any(|gone| gone.text.trim() == line.text.trim());
            if moved {
                continue;
            }
            let place = format!("{}:{}", file.path, line.number);
            let said = brief(&line.text);
            if is_missing(&line.text)
                && !parsed
                    .as_ref()
                    .is_some_and(|p| is_abstract(p, line, &lines))
            {
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
        if let (Some(parsed), Some(language)) = (&parsed, language) {
            found.wrong.extend(empty(file, parsed, language, &lines));
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

/// Whether a line is in something that has no body on purpose.
fn is_abstract(outline: &Outline, line: &Line, lines: &[&str]) -> bool {
    let inside = |d: &&Definition| d.line <= line.number && line.number <= d.last_line;
    let around: Vec<&Definition> = outline.definitions.iter().filter(inside).collect();
    let function = around
        .iter()
        .rev()
        .find(|d| matches!(d.kind, Kind::Function | Kind::Method));
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
        d.kind == Kind::Interface || (matches!(d.kind, Kind::Type | Kind::Impl) && says)
    });
    marked || is_base || others_extend(&around, outline)
}

/// Whether a class of the same file builds on the one around.
fn others_extend(around: &[&Definition], outline: &Outline) -> bool {
    let Some(class) = around.iter().find(|d| d.kind == Kind::Type) else {
        return false;
    };
    let extends = |d: &Definition| {
        d.kind == Kind::Type && d.name != class.name && d.signature.contains(class.name.as_str())
    };
    outline.definitions.iter().any(extends)
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
fn empty(file: &Changed, after: &Outline, language: Language, lines: &[&str]) -> Vec<String> {
    let before = file.before.text().map(|text| outline(text, language));
    let known: Vec<&str> = before
        .iter()
        .flat_map(Outline::functions)
        .map(|function| function.name.as_str())
        .collect();
    after
        .functions()
        .filter(|function| !known.contains(&function.name.as_str()))
        .filter(|function| promises(&function.name) && has_nothing(function, language, lines))
        .filter(|function| {
            let first = Line {
                number: function.line,
                text: String::new(),
            };
            !is_abstract(after, &first, lines)
        })
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
