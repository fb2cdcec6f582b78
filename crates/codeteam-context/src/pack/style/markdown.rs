//! The Markdown format.

use std::borrow::Cow;

use super::{FileBlock, PackEntry, PackFooter, PackHeader, line_end, list_left_out, longest_run};

pub(super) const START: &str = "<!-- codeteam pack -->";

pub(super) fn header(head: &PackHeader<'_>) -> String {
    let mut out = format!(
        "{START}\n# {}\n\n{}\n",
        code_span(head.name),
        head.description()
    );
    if let Some(tree) = head.tree {
        let fence = fence(tree);
        out.extend(["\n## Tree\n\n", &fence, "text\n", tree, &fence, "\n"]);
    }
    out.push_str("\n## Files\n");
    out
}

pub(super) fn file_block<'t>(entry: &PackEntry<'t>) -> FileBlock<'t> {
    let fence = fence(entry.text);
    let compressed = if entry.compressed {
        " (signatures only)"
    } else {
        ""
    };
    FileBlock {
        open: format!(
            "\n### {}{compressed}\n\n{fence}{}\n",
            code_span(entry.path),
            language(entry.path)
        ),
        body: Cow::Borrowed(entry.text),
        close: format!("{}{fence}\n", line_end(entry.text)),
    }
}

pub(super) fn footer(end: &PackFooter<'_>) -> String {
    let lines = list_left_out(end);
    if lines.is_empty() {
        return String::new();
    }
    let fence = fence(&lines);
    format!("\n## Left out\n\n{fence}text\n{lines}{fence}\n")
}

/// Returns a fence that nothing in a text can close.
fn fence(text: &str) -> String {
    "`".repeat(3.max(longest_run(text, b'`') + 1))
}

/// Formats a text as inline code.
fn code_span(text: &str) -> String {
    match longest_run(text, b'`') {
        0 => format!("`{text}`"),
        run => {
            let ticks = "`".repeat(run + 1);
            format!("{ticks} {text} {ticks}")
        }
    }
}

/// Returns a fence's language: the file extension, if it is a plain word.
fn language(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (_, end) = name.rsplit_once('.').unwrap_or(("", ""));
    let plain = end.len() <= 12 && end.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if plain { end } else { "" }
}
