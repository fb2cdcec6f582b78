//! An attempt: what its worker was told, what it did, what it answered, what it printed.

use std::fmt::Write as _;

use codeteam_core::context::{NameList, PackedContext};
use codeteam_engine::attempt_log::LogLineKind;
use codeteam_report::view::{
    AttemptState, AttemptTrace, TraceOutcome, TraceStep, TraceStepKind, attempt_standing,
};
use minijinja::{Value, context};

use super::PageContent;
use super::data::{AttemptPage, LogWindow, Shell};
use super::format::format_spent;
use super::run_head::{RunLinks, RunTab, head_values};
use super::timeline::attempt_row;
use crate::routes::{RunPlace, encode};

pub(super) fn attempt_content(shell: &Shell, page: &AttemptPage) -> PageContent {
    let (head, attempt) = (&page.head, &page.attempt);
    let links = RunLinks::of_head(head);
    let (fence, place) = (attempt.id.fence, attempt.id.frame.name());
    let (_, words) = attempt_standing(attempt);
    let steps = page.trace.as_ref().map(|trace| trace.steps.as_slice());
    let steps = steps.unwrap_or_default();
    let has_prompt = steps.iter().any(|step| step.kind == TraceStepKind::Prompt);
    let checks = attempt.checks.iter().enumerate().map(|(number, check)| {
        context! {
            name => check.name.as_str(), passed => check.passed, summary => check.summary.as_str(),
            exit => check.exit,
            output => check.output.is_some().then(|| links.page(RunPlace::CheckOutput(fence, number))),
        }
    });
    let values = context! {
        head => head_values(shell, head, RunTab::Other),
        attempt => attempt_row(links, attempt, shell),
        fence,
        number => attempt.id.attempt,
        visit => attempt.id.generation,
        place,
        place_href => links.task(place),
        failure => match &attempt.state {
            AttemptState::Failed { why } => Some(why.as_str()),
            _ => None,
        },
        words,
        ended => attempt.ended_at.map(|at| at.0),
        input => attempt.usage.input_tokens,
        cached => attempt.usage.cached_input_tokens,
        output => attempt.usage.output_tokens,
        money => format_spent(attempt.usage.cost_microusd),
        by_worker => attempt.by_worker,
        checks => checks.collect::<Value>(),
        trace => page.trace.as_ref().map(trace_values),
        steps => steps.iter().map(step_values).collect::<Value>(),
        context => page.context.as_ref().map(context_values),
        log => log_values(links, fence, &page.log),
        is_untraced => page.is_untraced,
        prompt_file => (has_prompt || page.is_untraced).then(|| links.page(RunPlace::AttemptPrompt(fence))),
        answer_file => attempt.by_worker.then(|| links.page(RunPlace::AttemptAnswer(fence))),
    };
    let title = format!("{} on {place}", attempt.who);
    PageContent::new(
        "attempt.html",
        title,
        &["run-head", "attempt-state", "attempt-steps", "attempt-log"],
        values,
    )
}

fn trace_values(trace: &AttemptTrace) -> Value {
    context! {
        number => trace.number,
        model => trace.model.as_deref(),
        outcome => trace.outcome.as_str(),
        why => match &trace.outcome {
            TraceOutcome::Failed { why } => Some(why.as_str()),
            _ => None,
        },
        left_out => trace.left_out,
    }
}

fn step_values(step: &TraceStep) -> Value {
    let (kind, word) = match step.kind {
        TraceStepKind::Prompt => ("prompt", "told"),
        TraceStepKind::Plan => ("plan", "planned"),
        TraceStepKind::Thought => ("thought", "thought"),
        TraceStepKind::Message => ("message", "said"),
        TraceStepKind::Call => ("call", "used"),
        TraceStepKind::Result => ("result", "result"),
        TraceStepKind::File => ("file", "changed"),
        TraceStepKind::Error => ("problem", "problem"),
        TraceStepKind::Answer => ("answer", "answered"),
        TraceStepKind::Note => ("note", "note"),
    };
    let lines = step.text.lines().count();
    context! {
        kind, word,
        tool => step.tool.as_str(),
        text => step.text.as_str(),
        failed => step.failed,
        cut_bytes => step.cut_bytes,
        // Long texts are folded; what was told is nearly always long.
        is_long => lines > 12 || step.text.len() > 1_200,
        first => codeteam_report::describe::first_line(&step.text),
    }
}

fn context_values(packed: &PackedContext) -> Value {
    let parts = packed.parts.iter().map(|part| {
        context! {
            name => part.name.as_str(),
            tokens => part.tokens,
            share => (part.tokens * 100).checked_div(packed.tokens.max(1)).unwrap_or(0).min(100),
            files => part.files,
            compressed => names_text(&part.compressed),
            dropped => names_text(&part.dropped),
        }
    });
    let redacted = packed.redacted.iter().map(|(file, count)| {
        context! { file => file.as_str(), count => *count }
    });
    context! {
        strategy => packed.strategy.as_str(),
        budget => packed.budget,
        tokens => packed.tokens,
        parts => parts.collect::<Value>(),
        redacted => redacted.collect::<Value>(),
    }
}

fn names_text(list: &NameList) -> Option<String> {
    if list.names.is_empty() {
        return None;
    }
    let mut text = list.names.join(", ");
    if list.more > 0 {
        let _ = write!(text, " and {} more", list.more);
    }
    Some(text)
}

fn log_values(links: RunLinks<'_>, fence: u64, log: &LogWindow) -> Value {
    let here = links.page(RunPlace::Attempt(fence));
    let shown = log.lines.iter().map(|line| {
        let (kind, sign) = match line.kind {
            LogLineKind::Text => ("text", ""),
            LogLineKind::Tool => ("tool", "tool"),
            LogLineKind::Problem => ("problem", "error"),
        };
        context! { number => line.number, kind, sign, text => line.text.as_str() }
    });
    let only = match log.only {
        Some(LogLineKind::Problem) => "errors",
        Some(LogLineKind::Tool) => "tools",
        Some(LogLineKind::Text) => "text",
        None => "",
    };
    let filter = format!("only={only}&q={}", encode(&log.query));
    let first = log.lines.first().map_or(0, |line| line.number);
    let last = log.lines.last().map_or(0, |line| line.number + 1);
    context! {
        lines => shown.collect::<Value>(),
        total => log.total,
        is_end => log.is_end,
        only,
        query => log.query.as_str(),
        problem => log.problem.as_deref(),
        action => here.as_str(),
        begin => (first > 0).then(|| format!("{here}?{filter}&from=0#attempt-log")),
        earlier => (first > 0).then(|| {
            format!("{here}?{filter}&from={}#attempt-log", first.saturating_sub(200))
        }),
        later => (!log.is_end && last < log.total).then(|| {
            format!("{here}?{filter}&from={last}#attempt-log")
        }),
        end => (!log.is_end).then(|| format!("{here}?{filter}#attempt-log")),
        file => links.page(RunPlace::AttemptLog(fence)),
        next => last,
    }
}
