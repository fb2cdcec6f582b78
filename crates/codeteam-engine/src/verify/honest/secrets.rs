//! A change has no secret in it: nothing that the redactor would take out.

use super::Subject;
use crate::verify::Found;

pub(super) fn secrets(subject: &Subject<'_>) -> Found {
    let mut found = Found::default();
    for file in &subject.change.files {
        let mut lines = subject.redactor.lines();
        // The line before, and whether it was one.
        let (mut last, mut goes_on) = (0, false);
        for line in &file.added {
            if line.number != last + 1 {
                // What is between was there before.
                lines = subject.redactor.lines();
                goes_on = false;
            }
            last = line.number;
            let is_secret = !lines.line(&line.text).hits.is_empty();
            let is_first = is_secret && !goes_on;
            goes_on = is_secret;
            let was_there = || file.removed.iter().any(|gone| gone.text == line.text);
            if is_first && !was_there() {
                // Never what it is: the report would be the next place to find it.
                found.wrong.push(format!(
                    "{}:{}: what looks like a secret; take it out and read it from the \
                     environment (or allow it by name in `redaction.allow`)",
                    file.path, line.number
                ));
            }
        }
    }
    found
}
