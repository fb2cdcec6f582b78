//! The schemas that editors check a project's files with.

use codeteam_engine::config::{SchemaKind, schema};

/// The schema files, by their path below `.codeteam`. Few write a strategy; those get its schema by
/// `config schema --write`.
pub(super) fn files() -> Vec<(String, String)> {
    let file = |of: SchemaKind| {
        let text = serde_json::to_string_pretty(&schema(of)).unwrap_or_default();
        (format!("schema/{}.json", of.as_str()), format!("{text}\n"))
    };
    let usual = SchemaKind::ALL
        .into_iter()
        .filter(|of| *of != SchemaKind::Strategy);
    usual.map(file).collect()
}
