//! The schemas with which editors check a project's files.

use codeteam_engine::config::{SchemaKind, json_schema};

/// Returns the schema files, by their path below `.codeteam`. Few people write a strategy; they get
/// its schema from `config schema --write`.
pub(super) fn schema_files() -> Vec<(String, String)> {
    let file = |of: SchemaKind| {
        let text = serde_json::to_string_pretty(&json_schema(of)).unwrap_or_default();
        (format!("schema/{}.json", of.as_str()), format!("{text}\n"))
    };
    let usual = SchemaKind::ALL
        .into_iter()
        .filter(|of| *of != SchemaKind::Strategy);
    usual.map(file).collect()
}
