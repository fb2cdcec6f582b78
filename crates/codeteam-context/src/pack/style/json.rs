//! The JSON format.

use std::borrow::Cow;

use serde_json::json;

use super::{FileBlock, PackEntry, PackFooter, PackHeader};

pub(super) const START: &str = "{\"made_by\":\"codeteam pack\"";

pub(super) fn header(head: &PackHeader<'_>) -> String {
    let tree = head.tree.map_or_else(String::new, |tree| {
        format!(",\"tree\":{}", json_string(tree))
    });
    let (name, about) = (json_string(head.name), json_string(&head.description()));
    format!("{START},\"name\":{name},\"about\":{about}{tree},\"files\":[")
}

pub(super) fn file_block<'t>(entry: &PackEntry<'t>) -> FileBlock<'t> {
    let compressed = if entry.compressed {
        ",\"compressed\":\"signatures\""
    } else {
        ""
    };
    FileBlock {
        open: format!(
            "\n{{\"path\":{}{compressed},\"content\":",
            json_string(entry.path)
        ),
        body: Cow::Owned(json_string(entry.text)),
        close: "}".to_owned(),
    }
}

pub(super) fn footer(end: &PackFooter<'_>) -> String {
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

fn json_string(text: &str) -> String {
    json!(text).to_string()
}
