//! `codeteam report`: what checks, verifiers and people say of a change.

use std::io::IsTerminal as _;
use std::path::Path;

use codeteam_core::Run;
use codeteam_core::frame::Frame;
use codeteam_core::ids::FramePath;
use codeteam_engine::engine::Engine;
use codeteam_engine::report::{self, JudgementHistory, ScreenLine, TextTone, VerificationReport};
use codeteam_engine::{artifacts, rebuild};

use crate::cli::{CliContext, RunName};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, say};
use crate::problem::Problem;

/// Arguments of `report`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
    /// The task or phase, or `run` for the run itself.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// The whole report as Markdown, on a terminal too.
    #[arg(long)]
    markdown: bool,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let Some(engine) = scene.existing()? else {
        return from_files(args, scene);
    };
    let past = report::past(&engine, &engine.find_work(args.run.run.as_deref())?)?;
    let found = match &args.task {
        Some(task) => Some(named(&past, task)?),
        None => past.newest(),
    };
    let report = found.and_then(|frame| Some((frame, past.report(&engine, frame)?)));
    let Some((frame, report)) = report else {
        return nothing(scene, &past.run);
    };
    if scene.json {
        output::json(&report)?;
        return Ok(Exit::Done);
    }
    if args.markdown || !std::io::stdout().is_terminal() {
        output::out(&report.markdown())?;
    } else {
        output::out(&shown(scene, &engine, &past.run, frame, &report))?;
    }
    let others: Vec<&str> = past
        .names()
        .into_iter()
        .filter(|n| *n != frame.path.name())
        .collect();
    if args.task.is_none() && !others.is_empty() {
        let more = if others.len() > 12 { ", …" } else { "" };
        let named = others.get(..12).unwrap_or(&others).join(", ");
        let (id, first) = (&past.run.id, others.first().copied().unwrap_or_default());
        output::tell(&format!(
            "other reports of this run: {named}{more} (`codeteam report {id} --task {first}`)"
        ));
    }
    Ok(Exit::Done)
}

/// A report for a terminal, in the colours of standard error's.
pub(crate) fn shown(
    scene: &CliContext,
    engine: &Engine,
    run: &Run,
    frame: &Frame,
    report: &VerificationReport,
) -> String {
    let path = artifacts::report_path(engine, run, frame);
    let path = nearer(&path, &scene.here);
    let lines = report.screen(output::width(), Some(&path));
    let style = TerminalStyle::detect();
    let lines: Vec<String> = lines.iter().map(|line| painted(style, line)).collect();
    lines.join("\n") + "\n"
}

fn painted(style: TerminalStyle, line: &ScreenLine) -> String {
    let spans = line.iter().map(|span| match span.tone {
        TextTone::Plain => span.text.clone(),
        TextTone::Strong => style.bold(&span.text),
        TextTone::Good => style.green(&span.text),
        TextTone::Bad => style.red(&span.text),
        TextTone::Warn => style.yellow(&span.text),
        TextTone::Faint => style.dim(&span.text),
    });
    spans.collect::<String>().trim_end().to_owned()
}

/// A path as seen from where the user is.
fn nearer(path: &Path, here: &Path) -> String {
    path.strip_prefix(here)
        .unwrap_or(path)
        .display()
        .to_string()
}

fn named<'a>(past: &'a JudgementHistory, task: &str) -> Result<&'a Frame, Problem> {
    past.frame(task).ok_or_else(|| {
        let id = &past.run.id;
        let tasks = past.run.plan.iter().flat_map(|plan| &plan.tasks);
        let known = tasks.clone().any(|t| t.id.as_str() == task);
        if known {
            return Problem::user(format!("nothing of `{task}` was judged yet"))
                .hint(format!("`codeteam status {id}` shows where it stands"));
        }
        let problem = Problem::user(format!("there is no task `{task}` in {id}"));
        match codeteam_core::yaml::nearest(task, tasks.map(|t| t.id.as_str())) {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None => problem.hint(format!("`codeteam show {id}` lists them")),
        }
    })
}

fn nothing(scene: &CliContext, run: &Run) -> Result<Exit, Problem> {
    if scene.json {
        output::json(&serde_json::Value::Null)?;
    } else {
        say(&format!("nothing of {} was judged yet", run.id));
        let root = run.frames.get(&FramePath::root());
        if root.is_some_and(|root| !root.is_ended()) {
            say(&format!("  look    codeteam status {}", run.id));
        }
    }
    Ok(Exit::Done)
}

/// Without a log: the report as it was last written.
fn from_files(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let (repo, _) = Engine::discover(&scene.folder, &scene.env)?;
    let reports = rebuild::reports(&repo);
    let found = match &args.task {
        Some(task) => reports.iter().find(|r| r.subject == *task),
        None => reports.first(),
    };
    let Some(found) = found else {
        return Err(Problem::from(codeteam_engine::engine::Error::NoRuns));
    };
    say("the log (`.codeteam/state.db`) is gone; this is the report as it was last written");
    if scene.json {
        let value = serde_json::json!({
            "rebuilt": true, "subject": found.subject, "run": found.run,
            "result": found.result, "file": found.path, "markdown": found.text,
        });
        output::json(&value)?;
    } else {
        output::out(&found.text)?;
    }
    Ok(Exit::Done)
}
