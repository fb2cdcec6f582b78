//! `codeteam report`: prints the verdicts of checks, verifiers and people on a change.

use std::io::IsTerminal as _;
use std::path::Path;

use codeteam_core::ids::FramePath;
use codeteam_engine::engine::Engine;
use codeteam_report::rebuild;
use codeteam_report::report::{JudgementHistory, ScreenLine, TextTone};
use codeteam_report::view::{ChangeView, RunView};

use crate::cli::{CliContext, RunName};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, eprint_line};
use codeteam_engine::problem::Problem;

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
    let Some(engine) = scene.existing_engine()? else {
        return print_written_report(args, scene);
    };
    let id = engine.find_work_run(args.run.run.as_deref())?;
    let past = engine.read_judgements(&id, args.task.as_deref())?;
    if let Some(task) = &args.task {
        require_frame(&past, task)?;
    }
    let change = ChangeView::from_history(engine.records(), &past, args.task.as_deref());
    let Some(change) = change else {
        return report_nothing(scene, &RunView::from_history(&past));
    };
    if scene.json {
        output::print_json(&change.report)?;
        return Ok(Exit::Done);
    }
    if args.markdown || !std::io::stdout().is_terminal() {
        output::print_text(&change.report.to_markdown())?;
    } else {
        output::print_text(&render_for_terminal(scene, &change))?;
    }
    let others: Vec<&str> = past
        .judged_names()
        .into_iter()
        .filter(|n| *n != change.frame.name())
        .collect();
    if args.task.is_none() && !others.is_empty() {
        let more = if others.len() > 12 { ", …" } else { "" };
        let named = others.get(..12).unwrap_or(&others).join(", ");
        let (id, first) = (
            &change.report.run,
            others.first().copied().unwrap_or_default(),
        );
        output::eprint_wrapped(&format!(
            "other reports of this run: {named}{more} (`codeteam report {id} --task {first}`)"
        ));
    }
    Ok(Exit::Done)
}

/// Renders a report for a terminal, in the colours of standard error.
pub(crate) fn render_for_terminal(scene: &CliContext, change: &ChangeView) -> String {
    let path = relative_path(&change.report_file, &scene.here);
    let lines = change.report.to_screen(output::stdout_width(), Some(&path));
    let style = TerminalStyle::detect();
    let lines: Vec<String> = lines.iter().map(|line| paint_line(style, line)).collect();
    lines.join("\n") + "\n"
}

fn paint_line(style: TerminalStyle, line: &ScreenLine) -> String {
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

/// Returns a path relative to the user's current folder.
fn relative_path(path: &Path, here: &Path) -> String {
    path.strip_prefix(here)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// Fails if there is no frame of this name whose judgements are known.
fn require_frame(past: &JudgementHistory, task: &str) -> Result<(), Problem> {
    if past.frame(task).is_some() {
        return Ok(());
    }
    let run = RunView::from_history(past);
    let id = &run.id;
    if run.task(task).is_some() {
        return Err(Problem::user(format!("nothing of `{task}` was judged yet"))
            .hint(format!("`codeteam status {id}` shows where it stands")));
    }
    let problem = Problem::user(format!("there is no task `{task}` in {id}"));
    let names = run.tasks.iter().map(|t| t.id.as_str());
    Err(match codeteam_core::spelling::nearest(task, names) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => problem.hint(format!("`codeteam show {id}` lists them")),
    })
}

fn report_nothing(scene: &CliContext, run: &RunView) -> Result<Exit, Problem> {
    if scene.json {
        output::print_json(&serde_json::Value::Null)?;
    } else {
        eprint_line(&format!("nothing of {} was judged yet", run.id));
        let root = run.frame(&FramePath::root());
        if root.is_some_and(|root| root.ended.is_none()) {
            eprint_line(&format!("  look    codeteam status {}", run.id));
        }
    }
    Ok(Exit::Done)
}

/// Prints the last written report file, because there is no log.
fn print_written_report(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let (repo, _) = Engine::discover(&scene.folder, &scene.env)?;
    let reports = rebuild::find_reports(&repo);
    let found = match &args.task {
        Some(task) => reports.iter().find(|r| r.subject == *task),
        None => reports.first(),
    };
    let Some(found) = found else {
        return Err(Problem::from(codeteam_engine::engine::Error::NoRuns));
    };
    eprint_line(
        "the log (`.codeteam/state.db`) is gone; this is the report as it was last written",
    );
    if scene.json {
        let value = serde_json::json!({
            "rebuilt": true, "subject": found.subject, "run": found.run,
            "result": found.result, "file": found.path, "markdown": found.text,
        });
        output::print_json(&value)?;
    } else {
        output::print_text(&found.text)?;
    }
    Ok(Exit::Done)
}
