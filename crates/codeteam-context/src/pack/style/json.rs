//! JSON.

use std::borrow::Cow;

use serde_json::json;

use super::{FileBlock, PackEntry, PackFooter, PackHeader};

pub(super) const START: &str = "{\"made_by\":\"codeteam pack\"";

pub(super) fn head(head: &PackHeader<'_>) -> String {
    let tree = head
        .tree
        .map_or_else(String::new, |tree| format!(",\"tree\":{}", string(tree)));
    let (name, about) = (string(head.name), string(&head.about()));
    format!("{START},\"name\":{name},\"about\":{about}{tree},\"files\":[")
}

pub(super) fn file<'t>(entry: &PackEntry<'t>) -> FileBlock<'t> {
    let compressed = if entry.compressed {
        ",\"compressed\":\"signatures\""
    } else {
        ""
    };
    FileBlock {
        open: format!(
            "\n{{\"path\":{}{compressed},\"content\":",
            string(entry.path)
        ),
        body: Cow::Owned(string(entry.text)),
        close: "}".to_owned(),
    }
}

pub(super) fn end(end: &PackFooter<'_>) -> String {
    let left_out: Vec<_> = end
        .left_out
        .iter()
        .map(|(path, why)| json!({"path": path, "why": why}))
        .collect();
    let more = if end.more > 0 {
        format!(",\"left_out_more\":{}", end.more)
    } else {
        String::new()
    };
    format!("\n],\"left_out\":{}{more}}}\n", json!(left_out))
}

fn string(text: &str) -> String {
    json!(text).to_string()
}
