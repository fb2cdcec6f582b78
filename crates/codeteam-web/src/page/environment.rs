//! The templates, and what they may call. Everything that a template prints is escaped, and what acts
//! on a page instead of being displayed is replaced, so no template can forget it.

use std::sync::LazyLock;

use codeteam_core::ids::EpochMillis;
use codeteam_report::describe::format_money;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, Error, Output, State, UndefinedBehavior};

use super::format;
use super::html::{escaped, push_escaped};
use super::marks::{icon_svg, mark_html};

/// Lists templates with their sources, by the names that templates use.
macro_rules! template_files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../templates/", $name)))),*]
    };
}

/// All templates.
pub(crate) const TEMPLATES: &[(&str, &str)] = template_files![
    "attempt.html",
    "board.html",
    "cost.html",
    "diff.html",
    "doctor.html",
    "event.html",
    "events.html",
    "files.html",
    "graph.html",
    "help.html",
    "inbox.html",
    "links.html",
    "metrics.html",
    "parts/attempt-log.html",
    "parts/attempt-state.html",
    "parts/attempt-steps.html",
    "parts/attempt-table.html",
    "parts/board-columns.html",
    "parts/change.html",
    "parts/cost-summary.html",
    "parts/cost-tables.html",
    "parts/diff-file.html",
    "parts/diff-review.html",
    "parts/diff-tree.html",
    "parts/doctor-checks.html",
    "parts/event-list.html",
    "parts/fields.html",
    "parts/file-list.html",
    "parts/findings.html",
    "parts/graph-tasks.html",
    "parts/graph-workflow.html",
    "parts/inbox-list.html",
    "parts/metrics-body.html",
    "parts/nav.html",
    "parts/plan-history.html",
    "parts/plan-tasks.html",
    "parts/question-facts.html",
    "parts/question-forms.html",
    "parts/risk.html",
    "parts/run-head.html",
    "parts/run-list.html",
    "parts/run-now.html",
    "parts/run-recent.html",
    "parts/run-row.html",
    "parts/run-summary.html",
    "parts/run-tasks.html",
    "parts/task-attempts.html",
    "parts/task-change.html",
    "parts/task-state.html",
    "parts/timeline-bars.html",
    "parts/timeline-list.html",
    "plan.html",
    "problem.html",
    "question.html",
    "run.html",
    "runs.html",
    "shell.html",
    "task.html",
    "timeline.html",
];

/// The templates of this program.
pub(crate) static BUILT_IN: LazyLock<Result<Environment<'static>, Error>> =
    LazyLock::new(|| build_environment(TEMPLATES.iter().copied()));

/// Builds an environment of templates.
pub(crate) fn build_environment<'a>(
    templates: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<Environment<'a>, Error> {
    let mut env = Environment::empty();
    let mut syntax = SyntaxConfig::builder();
    env.set_syntax(syntax.trim_blocks(true).lstrip_blocks(true).build()?);
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_auto_escape_callback(|_| AutoEscape::Html);
    env.set_formatter(write_value);
    env.add_test("none", minijinja::tests::is_none);
    env.add_filter("length", minijinja::filters::length);
    env.add_filter("join", minijinja::filters::join);
    env.add_filter("lower", minijinja::filters::lower);
    env.add_filter("number", format::format_number);
    env.add_filter("tokens", format::format_tokens);
    env.add_filter("money", format_money);
    env.add_filter("duration", format::format_duration);
    env.add_filter("count", format::format_count);
    env.add_function("time", time_element);
    env.add_function("clock", clock_element);
    env.add_function("mark", mark_element);
    env.add_function("icon", icon_element);
    env.add_function("path", path_element);
    env.add_function("progress_bar", progress_element);
    env.add_function("share_bar", share_element);
    for (name, source) in templates {
        env.add_template(name, source)?;
    }
    Ok(env)
}

/// Prints a value. Nothing is printed for what is absent.
fn write_value(
    out: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    if value.is_none() {
        return Ok(());
    }
    match value.as_str() {
        Some(text) if !value.is_safe() => out.write_str(&escaped(text)).map_err(Error::from),
        _ => minijinja::escape_formatter(out, state, value),
    }
}

/// Returns the mark of a state.
fn mark_element(state: &str, word: Option<&str>) -> Value {
    Value::from_safe_string(mark_html(state, word))
}

/// Returns a small picture.
fn icon_element(name: &str) -> Value {
    Value::from_safe_string(icon_svg(name))
}

/// Returns an element with a time, as its distance from now.
fn time_element(at: u64, now: u64) -> Value {
    let (at, now) = (EpochMillis(at), EpochMillis(now));
    let iso = format::format_iso(at);
    let words = format::format_distance(at, now);
    Value::from_safe_string(format!(
        "<time datetime=\"{iso}\" title=\"{iso}\" data-distance>{words}</time>"
    ))
}

/// Returns an element with a time of day.
fn clock_element(at: u64) -> Value {
    let at = EpochMillis(at);
    let (iso, words) = (format::format_iso(at), format::format_clock(at));
    Value::from_safe_string(format!(
        "<time datetime=\"{iso}\" title=\"{iso}\" data-clock>{words}</time>"
    ))
}

/// Returns a path with its folder set back, and with places where it may break.
fn path_element(path: &str) -> Value {
    let (folder, name) = match path.rfind('/') {
        Some(at) => path.split_at(at + 1),
        None => ("", path),
    };
    let mut out = "<span class=\"path\"><span class=\"folder\">".to_owned();
    for part in folder.split_inclusive('/') {
        push_escaped(&mut out, part);
        out.push_str("<wbr>");
    }
    out.push_str("</span>");
    out.push_str(&escaped(name));
    out.push_str("</span>");
    Value::from_safe_string(out)
}

/// Returns a bar with what is done, under way and failed of so many.
fn progress_element(done: u64, running: u64, failed: u64, all: u64) -> Value {
    let share = |count: u64| {
        count
            .saturating_mul(100)
            .checked_div(all)
            .unwrap_or(0)
            .min(100)
    };
    let (done, running, failed) = (share(done), share(running), share(failed));
    Value::from_safe_string(format!(
        "<svg class=\"progress\" viewBox=\"0 0 100 8\" width=\"100\" height=\"8\" \
         preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"rest\" width=\"100\" \
         height=\"8\"/><rect class=\"done\" width=\"{done}\" height=\"8\"/><rect class=\"work\" \
         x=\"{done}\" width=\"{running}\" height=\"8\"/><rect class=\"fail\" x=\"{}\" \
         width=\"{failed}\" height=\"8\"/></svg>",
        done + running,
    ))
}

/// Returns a bar with a share in percent.
fn share_element(percent: u64) -> Value {
    let percent = percent.min(100);
    Value::from_safe_string(format!(
        "<svg class=\"progress share\" viewBox=\"0 0 100 8\" width=\"100\" height=\"8\" \
         preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"rest\" width=\"100\" \
         height=\"8\"/><rect class=\"work\" width=\"{percent}\" height=\"8\"/></svg>"
    ))
}
