//! The XML format.

use std::borrow::Cow;

use super::{FileBlock, PackEntry, PackFooter, PackHeader, list_left_out};

pub(super) const START: &str = "<pack by=\"codeteam\"";

pub(super) fn header(head: &PackHeader<'_>) -> String {
    let tree = head.tree.map_or_else(String::new, |tree| {
        format!("<tree>\n{}</tree>\n", escape_xml(tree))
    });
    let (name, about) = (escape_xml(head.name), head.description());
    format!(
        "{START} name=\"{name}\">\n<about>{}</about>\n{tree}<files>\n",
        escape_xml(&about)
    )
}

pub(super) fn file_block<'t>(entry: &PackEntry<'t>) -> FileBlock<'t> {
    let path = escape_xml(entry.path);
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

pub(super) fn footer(end: &PackFooter<'_>) -> String {
    let lines = list_left_out(end);
    if lines.is_empty() {
        return "</files>\n</pack>\n".to_owned();
    }
    format!(
        "</files>\n<left_out>\n{}</left_out>\n</pack>\n",
        escape_xml(&lines)
    )
}

/// Escapes a text so that it neither ends a CDATA section nor contains invalid XML characters.
fn cdata(text: &str) -> Cow<'_, str> {
    let strange = may_have_invalid_char(text);
    if !strange && memchr::memmem::find(text.as_bytes(), b"]]>").is_none() {
        return Cow::Borrowed(text);
    }
    let text = text.replace("]]>", "]]]]><![CDATA[>");
    Cow::Owned(if strange {
        text.replace(is_invalid_char, "\u{fffd}")
    } else {
        text
    })
}

/// Returns true if there may be an invalid XML character. Most texts need only this quick check.
fn may_have_invalid_char(text: &str) -> bool {
    let control = text.bytes().fold(false, |found, byte| {
        found | ((byte < 0x20) & !matches!(byte, b'\t' | b'\n' | b'\r'))
    });
    control || memchr::memmem::find(text.as_bytes(), b"\xef\xbf").is_some()
}

fn is_invalid_char(c: char) -> bool {
    (c < ' ' && !matches!(c, '\t' | '\n' | '\r')) || matches!(c, '\u{fffe}' | '\u{ffff}')
}

fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if is_invalid_char(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
