//! Removes secrets from a worker's output, line by line.
//!
//! A private key spans several lines, so each stream is treated as one text. A worker that prints
//! events may also spread a key over the texts of several events; these are treated as one text
//! too.

use std::borrow::Cow;

use codeteam_context::redact::{LineRedactor, Redactor};
use serde_json::Value;

use codeteam_host::process::{OutputLine, OutputStream};

/// The redactors for each destination of a line. They remember keys that earlier lines left open.
pub(super) struct OutputFilter {
    /// For the transcript, by stream.
    kept: [LineRedactor; 2],
    /// For the texts inside events.
    events: LineRedactor,
    /// For what a person watches, by stream.
    shown: [LineRedactor; 2],
}

/// One line of a worker's output after filtering.
pub(super) struct FilteredLine<'l> {
    /// The line as it is stored in the transcript.
    pub(super) kept: String,
    /// The line as the fold reads it. An event is as the worker wrote it, because its answer must
    /// be exact and is filtered as a whole later; any other line is as it is stored.
    pub(super) event: OutputLine<'l>,
}

impl OutputFilter {
    pub(super) fn new(redactor: &Redactor) -> Self {
        let lines = || [redactor.line_redactor(), redactor.line_redactor()];
        Self {
            kept: lines(),
            events: redactor.line_redactor(),
            shown: lines(),
        }
    }

    /// Filters the next line.
    pub(super) fn filter<'l>(&mut self, line: OutputLine<'l>) -> FilteredLine<'l> {
        let kept = self.kept[line.stream as usize].redact_line(&line.text).text;
        let mut kept = kept.into_owned();
        if line.stream == OutputStream::Stdout && kept.trim_start().starts_with('{') {
            if let Some(event) = self.filter_event(&kept) {
                kept = event;
            }
            return FilteredLine { kept, event: line };
        }
        let event = OutputLine {
            text: Cow::Owned(kept.clone()),
            ..line
        };
        FilteredLine { kept, event }
    }

    /// Filters a text that a person watches.
    pub(super) fn filter_shown(&mut self, stream: OutputStream, text: &str) -> String {
        self.shown[stream as usize]
            .redact_line(text)
            .text
            .into_owned()
    }

    /// Returns an event without the part of a key that it contains, if it contains one. Events are
    /// parsed only while a key is open, which is rare.
    fn filter_event(&mut self, event: &str) -> Option<String> {
        if !self.events.is_inside_key() && !event.contains(KEY_BEGIN) {
            return None;
        }
        let mut event: Value = serde_json::from_str(event).ok()?;
        filter_texts("", &mut event, &mut self.events).then(|| event.to_string())
    }
}

/// The beginning of the first line of a private key.
const KEY_BEGIN: &str = "-----BEGIN ";

/// Removes key lines from the texts of an event. Returns true if there were any.
fn filter_texts(name: &str, value: &mut Value, lines: &mut LineRedactor) -> bool {
    let mut found = false;
    match value {
        Value::String(text) if may_be_key(name, text) => {
            if let Cow::Owned(clean) = lines.redact_line(text).text {
                *text = clean;
                found = true;
            }
        }
        Value::Array(items) => {
            for item in items {
                found |= filter_texts(name, item, lines);
            }
        }
        Value::Object(fields) => {
            for (name, item) in fields {
                found |= filter_texts(name, item, lines);
            }
        }
        _ => {}
    }
    found
}

/// Returns true if a text of an event can be a part of a key. Labels of events and sentences
/// cannot.
fn may_be_key(name: &str, text: &str) -> bool {
    const LABELS: [&str; 6] = ["type", "subtype", "role", "name", "status", "kind"];
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=\n\r".contains(c);
    !LABELS.contains(&name) && (text.contains("-----") || text.chars().all(is_base64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";

    fn filtered(stream: OutputStream, lines: &[String]) -> (Vec<String>, Vec<String>) {
        let mut output = OutputFilter::new(&Redactor::new([]));
        let (mut kept, mut shown) = (Vec::new(), Vec::new());
        for text in lines {
            let line = output.filter(OutputLine {
                stream,
                raw: text.as_bytes(),
                text: Cow::Borrowed(text),
                truncated: false,
            });
            let told: Option<Value> = serde_json::from_str(&line.event.text).ok();
            let told = told.map_or(line.event.text.to_string(), |event| {
                event["text"].as_str().unwrap_or_default().to_owned()
            });
            shown.push(output.filter_shown(stream, &told));
            kept.push(line.kept);
        }
        (kept, shown)
    }

    fn key(kind: &str) -> Vec<String> {
        let (begin, end) = (
            format!("-----BEGIN {kind}-----"),
            format!("-----END {kind}-----"),
        );
        vec![
            begin,
            BODY.to_owned(),
            BODY.to_lowercase(),
            "c2hvcnQ=".to_owned(),
            end,
        ]
    }

    #[test]
    fn a_key_printed_line_by_line_is_neither_kept_nor_shown() {
        for kind in ["RSA PRIVATE KEY", "OPENSSH PRIVATE KEY"] {
            let mut plain = key(kind);
            plain.push("and on".to_owned());
            let event =
                |text: &String| serde_json::json!({ "type": "text", "text": text }).to_string();
            let events: Vec<String> = plain.iter().map(event).collect();
            for (stream, lines) in [
                (OutputStream::Stdout, &plain),
                (OutputStream::Stderr, &plain),
                (OutputStream::Stdout, &events),
            ] {
                let (kept, shown) = filtered(stream, lines);
                for all in [&kept, &shown] {
                    let text = all.join("\n");
                    let left = [BODY, &BODY.to_lowercase(), "c2hvcnQ"];
                    assert!(!left.iter().any(|part| text.contains(part)), "{text}");
                    assert!(all.last().unwrap().contains("and on"), "{text}");
                }
                for line in &kept {
                    assert!(
                        !line.starts_with('{') || line.contains(r#""type":"text""#),
                        "{line}"
                    );
                }
            }
        }
    }

    #[test]
    fn events_without_a_key_are_kept_to_the_letter() {
        let lines = [
            r#"{"type":"text",  "text":"TWFu"}"#.to_owned(),
            r#"{"b":1,"a":2}"#.to_owned(),
        ];
        assert_eq!(filtered(OutputStream::Stdout, &lines).0, lines);
    }
}
