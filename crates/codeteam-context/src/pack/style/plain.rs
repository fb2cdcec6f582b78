//! The plain text format.

use std::borrow::Cow;

use super::{FileBlock, PackEntry, PackFooter, PackHeader, line_end, list_left_out, longest_run};

pub(super) const START: &str = "codeteam pack: ";

pub(super) fn header(head: &PackHeader<'_>) -> String {
    let mut out = format!(
        "{START}{}\n{} A file's content ends with a line of as many `=` as its first has.\n\n",
        head.name,
        head.description()
    );
    if let Some(tree) = head.tree {
        let bar = unused_bar(tree);
        out.extend([&bar, " tree\n", tree, &bar, "\n\n"]);
    }
    out
}

pub(super) fn file_block<'t>(entry: &PackEntry<'t>) -> FileBlock<'t> {
    let bar = unused_bar(entry.text);
    let compressed = if entry.compressed {
        " (signatures only)"
    } else {
        ""
    };
    FileBlock {
        open: format!("{bar} file: {}{compressed}\n", entry.path),
        body: Cow::Borrowed(entry.text),
        close: format!("{}{bar}\n\n", line_end(entry.text)),
    }
}

pub(super) fn footer(end: &PackFooter<'_>) -> String {
    let lines = list_left_out(end);
    if lines.is_empty() {
        return String::new();
    }
    let bar = unused_bar(&lines);
    format!("{bar} left out\n{lines}{bar}\n")
}

/// Returns a bar of `=` that does not occur in a text.
fn unused_bar(text: &str) -> String {
    "=".repeat(16.max(longest_run(text, b'=') + 1))
}
