//! No role and no workflow is known by name, neither to core nor to what compiles workflows.

use std::path::{Path, PathBuf};

use codeteam_core::role::Contract;

/// Words that name a role or a workflow wherever they occur in a literal.
const WORDS: [&str; 9] = [
    "coder",
    "reviewer",
    "architect",
    "tester",
    "committer",
    "verifier",
    "qa",
    "adversarial",
    "supervisor",
];

/// Words that name a workflow or a role only if they are all of a literal.
const NAMES: [&str; 10] = [
    "codeteam",
    "strict",
    "solo",
    "team",
    "standard",
    "mvp",
    "enterprise",
    "open_source",
    "security_critical",
    "executor",
];

#[test]
fn no_role_or_workflow_is_named_in_a_literal() {
    let mut files = Vec::new();
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    collect(&own.join("src"), &mut files);
    collect(&own.join("../codeteam-workflow/src"), &mut files);
    assert!(files.len() > 30, "{files:?}");
    let mut found = Vec::new();
    for file in files {
        for literal in literals(&source(&file)) {
            let words: Vec<String> = literal
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .map(str::to_lowercase)
                .collect();
            let named = WORDS.iter().any(|w| words.iter().any(|word| word == w));
            // Two contracts are called what workflows are; where they get their words, and only there.
            let contract = Contract::ALL.iter().any(|c| c.as_str() == literal);
            if contract && file.ends_with("src/role.rs") {
                continue;
            }
            if named || NAMES.contains(&literal.as_str()) {
                found.push(format!("{}: {literal:?}", file.display()));
            }
        }
    }
    assert_eq!(found, [] as [&str; 0]);
}

#[test]
fn literals_are_found_and_comments_are_not() {
    let source = r##"let a = "one"; // "two"
        let c = '"'; /* "three" */ let b = r#"fo"ur"#; let d = "fi\"ve"; let l: &'static str;"##;
    assert_eq!(literals(source), ["one", "fo\"ur", "fi\\\"ve"]);
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs")
            && path.file_name().is_some_and(|name| name != "tests.rs")
        {
            files.push(path);
        }
    }
    files.sort();
}

/// A file without its tests, which stand at its end.
#[expect(
    clippy::disallowed_methods,
    reason = "a test may read the source it is about"
)]
fn source(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let end = text.find("#[cfg(test)]").unwrap_or(text.len());
    text[..end].to_owned()
}

/// The string literals of a Rust source, without those in comments.
fn literals(source: &str) -> Vec<String> {
    let text: Vec<char> = source.chars().collect();
    let at = |i: usize| text.get(i).copied().unwrap_or('\0');
    let mut found = Vec::new();
    let mut i = 0;
    while i < text.len() {
        match (at(i), at(i + 1)) {
            ('/', '/') => {
                while i < text.len() && at(i) != '\n' {
                    i += 1;
                }
            }
            ('/', '*') => {
                i += 2;
                while i < text.len() && (at(i), at(i + 1)) != ('*', '/') {
                    i += 1;
                }
            }
            ('\'', '\\') => i += 3,
            ('\'', _) if at(i + 2) == '\'' => i += 2,
            ('r', '"' | '#') if !at(i.wrapping_sub(1)).is_alphanumeric() => {
                let hashes = text[i + 1..].iter().take_while(|c| **c == '#').count();
                let start = i + 2 + hashes;
                let close: Vec<char> = std::iter::once('"').chain(vec!['#'; hashes]).collect();
                if at(start - 1) == '"' {
                    let rest = &text[start.min(text.len())..];
                    let length = rest.windows(close.len()).position(|w| w == close);
                    let length = length.unwrap_or(rest.len());
                    found.push(rest[..length].iter().collect());
                    i = start + length + hashes;
                }
            }
            ('"', _) => {
                let start = i + 1;
                i = start;
                while i < text.len() && at(i) != '"' {
                    i += if at(i) == '\\' { 2 } else { 1 };
                }
                found.push(text[start..i.min(text.len())].iter().collect());
            }
            _ => {}
        }
        i += 1;
    }
    found
}
