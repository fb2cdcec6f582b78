//! Detects lines that keep a test from being run.

/// Marks that always skip a test. The second list has calls that skip it when they are reached.
const ALWAYS: &[&str] = &[
    "@pytest.mark.skip(",
    "@pytest.mark.xfail",
    "pytest.mark.skip,",
    "pytestmark = pytest.mark.skip",
    "@unittest.skip(",
    "@unittest.expectedfailure",
    "@skip(",
    "it.skip(",
    "test.skip(",
    "describe.skip(",
    "context.skip(",
    "it.only(",
    "test.only(",
    "describe.only(",
    "context.only(",
    "it.todo(",
    "test.todo(",
    "xit(",
    "xtest(",
    "xdescribe(",
    "fit(",
    "fdescribe(",
    "#[ignore",
    "#[cfg(any())]",
    "#![cfg(any())]",
    "#[cfg_attr(all(), ignore",
    "@disabled",
    "@ignore",
];
const REACHED: &[&str] = &[
    "pytest.skip(",
    "pytest.xfail(",
    "self.skiptest(",
    "raise unittest.skiptest",
    "raise skiptest",
    "t.skip(",
    "t.skipnow(",
    "t.skipf(",
    "this.skip(",
];

/// Returns true if a line skips a test unconditionally. `before` is the line above it.
pub(super) fn is_test_skip(line: &str, before: Option<&str>) -> bool {
    let text = line.trim().to_ascii_lowercase();
    if is_comment(&text) {
        return false;
    }
    let begins = |mark: &&str| text.starts_with(*mark) || text.contains(&format!(" {mark}"));
    if ALWAYS.iter().any(begins) || text == "@pytest.mark.skip" {
        return true;
    }
    let reached = REACHED.iter().any(|mark| text.contains(*mark));
    // If the skip is conditional, somebody has thought about it.
    let before = before.map(|line| line.trim().to_ascii_lowercase());
    let depends = |line: &str| {
        let words = [
            "if ", "if(", "elif ", "else", "except", "} catch", "catch", "unless ",
        ];
        words.iter().any(|word| line.starts_with(word)) || line.contains(" if ")
    };
    reached && !depends(&text) && !before.as_deref().is_some_and(depends)
}

fn is_comment(text: &str) -> bool {
    ["//", "/*", "*", "# "]
        .iter()
        .any(|mark| text.starts_with(mark))
}
