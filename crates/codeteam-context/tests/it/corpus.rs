//! Texts that must be removed and texts that must stay, as files.
//!
//! In `corpus/true` a file's name begins with the rule that is expected, and `⟦…⟧` encloses the
//! secret. `⟂` is only there so that no scanner takes the made-up secrets for real ones.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use codeteam_context::redact::{RedactionCounts, Redactor};
use serde_json::Value;

/// The names and contents of a folder of the corpus.
fn samples(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus")
        .join(folder);
    let mut samples: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let text = fs::read_to_string(entry.path()).unwrap().replace('⟂', "");
            (entry.file_name().into_string().unwrap(), text)
        })
        .collect();
    samples.sort();
    assert!(samples.len() >= 60, "{}", samples.len());
    samples
}

/// A text with its secrets, the same redacted, and how many there are.
fn expected(text: &str, rule: &str) -> (String, String, usize) {
    let (mut whole, mut redacted, mut count) = (String::new(), String::new(), 0);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('⟦') {
        let (secret, after) = after.split_once('⟧').unwrap();
        whole.extend([before, secret]);
        redacted.extend([before, &format!("[redacted: {rule}]")]);
        count += 1;
        rest = after;
    }
    whole.push_str(rest);
    redacted.push_str(rest);
    (whole, redacted, count)
}

#[test]
fn secrets_go_and_nothing_else() {
    let redactor = Redactor::new([]);
    let mut wrong = String::new();
    for (name, text) in samples("true") {
        let rule = name.split('.').next().unwrap().replace('-', " ");
        let (whole, expected, count) = expected(&text, &rule);
        assert!(count > 0, "{name} has no secret");
        let redacted = redactor.redact(&whole);
        let hits: usize = redacted.hits.values().sum();
        if redacted.text != expected || redacted.hits.len() != 1 || hits != count {
            let _ = write!(wrong, "\n== {name}: {:?}\n{}", redacted.hits, redacted.text);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    let redactor = Redactor::new([]);
    let mut wrong = String::new();
    for (name, text) in samples("false") {
        let redacted = redactor.redact(&text);
        if redacted.text != text || redacted.hits != RedactionCounts::new() {
            let _ = write!(wrong, "\n== {name}: {:?}\n{}", redacted.hits, redacted.text);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn redacting_again_changes_nothing() {
    let redactor = Redactor::new([]);
    for (name, text) in samples("true") {
        let once = redactor.redact(&expected(&text, "").0).text.into_owned();
        let twice = redactor.redact(&once);
        assert_eq!(
            (twice.text.as_ref(), twice.hits.len()),
            (once.as_str(), 0),
            "{name}"
        );
    }
}

#[test]
fn lines_are_redacted_as_the_whole_is() {
    let redactor = Redactor::new([]);
    for (name, text) in samples("true").into_iter().chain(samples("false")) {
        let whole = expected(&text, "").0;
        let mut lines = redactor.line_redactor();
        let by_line: String = whole
            .split_inclusive('\n')
            .map(|line| lines.redact_line(line).text.into_owned())
            .collect();
        assert_eq!(by_line, redactor.redact(&whole).text, "{name}");
        // Line ends do not matter.
        let mut lines = redactor.line_redactor();
        let without: Vec<String> = whole
            .lines()
            .map(|line| lines.redact_line(line).text.into_owned())
            .collect();
        assert_eq!(without, by_line.lines().collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn secrets_are_found_inside_json_and_json_stays_json() {
    let redactor = Redactor::new([]);
    for (name, text) in samples("true") {
        let rule = name.split('.').next().unwrap().replace('-', " ");
        let (whole, expected, _) = expected(&text, &rule);
        // As a transcript has it: a line of JSON with the text in it, and once more inside.
        let inner = serde_json::json!({ "output": whole }).to_string();
        let outer = serde_json::json!({ "line": inner }).to_string();
        for (depth, json) in [(1, inner), (2, outer)] {
            let redacted = redactor.redact(&json);
            let mut value: Value = serde_json::from_str(&redacted.text)
                .unwrap_or_else(|error| panic!("{name}: {error}\n{}", redacted.text));
            if depth == 2 {
                value = serde_json::from_str(value["line"].as_str().unwrap()).unwrap();
            }
            let output = value["output"].as_str().unwrap();
            // A key that spans lines is here on one line, and goes as one.
            if rule != "private key" {
                assert_eq!(output, expected, "{name}, depth {depth}");
            }
            for secret in text.split('⟦').skip(1) {
                let secret = secret.split('⟧').next().unwrap();
                assert!(!output.contains(secret), "{name}, depth {depth}\n{output}");
            }
        }
        if Path::new(&name).extension() == Some("json".as_ref()) {
            let before: Value = serde_json::from_str(&whole).unwrap();
            let after: Value = serde_json::from_str(&redactor.redact(&whole).text).unwrap();
            assert_eq!(shape(&before), shape(&after), "{name}");
        }
    }
}

/// A value with nothing in its strings.
fn shape(value: &Value) -> Value {
    match value {
        Value::String(_) => Value::String(String::new()),
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::Object(items) => items.iter().map(|(k, v)| (k.clone(), shape(v))).collect(),
        other => other.clone(),
    }
}
