//! Writes a tree as text, on request with the origin of every value.

use std::fmt::Write as _;

use super::node::{YamlNode, YamlScalar, YamlValue};
use super::source::SourceFiles;

/// Whether a comment after each value says where it comes from.
#[derive(Clone, Copy, Debug)]
pub enum OriginComments<'a> {
    /// No comments are written.
    Omitted,
    /// Each value is followed by a comment with its origin.
    Shown(&'a SourceFiles),
}

/// Writes a tree as block-style YAML. Reading the text gives the same tree.
pub fn write(node: &YamlNode, origins: OriginComments<'_>) -> String {
    let mut writer = YamlWriter {
        lines: Vec::new(),
        origins,
    };
    match &node.value {
        YamlValue::Map(entries) if entries.is_empty() => writer.line(0, "{}", None),
        _ => writer.value(node, 0),
    }
    writer.finish()
}

struct YamlWriter<'a> {
    lines: Vec<(String, Option<String>)>,
    origins: OriginComments<'a>,
}

impl YamlWriter<'_> {
    fn line(&mut self, indent: usize, text: &str, origin: Option<&YamlNode>) {
        let origin = match (self.origins, origin) {
            (OriginComments::Shown(sources), Some(node)) => Some(sources.describe(node.place)),
            _ => None,
        };
        self.lines.push((format!("{:indent$}{text}", ""), origin));
    }

    fn value(&mut self, node: &YamlNode, indent: usize) {
        match &node.value {
            YamlValue::Scalar(scalar) => self.entry("", node, scalar, indent),
            YamlValue::List(list) => {
                for item in list {
                    self.after("-", item, indent);
                }
            }
            YamlValue::Map(entries) => {
                for (key, value) in entries {
                    let key = format!("{}:", scalar(&YamlScalar::text(&key.name)));
                    self.after(&key, value, indent);
                }
            }
        }
    }

    /// Writes a value after `key:` or `-`.
    fn after(&mut self, lead: &str, node: &YamlNode, indent: usize) {
        match &node.value {
            YamlValue::Scalar(scalar) => self.entry(lead, node, scalar, indent),
            YamlValue::List(list) if list.is_empty() => {
                self.line(indent, &format!("{lead} []"), Some(node));
            }
            YamlValue::Map(entries) if entries.is_empty() => {
                self.line(indent, &format!("{lead} {{}}"), Some(node));
            }
            _ if lead == "-" => {
                // An item of a list begins on the line of its dash.
                let first = self.lines.len();
                self.value(node, indent + 2);
                if let Some((line, _)) = self.lines.get_mut(first) {
                    line.replace_range(indent..=indent, "-");
                }
            }
            _ => {
                self.line(indent, lead, None);
                self.value(node, indent + 2);
            }
        }
    }

    fn entry(&mut self, lead: &str, node: &YamlNode, value: &YamlScalar, indent: usize) {
        let space = if lead.is_empty() { "" } else { " " };
        if is_block(value) {
            let keep = match (value.text.ends_with("\n\n"), value.text.ends_with('\n')) {
                (true, _) => "+",
                (_, true) => "",
                _ => "-",
            };
            self.line(indent, &format!("{lead}{space}|2{keep}"), Some(node));
            for line in value.text.lines() {
                let indent = if line.is_empty() { 0 } else { indent + 2 };
                self.line(indent, line, None);
            }
        } else {
            let text = scalar(value);
            self.line(indent, &format!("{lead}{space}{text}"), Some(node));
        }
    }

    fn finish(self) -> String {
        let widest = self.lines.iter().filter(|(_, origin)| origin.is_some());
        let widest = widest.map(|(line, _)| line.chars().count()).max();
        let column = widest.unwrap_or(0).min(56) + 2;
        let mut out = String::new();
        for (line, origin) in self.lines {
            let _ = match origin {
                Some(origin) => {
                    let gap = column.saturating_sub(line.chars().count()).max(2);
                    writeln!(out, "{line}{:gap$}# {origin}", "")
                }
                None => writeln!(out, "{line}"),
            };
        }
        out
    }
}

/// Returns true if a text can be written as a block and reads best that way.
fn is_block(scalar: &YamlScalar) -> bool {
    let text = &scalar.text;
    text.contains('\n')
        && !text.trim().is_empty()
        && !text.starts_with('\n')
        && text.chars().all(|c| c == '\n' || is_printable(c))
}

/// Returns true if a character may stand unescaped in YAML.
fn is_printable(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

/// Writes a scalar on one line. JSON strings are valid YAML strings, so the JSON writer does the
/// quoting.
fn scalar(value: &YamlScalar) -> String {
    let text = &value.text;
    let safe = |c: char| {
        let marks = "_./-$*,()'`+=%@;?";
        c.is_alphanumeric() || marks.contains(c)
    };
    let simple = !text.is_empty()
        && text.chars().all(|c| safe(c) || c == ' ')
        && text.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '$'))
        && !text.ends_with(' ')
        // At the start of a line this would end the document.
        && !text.starts_with("...");
    let means_itself = YamlScalar::plain(text);
    let is_text = !means_itself.is_null()
        && means_itself.as_bool().is_none()
        && means_itself.as_integer().is_none()
        && means_itself.as_number().is_none();
    if (value.plain && !is_text) || (simple && is_text && text != "<<") {
        // What was not quoted may stay that way; an empty value is null.
        return if text.is_empty() {
            "~".to_owned()
        } else {
            text.clone()
        };
    }
    let quoted = serde_json::to_string(text).unwrap_or_default();
    let escaped = |c: char| match u32::from(c) {
        _ if is_printable(c) => c.to_string(),
        code @ ..=0xffff => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    };
    quoted.chars().map(escaped).collect()
}
