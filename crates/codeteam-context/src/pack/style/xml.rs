//! XML.

use std::borrow::Cow;

use super::{FileBlock, PackEntry, PackFooter, PackHeader, lines};

pub(super) const START: &str = "<pack by=\"codeteam\"";

pub(super) fn head(head: &PackHeader<'_>) -> String {
    let tree = head.tree.map_or_else(String::new, |tree| {
        format!("<tree>\n{}</tree>\n", escaped(tree))
    });
    let (name, about) = (escaped(head.name), head.about());
    format!(
        "{START} name=\"{name}\">\n<about>{}</about>\n{tree}<files>\n",
        escaped(&about)
    )
}

pub(super) fn file<'t>(entry: &PackEntry<'t>) -> FileBlock<'t> {
    let path = escaped(entry.path);
    let compressed = if entry.compressed {
        " compressed=\"signatures\""
    } else {
        ""
    };
    FileBlock {
        open: format!("<file path=\"{path}\"{compressed}><![CDATA[\n"),
        body: cdata(entry.text),
        close: "]]></file>\n".to_owned(),
    }
}

pub(super) fn end(end: &PackFooter<'_>) -> String {
    let lines = lines(end);
    if lines.is_empty() {
        return "</files>\n</pack>\n".to_owned();
    }
    format!(
        "</files>\n<left_out>\n{}</left_out>\n</pack>\n",
        escaped(&lines)
    )
}

/// A text that ends no CDATA section and has no character that XML knows not.
fn cdata(text: &str) -> Cow<'_, str> {
    let strange = strange(text);
    if !strange && memchr::memmem::find(text.as_bytes(), b"]]>").is_none() {
        return Cow::Borrowed(text);
    }
    let text = text.replace("]]>", "]]]]><![CDATA[>");
    Cow::Owned(if strange {
        text.replace(unknown, "\u{fffd}")
    } else {
        text
    })
}

/// Whether there may be a character that XML does not know. Most texts need only this look.
fn strange(text: &str) -> bool {
    let control = text.bytes().fold(false, |found, byte| {
        found | ((byte < 0x20) & !matches!(byte, b'\t' | b'\n' | b'\r'))
    });
    control || memchr::memmem::find(text.as_bytes(), b"\xef\xbf").is_some()
}

fn unknown(c: char) -> bool {
    (c < ' ' && !matches!(c, '\t' | '\n' | '\r')) || matches!(c, '\u{fffe}' | '\u{ffff}')
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if unknown(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
