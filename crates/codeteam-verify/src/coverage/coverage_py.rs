//! Reads the JSON of coverage.py: `files`, each with `executed_lines` and `missing_lines`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::LineHits;

#[derive(Deserialize)]
struct CoveragePyReport {
    files: BTreeMap<String, FileLines>,
}

#[derive(Deserialize)]
struct FileLines {
    #[serde(default)]
    executed_lines: Vec<u32>,
    #[serde(default)]
    missing_lines: Vec<u32>,
}

pub(super) fn read(text: &str, hits: &mut LineHits<'_>) {
    let Ok(report) = serde_json::from_str::<CoveragePyReport>(text) else {
        return;
    };
    for (path, lines) in &report.files {
        let Some(file) = hits.find(path) else {
            continue;
        };
        for line in &lines.executed_lines {
            hits.record(file, *line, true);
        }
        for line in &lines.missing_lines {
            hits.record(file, *line, false);
        }
    }
}
