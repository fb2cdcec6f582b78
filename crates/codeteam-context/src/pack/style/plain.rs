//! Plain text.

use std::borrow::Cow;

use super::{FileBlock, PackEntry, PackFooter, PackHeader, line_end, lines, longest_run};

pub(super) const START: &str = "codeteam pack: ";

pub(super) fn head(head: &PackHeader<'_>) -> String {
    let mut out = format!(
        "{START}{}\n{} A file's content ends with a line of as many `=` as its first has.\n\n",
        head.name,
        head.about()
    );
    if let Some(tree) = head.tree {
        let bar = bar(tree);
        out.extend([&bar, " tree\n", tree, &bar, "\n\n"]);
    }
    out
}

pub(super) fn file<'t>(entry: &PackEntry<'t>) -> FileBlock<'t> {
    let bar = bar(entry.text);
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

pub(super) fn end(end: &PackFooter<'_>) -> String {
    let lines = lines(end);
    if lines.is_empty() {
        return String::new();
    }
    let bar = bar(&lines);
    format!("{bar} left out\n{lines}{bar}\n")
}

/// A bar that is not in a text.
fn bar(text: &str) -> String {
    "=".repeat(16.max(longest_run(text, b'=') + 1))
}
