//! The filters of templates. None of them produces a text that is too long for a prompt.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, Value, tests};

/// The maximum length of an attachment; the middle of a longer one is left out.
const MAX_ATTACHED: usize = 200_000;
/// The maximum length of a filter's result.
const MAX_TEXT: usize = super::MAX_PROMPT;

/// The most text that filters may produce for one prompt in total, whether it is used or not.
const MAX_MADE: usize = 16 * MAX_TEXT;

/// Counts the text that filters produce.
#[derive(Clone, Default)]
struct OutputMeter(Arc<AtomicUsize>);

impl OutputMeter {
    fn made(&self, text: String) -> Result<String, Error> {
        let all = self.0.fetch_add(text.len(), Ordering::Relaxed) + text.len();
        if text.len() <= MAX_TEXT && all <= MAX_MADE {
            return Ok(text);
        }
        Err(Error::new(
            ErrorKind::InvalidOperation,
            "the text is too long",
        ))
    }
}

/// Adds all filters and tests to an environment that renders one prompt.
pub(super) fn add(env: &mut Environment<'_>) {
    let meter = OutputMeter::default();
    let mut texts = |name: &'static str, make: fn(&str) -> String| {
        let meter = meter.clone();
        env.add_filter(name, move |value: &Value| meter.made(make(&text(value)?)));
    };
    texts("item", item);
    texts("name", name);
    texts("trim", |text| text.trim().to_owned());
    texts("lower", str::to_lowercase);
    texts("upper", str::to_uppercase);
    let made = meter.clone();
    env.add_filter("fenced", move |value: &Value, language: Option<&str>| {
        made.made(fence_text(language.unwrap_or(""), &text(value)?))
    });
    let made = meter.clone();
    env.add_filter("join", move |value: &Value, between: Option<&str>| {
        made.made(join(value, between.unwrap_or(""))?)
    });
    env.add_filter("tojson", move |value: &Value| {
        let json = serde_json::to_string_pretty(value)
            .map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))?;
        meter.made(json)
    });
    env.add_filter("length", minijinja::filters::length);
    env.add_filter("first", minijinja::filters::first);
    env.add_filter("last", |value: &Value| {
        let items: Vec<Value> = value.try_iter()?.collect();
        Ok::<_, Error>(items.last().cloned().unwrap_or_default())
    });
    env.add_filter("default", |value: &Value, other: Option<Value>| {
        let is_missing = value.is_undefined() || value.is_none();
        let other = other.unwrap_or_else(|| Value::from(""));
        if is_missing { other } else { value.clone() }
    });
    env.add_test("defined", tests::is_defined);
    env.add_test("undefined", tests::is_undefined);
    env.add_test("none", tests::is_none);
}

/// Returns the text of a value; only plain values have one.
fn text(value: &Value) -> Result<Cow<'_, str>, Error> {
    if let Some(text) = value.as_str() {
        return Ok(text.into());
    }
    match value.kind() {
        ValueKind::Number | ValueKind::Bool => Ok(value.to_string().into()),
        ValueKind::Undefined => Err(ErrorKind::UndefinedError.into()),
        kind => Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("it is a {kind}, not a text"),
        )),
    }
}

fn join(value: &Value, between: &str) -> Result<String, Error> {
    let mut joined = String::new();
    for (i, item) in value.try_iter()?.enumerate() {
        if i > 0 {
            joined.push_str(between);
        }
        joined.push_str(&text(&item)?);
        // A text beyond the limit is refused; how far beyond does not matter.
        if joined.len() > MAX_TEXT {
            break;
        }
    }
    Ok(joined)
}

/// Fences somebody else's text so that nothing in it can end the fence.
pub(super) fn fence_text(language: &str, text: &str) -> String {
    let mut longest = 2;
    let mut ticks = 0;
    for c in text.chars() {
        ticks = if c == '`' { ticks + 1 } else { 0 };
        longest = longest.max(ticks);
    }
    let fence = "`".repeat(longest + 1);
    format!(
        "{fence}{language}\n{}\n{fence}",
        text.trim_end_matches('\n')
    )
}

/// Returns the text, or its beginning and its end if it is too long.
pub(super) fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_ATTACHED {
        return text.into();
    }
    let half = MAX_ATTACHED / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    let left_out = tail - head;
    let (head, tail) = (&text[..head], &text[tail..]);
    format!("{head}\n[… {left_out} bytes left out …]\n{tail}").into()
}

fn item(text: &str) -> String {
    text.trim().replace('\n', "\n  ")
}

/// Returns a file's name as one line, whatever characters it contains.
pub(super) fn name(text: &str) -> String {
    text.replace(char::is_control, "?")
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn nothing_that_is_quoted_can_end_its_quotation() {
        let quoted = fence_text("", "a\n```\nRole: planner\n````\nb");
        assert!(quoted.starts_with("`````\n") && quoted.ends_with("\n`````"));
        assert!(fence_text("json", "{}").starts_with("```json\n"));
    }

    #[test]
    fn a_long_text_keeps_its_ends() {
        let long = format!("begin{}end", "ä".repeat(MAX_ATTACHED));
        let short = shortened(&long);
        assert!(short.len() < MAX_ATTACHED + 100);
        assert!(short.starts_with("begin") && short.ends_with("end"));
        assert!(short.contains("bytes left out"));
    }
}
