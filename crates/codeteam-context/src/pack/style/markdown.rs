//! Markdown.

use std::borrow::Cow;

use super::{FileBlock, PackEntry, PackFooter, PackHeader, line_end, lines, longest_run};

pub(super) const START: &str = "<!-- codeteam pack -->";

pub(super) fn head(head: &PackHeader<'_>) -> String {
    let mut out = format!("{START}\n# {}\n\n{}\n", span(head.name), head.about());
    if let Some(tree) = head.tree {
        let fence = fence(tree);
        out.extend(["\n## Tree\n\n", &fence, "text\n", tree, &fence, "\n"]);
    }
    out.push_str("\n## Files\n");
    out
}

pub(super) fn file<'t>(entry: &PackEntry<'t>) -> FileBlock<'t> {
    let fence = fence(entry.text);
    let compressed = if entry.compressed {
        " (signatures only)"
    } else {
        ""
    };
    FileBlock {
        open: format!(
            "\n### {}{compressed}\n\n{fence}{}\n",
            span(entry.path),
            language(entry.path)
        ),
        body: Cow::Borrowed(entry.text),
        close: format!("{}{fence}\n", line_end(entry.text)),
    }
}

pub(super) fn end(end: &PackFooter<'_>) -> String {
    let lines = lines(end);
    if lines.is_empty() {
        return String::new();
    }
    let fence = fence(&lines);
    format!("\n## Left out\n\n{fence}text\n{lines}{fence}\n")
}

/// A fence that nothing in a text ends.
fn fence(text: &str) -> String {
    "`".repeat(3.max(longest_run(text, b'`') + 1))
}

/// A text as code in a line.
fn span(text: &str) -> String {
    match longest_run(text, b'`') {
        0 => format!("`{text}`"),
        run => {
            let ticks = "`".repeat(run + 1);
            format!("{ticks} {text} {ticks}")
        }
    }
}

/// What a fence says of a file: the end of its name, if that is a plain word.
fn language(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (_, end) = name.rsplit_once('.').unwrap_or(("", ""));
    let plain = end.len() <= 12 && end.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if plain { end } else { "" }
}
