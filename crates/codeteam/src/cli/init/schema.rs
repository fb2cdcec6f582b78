//! The schemas that editors check a project's files with.

use codeteam_engine::config::{Schema, schema};

/// The schema files, by their path below `.codeteam`.
pub(super) fn files() -> Vec<(String, String)> {
    let file = |of: Schema| {
        let text = serde_json::to_string_pretty(&schema(of)).unwrap_or_default();
        (format!("schema/{}.json", of.as_str()), format!("{text}\n"))
    };
    Schema::ALL.into_iter().map(file).collect()
}
