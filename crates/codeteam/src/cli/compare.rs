//! `codeteam compare`: shows what two runs did differently.

use codeteam_core::ids::WorkerName;
use codeteam_core::schedule::TaskStatus;
use codeteam_core::untrusted_text::one_line;
use codeteam_engine::engine::Engine;
use codeteam_host::git::Oid;
use codeteam_report::describe::short_id;
use codeteam_report::view::{ComparedRole, ComparedRun, RunComparison};

use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, print_line};
use codeteam_engine::problem::Problem;

/// Arguments of `compare`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A run: its id or a part of it.
    #[arg(value_name = "RUN")]
    one: String,
    /// Another run.
    #[arg(value_name = "RUN")]
    other: String,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.engine_with_runs()?;
    let load = |name: &str| -> Result<_, Problem> {
        let id = engine.find_run(Some(name))?;
        Ok(engine.load_run_view(&id)?)
    };
    let (one, other) = (load(&args.one)?, load(&args.other)?);
    if one.id == other.id {
        let same = Problem::user(format!("both names mean the run {}", one.id));
        return Err(same.hint("`codeteam status` lists the runs"));
    }
    let compared = RunComparison::new(&one, &other);
    let files = differing_files(&engine, &compared)?;
    if scene.json {
        let report = serde_json::json!({ "comparison": compared, "files": files });
        output::print_json(&report)?;
        return Ok(Exit::Done);
    }
    print_runs(&compared)?;
    print_tasks(&compared)?;
    for role in &compared.roles {
        print_line(&format!("role {}: {}", role.role, workers_in_words(role)))?;
    }
    let style = TerminalStyle::detect();
    match &files {
        None => print_line("files: one of the trees is gone, so they cannot be compared")?,
        Some(files) if files.is_empty() => {
            print_line(&format!("files: {}", style.green("the same")))?;
        }
        Some(files) => {
            print_line(&format!("files that differ: {}", files.len()))?;
            for file in files {
                print_line(&format!("  {}", one_line(file)))?;
            }
            let [one, other] = &compared.runs;
            let (one, other) = (short_id(one.tip.as_str()), short_id(other.tip.as_str()));
            print_line(&format!("  {} diff {one} {other}", scene.calls.git))?;
        }
    }
    Ok(Exit::Done)
}

/// Returns the files that differ between the newest trees of both runs.
fn differing_files(
    engine: &Engine,
    compared: &RunComparison,
) -> Result<Option<Vec<String>>, Problem> {
    let [one, other] = &compared.runs;
    let (Some(one), Some(other)) = (
        Oid::parse(one.tree.as_str()),
        Oid::parse(other.tree.as_str()),
    ) else {
        return Ok(None);
    };
    let found = engine.repo.differing_files(&one, &other)?;
    Ok(Some(
        found
            .iter()
            .map(|path| path.display().to_string())
            .collect(),
    ))
}

/// Prints one line for each fact, with a column for each run.
fn print_runs(compared: &RunComparison) -> Result<(), Problem> {
    let [one, other] = &compared.runs;
    let line = |label: &str, of: &dyn Fn(&ComparedRun) -> String| {
        let (left, right) = (one_line(&of(one)), one_line(&of(other)));
        let mark = if left == right { " " } else { "*" };
        print_line(format!("{label:<9} {mark} {left:<36} {right}").trim_end())
    };
    line("", &|run| run.run.to_string())?;
    line("workflow", &|run| run.workflow.clone())?;
    line("status", &|run| run.status.as_str().to_owned())?;
    line("from", &|run| match &run.forked_from {
        Some((run, event)) => format!("{run} at {event}"),
        None => short_id(run.base.as_str()).to_owned(),
    })?;
    line("tip", &|run| short_id(run.tip.as_str()).to_owned())?;
    line("commits", &|run| run.commits.to_string())?;
    line("rounds", &|run| run.rounds.to_string())?;
    line("findings", &|run| format!("{} open", run.open_findings))?;
    line("attempts", &|run| run.cost.words.attempts.clone())?;
    line("tokens", &|run| run.cost.words.tokens.clone())?;
    line("cost", &|run| run.cost.words.money.clone())
}

/// Prints the tasks that stand differently or took another number of rounds.
fn print_tasks(compared: &RunComparison) -> Result<(), Problem> {
    let differing = compared
        .tasks
        .iter()
        .filter(|task| task.status[0] != task.status[1] || task.rounds[0] != task.rounds[1]);
    let word = |status: Option<TaskStatus>, rounds: u32| match status {
        None => "not in the plan".to_owned(),
        Some(status) if rounds == 0 => status.as_str().to_owned(),
        Some(status) if rounds == 1 => format!("{} after 1 round", status.as_str()),
        Some(status) => format!("{} after {rounds} rounds", status.as_str()),
    };
    for task in differing {
        let (left, right) = (
            word(task.status[0], task.rounds[0]),
            word(task.status[1], task.rounds[1]),
        );
        print_line(&format!("task {}: {left}; {right}", task.id))?;
    }
    Ok(())
}

fn workers_in_words(role: &ComparedRole) -> String {
    let side = |at: usize| {
        let workers: Vec<&str> = role.workers[at].iter().map(WorkerName::as_str).collect();
        match (workers.as_slice(), &role.model[at]) {
            ([], _) => "nobody".to_owned(),
            (workers, None) => workers.join(", "),
            (workers, Some(model)) => format!("{} ({})", workers.join(", "), one_line(model)),
        }
    };
    format!("{}; {}", side(0), side(1))
}
