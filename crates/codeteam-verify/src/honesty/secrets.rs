//! Rule: a change contains no secret, that is, nothing that the redactor would remove. Files that
//! git takes for binary are inspected as well, as far as they can be decoded; files that are too
//! long are reported.

use std::collections::BTreeSet;

use super::{HonestySubject, join_names};
use crate::CheckFindings;
use crate::change::FileVersion;

pub(super) fn check_secrets(subject: &HonestySubject<'_>) -> CheckFindings {
    let mut found = CheckFindings::default();
    let mut long = Vec::new();
    for file in &subject.change.files {
        if subject.is_out_of_time(&file.path, &mut found) {
            break;
        }
        if file.after == FileVersion::Long {
            long.push(file.path.clone());
        }
        let is_text = !matches!(file.after, FileVersion::Bytes(_));
        let gone: BTreeSet<&str> = file.removed.iter().map(|line| line.text.as_str()).collect();
        let mut lines = subject.redactor.line_redactor();
        // The number of the previous line, and whether it contained a secret.
        let (mut last, mut goes_on) = (0, false);
        for line in &file.added {
            if line.number != last + 1 {
                // The lines in between existed before.
                lines = subject.redactor.line_redactor();
                goes_on = false;
            }
            last = line.number;
            // A byte that is not a letter ends a word.
            let plain = (!is_text).then(|| line.text.replace(char::REPLACEMENT_CHARACTER, " "));
            let text = plain.as_deref().unwrap_or(&line.text);
            let is_secret = !lines.redact_line(text).hits.is_empty();
            let is_first = is_secret && !goes_on;
            goes_on = is_secret;
            if is_first && !gone.contains(line.text.as_str()) {
                // Nobody could look up a line number in a binary file.
                let place = if is_text {
                    format!("{}:{}", file.path, line.number)
                } else {
                    file.path.clone()
                };
                // Never quote the secret: the report would be the next place to find it.
                found.failures.push(format!(
                    "{place}: what looks like a secret; take it out and read it from the \
                     environment (or allow it by name in `redaction.allow`)"
                ));
            }
        }
    }
    if !long.is_empty() {
        found.notes.push(format!(
            "too long to be looked into, by any rule: {}",
            join_names(&long)
        ));
    }
    found
}
