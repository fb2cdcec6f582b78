//! Files for tests: those of a sample, and those that a test makes up.

use std::fs;
use std::path::Path;

use codeteam_context::language::Language;

/// The sample projects.
pub(crate) const PROJECTS: [&str; 6] = ["go", "java", "javascript", "python", "rust", "typescript"];

/// The source files of a sample project, with their texts.
pub(crate) fn sample(project: &str) -> Vec<(String, String)> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/samples")
        .join(project);
    let mut files = Vec::new();
    let mut folders = vec![top.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path
                .strip_prefix(&top)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            if Language::of(&name).is_some() {
                files.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    files.sort();
    files
}
