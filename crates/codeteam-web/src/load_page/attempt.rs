//! Attempts: what a worker was told, did and answered, and what it has printed.

use codeteam_core::ids::RunId;
use codeteam_engine::attempt_log::{AttemptLog, LogAnchor, LogLineKind, LogQuery};
use codeteam_engine::problem::Problem;
use codeteam_engine::trace::{TraceTexts, TracedAttempts, read_trace};
use codeteam_report::view::{AttemptTrace, AttemptView, TraceStepKind};

use super::PageSources;
use crate::form_data::FormData;
use crate::output_cache::refresh_output;
use crate::page::{AttemptPage, LogWindow, Page};
use crate::projects::WatchedProject;

/// How many lines of an output a page has.
const LINES: usize = 500;
/// What a worker did is read from its whole output, unless that has more lines.
const TRACED_LINES: usize = 20_000;
/// How much of a text is sent.
const LARGEST_TEXT: u64 = 16 << 20;

/// A text of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttemptText {
    /// What it has printed.
    Log,
    /// What it was told.
    Prompt,
    /// What it answered.
    Answer,
    /// What a check has printed.
    Check(usize),
}

impl PageSources<'_> {
    pub(super) fn load_attempt(
        &self,
        project: &WatchedProject,
        run: &RunId,
        fence: u64,
        query: &FormData,
    ) -> Result<Page, Problem> {
        let found = Self::history(project, run, |history| {
            let attempt = history.attempts.get(&fence).cloned();
            let context = history.contexts.get(&fence).cloned();
            (history.run(), attempt, context)
        })?;
        let (loaded, attempt, context) = found;
        let attempt = attempt.ok_or_else(|| missing_attempt(run, fence))?;
        // A page that only adds lines to an output does not show what is made of all of them.
        let is_log_only = query.get("part") == "attempt-log";
        let log = self.read_window(project, run, &attempt, query);
        let is_untraced = attempt.by_worker && log.total > TRACED_LINES;
        let trace = if attempt.by_worker && !is_log_only && !is_untraced {
            find_trace(project, run, fence)?
        } else {
            None
        };
        Ok(Page::Attempt(Box::new(AttemptPage {
            head: Self::head(project, loaded)?,
            attempt,
            trace,
            is_untraced,
            context,
            log,
        })))
    }

    fn read_window(
        &self,
        project: &WatchedProject,
        run: &RunId,
        attempt: &AttemptView,
        query: &FormData,
    ) -> LogWindow {
        let only = match query.get("only") {
            "errors" => Some(LogLineKind::Problem),
            "tools" => Some(LogLineKind::Tool),
            _ => None,
        };
        let from: Option<usize> = query.filled("from").and_then(|from| from.parse().ok());
        let text = query.get("q").trim().to_owned();
        let wanted = LogQuery {
            anchor: from.map_or(LogAnchor::End, LogAnchor::From),
            count: LINES,
            only,
            containing: text.clone(),
        };
        let transcript = attempt.transcript.as_ref();
        let output = self
            .outputs
            .open(project, run, attempt.id.fence, transcript);
        let output = output.map_err(|problem| problem.what().to_owned());
        let read = output.and_then(|output| {
            let log = refresh_output(&output).map_err(|error| error.to_string())?;
            let lines = log.read(&wanted).map_err(|error| error.to_string())?;
            Ok((log.line_count(), lines))
        });
        let (total, lines, problem) = match read {
            Ok((total, lines)) => (total, lines, None),
            Err(problem) => (0, Vec::new(), Some(problem)),
        };
        LogWindow {
            lines,
            total,
            is_end: from.is_none(),
            only,
            query: text,
            problem,
        }
    }
}

fn missing_attempt(run: &RunId, fence: u64) -> Problem {
    Problem::user(format!("there is no attempt {fence} in `{run}`"))
}

/// Returns how a worker got to its answer.
fn find_trace(
    project: &WatchedProject,
    run: &RunId,
    fence: u64,
) -> Result<Option<AttemptTrace>, Problem> {
    let unreadable = |e| Problem::environment("the trace cannot be read").caused_by(&e);
    // Attempts are numbered among those of workers only.
    let listed = read_trace(
        &project.engine,
        run,
        None,
        TracedAttempts::Number(0),
        TraceTexts::Short,
    );
    let listed = listed.map_err(unreadable)?;
    let Some(found) = listed.attempts.iter().find(|trace| trace.fence == fence) else {
        return Ok(None);
    };
    let number = TracedAttempts::Number(found.number);
    let traced = read_trace(&project.engine, run, None, number, TraceTexts::Whole);
    let mut attempts = traced.map_err(unreadable)?.attempts.into_iter();
    Ok(attempts.find(|trace| trace.fence == fence))
}

/// Returns a text of an attempt, for itself.
pub(crate) fn read_attempt_text(
    project: &WatchedProject,
    run: &RunId,
    fence: u64,
    text: AttemptText,
) -> Result<Vec<u8>, Problem> {
    let attempt = project.histories.with(&project.engine, run, |history| {
        history.attempts.get(&fence).cloned()
    })?;
    let attempt = attempt.ok_or_else(|| missing_attempt(run, fence))?;
    match text {
        AttemptText::Log => whole_log(project, run, &attempt),
        AttemptText::Prompt => trace_text(project, run, fence, TraceStepKind::Prompt),
        AttemptText::Answer => trace_text(project, run, fence, TraceStepKind::Answer),
        AttemptText::Check(at) => {
            let output = attempt
                .checks
                .get(at)
                .and_then(|check| check.output.as_ref());
            let output = output.ok_or_else(|| Problem::user("this check has printed nothing"))?;
            let read = project
                .engine
                .bodies
                .get_prefix(output.as_str(), LARGEST_TEXT);
            read.map_err(|e| Problem::environment("the output cannot be read").caused_by(&e))
        }
    }
}

fn trace_text(
    project: &WatchedProject,
    run: &RunId,
    fence: u64,
    kind: TraceStepKind,
) -> Result<Vec<u8>, Problem> {
    let trace = find_trace(project, run, fence)?;
    let steps = trace.map_or_else(Vec::new, |trace| trace.steps);
    let texts = steps.into_iter().filter(|step| step.kind == kind);
    let texts: Vec<String> = texts.map(|step| step.text).collect();
    if texts.is_empty() {
        return Err(Problem::user("no such text of this attempt is kept"));
    }
    Ok(texts.join("\n\n").into_bytes())
}

fn whole_log(
    project: &WatchedProject,
    run: &RunId,
    attempt: &AttemptView,
) -> Result<Vec<u8>, Problem> {
    let transcript = attempt.transcript.as_ref();
    let log = AttemptLog::open(&project.engine, run, attempt.id.fence, transcript)?;
    let mut text = Vec::new();
    let mut from = 0;
    while from < log.line_count() && text.len() < usize::try_from(LARGEST_TEXT).unwrap_or(0) {
        let wanted = LogQuery {
            anchor: LogAnchor::From(from),
            count: LINES,
            only: None,
            containing: String::new(),
        };
        let lines = log.read(&wanted);
        let lines =
            lines.map_err(|e| Problem::environment("the output cannot be read").caused_by(&e))?;
        let Some(last) = lines.last() else { break };
        from = last.number + 1;
        for line in lines {
            text.extend_from_slice(line.text.as_bytes());
            text.push(b'\n');
        }
    }
    Ok(text)
}
