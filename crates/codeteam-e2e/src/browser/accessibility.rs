//! What keeps people out of a page, by the rules of axe-core, which `./web-tools` installs.

use std::fmt;
use std::path::Path;

use serde_json::{Value, json};

use super::session::{BrowserError, DriverSession};

/// A rule that a page breaks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AccessibilityViolation {
    /// axe's name of the rule, such as `image-alt`.
    pub rule: String,
    /// `minor`, `moderate`, `serious` or `critical`.
    pub impact: String,
    /// The rule in words.
    pub help: String,
    /// The elements: where they are, and what has to change.
    pub elements: Vec<String>,
}

impl fmt::Display for AccessibilityViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.rule, self.impact, self.help)?;
        for element in &self.elements {
            write!(f, "\n  {}", element.replace('\n', "\n  "))?;
        }
        Ok(())
    }
}

/// Asks axe about the page that is shown.
pub(super) fn find_violations(
    session: &DriverSession,
) -> Result<Vec<AccessibilityViolation>, BrowserError> {
    let is_there = session.run_script("return typeof axe === 'object'", &[])?;
    if is_there != json!(true) {
        session.run_script(&axe_source()?, &[])?;
    }
    let script = "const done = arguments[arguments.length - 1];
        axe.run(document, {resultTypes: ['violations']}).then(
            (results) => done({violations: results.violations}),
            (error) => done({failed: String(error)}));";
    let found = session.run_async_script(script, &[])?;
    let Some(violations) = found["violations"].as_array() else {
        return Err(BrowserError::new(format!("axe failed: {found}")));
    };
    Ok(violations.iter().map(read_violation).collect())
}

fn read_violation(found: &Value) -> AccessibilityViolation {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let element = |node: &Value| {
        let (html, wrong) = (text(&node["html"]), text(&node["failureSummary"]));
        format!("{} {html}\n{wrong}", node["target"])
    };
    let nodes = found["nodes"].as_array().cloned().unwrap_or_default();
    AccessibilityViolation {
        rule: text(&found["id"]),
        impact: text(&found["impact"]),
        help: text(&found["help"]),
        elements: nodes.iter().map(element).collect(),
    }
}

fn axe_source() -> Result<String, BrowserError> {
    let axe = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../target/web/node_modules/axe-core/axe.min.js");
    std::fs::read_to_string(&axe).map_err(|error| {
        BrowserError::new(format!(
            "`{}` could not be read: {error}; `./web-tools` installs it",
            axe.display()
        ))
    })
}
