//! Reads the tracefile of lcov: `SF:` begins a file, `DA:line,hits` is a line.

use super::LineHits;

pub(super) fn read(text: &str, hits: &mut LineHits<'_>) {
    let mut file = None;
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("SF:") {
            file = hits.find(path);
        } else if line.starts_with("end_of_record") {
            file = None;
        } else if let (Some(file), Some(data)) = (file, line.strip_prefix("DA:")) {
            let mut fields = data.split(',');
            let number = fields.next().and_then(|number| number.trim().parse().ok());
            let count = fields.next().map(str::trim);
            if let (Some(number), Some(count)) = (number, count) {
                hits.record(file, number, is_run(count));
            }
        }
    }
}

/// Returns true if a number of hits is not zero. Some tools write fractions.
pub(super) fn is_run(count: &str) -> bool {
    count.bytes().any(|byte| matches!(byte, b'1'..=b'9')) && !count.starts_with('-')
}
