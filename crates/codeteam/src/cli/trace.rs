//! `codeteam trace`: shows how a worker got to its answer.

use std::fmt::Write as _;

use codeteam_core::untrusted_text::{one_line, spell_out};
use codeteam_engine::trace::{TraceTexts, TracedAttempts, read_trace};
use codeteam_report::describe;
use codeteam_report::view::{AttemptTrace, TraceOutcome, TraceStep, TraceView};

use crate::cli::{CliContext, RunName};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle};
use codeteam_engine::problem::Problem;

/// Arguments of `trace`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
    /// Only the attempts for this task.
    #[arg(value_name = "TASK")]
    task: Option<String>,
    /// The attempt with this number, as the list shows it; the last one if left out.
    #[arg(long, value_name = "N", conflicts_with = "all")]
    attempt: Option<usize>,
    /// Every attempt, one after the other.
    #[arg(long)]
    all: bool,
    /// Show texts whole; otherwise each is cut after 2,000 bytes.
    #[arg(long)]
    full: bool,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.engine_with_runs()?;
    let run = engine.find_run(args.run.run.as_deref())?;
    let attempts = match args.attempt {
        Some(number) => TracedAttempts::Number(number),
        None if args.all => TracedAttempts::All,
        None => TracedAttempts::Last,
    };
    let texts = if args.full {
        TraceTexts::Whole
    } else {
        TraceTexts::Short
    };
    let mut view = read_trace(&engine, &run, args.task.as_deref(), attempts, texts)?;
    let shown = |attempt: &AttemptTrace| match attempts {
        TracedAttempts::All => true,
        TracedAttempts::Number(number) => attempt.number == number,
        TracedAttempts::Last => view.attempts.last() == Some(attempt),
    };
    let is_shown: Vec<bool> = view.attempts.iter().map(shown).collect();
    if !is_shown.contains(&true) {
        return Err(missing_attempt(&view, args));
    }
    if scene.json {
        let mut is_shown = is_shown.iter();
        view.attempts.retain(|_| is_shown.next() == Some(&true));
        output::print_json(&view)?;
        return Ok(Exit::Done);
    }
    let style = TerminalStyle::detect();
    let mut text = String::new();
    if view.attempts.len() > 1 && !args.all {
        for (attempt, shown) in view.attempts.iter().zip(&is_shown) {
            let mark = if *shown { ">" } else { " " };
            let _ = writeln!(text, "{mark} {}", headline(attempt));
        }
        text.push('\n');
    }
    let shown = view.attempts.iter().zip(&is_shown);
    for (attempt, _) in shown.filter(|(_, shown)| **shown) {
        render_attempt(&mut text, attempt, style);
    }
    output::print_text(&text)?;
    Ok(Exit::Done)
}

/// Says why there is nothing to show.
fn missing_attempt(view: &TraceView, args: &Args) -> Problem {
    let run = &view.run;
    match (&args.task, view.attempts.len(), args.attempt) {
        (None, 0, _) => Problem::user(format!("no worker has started in {run}")),
        (Some(task), 0, _) => Problem::user(format!("no worker has started on `{task}` in {run}"))
            .hint(format!("`codeteam show {run}` names its tasks")),
        (_, _, number) => {
            let number = number.unwrap_or_default();
            Problem::user(format!("there is no attempt {number} among those of {run}"))
                .hint("without `--attempt`, the attempts are listed with their numbers")
        }
    }
}

/// Returns what an attempt was, in one line.
fn headline(attempt: &AttemptTrace) -> String {
    let role = &attempt.role;
    let mut line = format!("{:>3}  {role}", attempt.number);
    if let Some(task) = &attempt.task {
        let _ = write!(line, " for {task}");
    }
    let by = [
        attempt.worker.as_ref().map(|worker| worker.0.as_str()),
        attempt.model.as_deref(),
    ];
    let by: Vec<&str> = by.into_iter().flatten().collect();
    if !by.is_empty() {
        let _ = write!(line, " ({})", one_line(&by.join(", ")));
    }
    if attempt.generation > 1 || attempt.attempt > 1 {
        let _ = write!(
            line,
            ", visit {} of {}, try {}",
            attempt.generation, attempt.step, attempt.attempt
        );
    }
    let _ = write!(line, ": {}", attempt.outcome.as_str());
    if let TraceOutcome::Failed { why } = &attempt.outcome {
        let _ = write!(line, ": {}", one_line(describe::first_line(why)));
    }
    line
}

fn render_attempt(text: &mut String, attempt: &AttemptTrace, style: TerminalStyle) {
    let _ = writeln!(text, "{}", style.bold(&headline(attempt)));
    for step in &attempt.steps {
        render_step(text, step, style);
    }
    if attempt.left_out > 0 {
        let left_out = attempt.left_out;
        let _ = writeln!(text, "({left_out} steps in the middle are left out)");
    }
    text.push('\n');
}

fn render_step(text: &mut String, step: &TraceStep, style: TerminalStyle) {
    let mut word = step.kind.as_str().to_owned();
    if !step.tool.is_empty() {
        let _ = write!(word, " {}", one_line(&step.tool));
    }
    if step.failed {
        word.push_str(" (failed)");
    }
    let word = if step.failed {
        style.red(&word)
    } else {
        style.cyan(&word)
    };
    let _ = writeln!(text, "  {word}");
    for line in step.text.lines() {
        let _ = writeln!(text, "    {}", spell_out(line));
    }
    if step.cut_bytes > 0 {
        let cut = step.cut_bytes;
        let _ = writeln!(text, "    [{cut} more bytes; `--full` shows them]");
    }
}
