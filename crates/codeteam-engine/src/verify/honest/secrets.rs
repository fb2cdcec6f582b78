//! A change has no secret in it: nothing that the redactor would take out. What git takes for bytes is
//! looked at as well, as far as it can be read; what is too long is told.

use std::collections::BTreeSet;

use super::{HonestySubject, names};
use crate::verify::CheckFindings;
use crate::verify::change::FileVersion;

pub(super) fn secrets(subject: &HonestySubject<'_>) -> CheckFindings {
    let mut found = CheckFindings::default();
    let mut long = Vec::new();
    for file in &subject.change.files {
        if subject.is_over(&file.path, &mut found) {
            break;
        }
        if file.after == FileVersion::Long {
            long.push(file.path.clone());
        }
        let is_text = !matches!(file.after, FileVersion::Bytes(_));
        let gone: BTreeSet<&str> = file.removed.iter().map(|line| line.text.as_str()).collect();
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
            // What is no letter ends a word.
            let plain = (!is_text).then(|| line.text.replace(char::REPLACEMENT_CHARACTER, " "));
            let text = plain.as_deref().unwrap_or(&line.text);
            let is_secret = !lines.line(text).hits.is_empty();
            let is_first = is_secret && !goes_on;
            goes_on = is_secret;
            if is_first && !gone.contains(line.text.as_str()) {
                // Bytes have no lines that anybody could look at.
                let place = if is_text {
                    format!("{}:{}", file.path, line.number)
                } else {
                    file.path.clone()
                };
                // Never what it is: the report would be the next place to find it.
                found.wrong.push(format!(
                    "{place}: what looks like a secret; take it out and read it from the \
                     environment (or allow it by name in `redaction.allow`)"
                ));
            }
        }
    }
    if !long.is_empty() {
        found.told.push(format!(
            "too long to be looked into, by any rule: {}",
            names(&long)
        ));
    }
    found
}
