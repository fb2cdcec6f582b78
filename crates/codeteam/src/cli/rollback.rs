//! `codeteam rollback`: takes a run back to an earlier moment.

use codeteam_core::ids::{Commit, TaskId};
use codeteam_core::input::Decision;
use codeteam_core::untrusted_text::one_line;
use codeteam_engine::config::taken_back_ref;
use codeteam_engine::engine::Engine;
use codeteam_engine::{driver, problem::Problem};
use codeteam_host::git::{Oid, reference_name};
use codeteam_report::describe::short_id;
use codeteam_report::view::{LoadedRun, RollbackView};

use crate::cli::{CliContext, confirm, decide, drive};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, eprint_line};

/// Arguments of `rollback`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A run: its id or a part of it. The newest if left out.
    #[arg(value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    moment: MomentArgs,
    /// Why.
    #[arg(short, long, default_value = "")]
    message: String,
    /// Do it without asking.
    #[arg(short, long)]
    yes: bool,
}

/// The moment to take the run back to.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct MomentArgs {
    /// What stays done: a task, a phase, or the number of an event (`codeteam log` shows them).
    /// `task:`, `phase:` or `event:` in front says which is meant.
    #[arg(long, value_name = "MOMENT")]
    to: Option<String>,
    /// What is done again: a task, a phase or an event, and everything that came after its beginning.
    #[arg(long, value_name = "MOMENT")]
    before: Option<String>,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.engine_with_runs()?;
    let id = engine.find_run(args.run.as_deref())?;
    let run = engine.load_run_view(&id)?;
    decide::refuse_inside_session(&engine, &run)?;
    let (name, before) = match (&args.moment.to, &args.moment.before) {
        (Some(name), _) => (name, false),
        (None, before) => (before.as_ref().unwrap_or(&args.message), true),
    };
    let list =
        || format!("`codeteam show {id}` lists tasks and phases, `codeteam log {id}` events");
    let to = run.rollback_point(name, before);
    let to = to.map_err(|why| Problem::user(why).hint(list()))?;
    let plan = run.preview_rollback(&to).map_err(Problem::user)?;
    if !scene.json {
        print_preview(&engine, &run, &plan);
    }
    let agreed = args.yes
        || (!scene.json && confirm::is_terminal() && confirm::ask_yes_no("Take it back?")?);
    if !agreed {
        return leave_as_is(scene, &plan);
    }
    let mut decision = Decision::Rollback {
        to,
        expected: Some(plan.from.clone()),
        reason: args.message.clone(),
    };
    decide::redact_decision(scene, &engine, &mut decision);
    let handed_in = decide::hand_in(scene, &engine, &id, &decision)?;
    if handed_in.is_driven() {
        return decide::report_posted(scene, &id, &decision, &handed_in, None);
    }
    let options = drive::driver_options(false)?;
    let observer = drive::observer(scene, &engine);
    let is_done = driver::carry_out_rollback(&engine, &id, &options, &observer)?;
    if scene.json {
        let report = serde_json::json!({ "rollback": plan, "done": is_done, "driven": false });
        output::print_json(&report)?;
    } else if is_done {
        eprint_line(&format!("  go on   {} resume {id}", scene.calls.codeteam));
    }
    Ok(if is_done { Exit::Done } else { Exit::Failed })
}

/// Reports that nothing was done, because nobody has said yes.
fn leave_as_is(scene: &CliContext, plan: &RollbackView) -> Result<Exit, Problem> {
    if scene.json {
        let report = serde_json::json!({ "rollback": plan, "done": false, "driven": false });
        output::print_json(&report)?;
    } else if confirm::is_terminal() {
        eprint_line("nothing was taken back");
    } else {
        eprint_line("nothing was taken back; `--yes` does it");
    }
    Ok(Exit::Waiting)
}

/// Shows what will be taken back, and what stays.
fn print_preview(engine: &Engine, run: &LoadedRun, plan: &RollbackView) {
    let style = TerminalStyle::detect();
    let label = |label: &str, text: &str| output::eprint_wrapped(&format!("  {label:<7} {text}"));
    eprint_line(&format!(
        "{} {} goes back to {} (event {})",
        style.bold("rollback:"),
        plan.run,
        one_line(&plan.to),
        plan.event
    ));
    let (from, tip) = (short_id(plan.from.as_str()), short_id(plan.tip.as_str()));
    let branch = &plan.branch;
    if plan.from == plan.tip {
        label("branch", &format!("{branch} stays at {tip}"));
    } else {
        label("branch", &format!("{branch} goes from {from} to {tip}"));
        let commits = plan.commits.iter().map(|made| {
            let task = made.task.as_ref().map_or("the run", TaskId::as_str);
            format!("{} ({task})", short_id(made.commit.as_str()))
        });
        label("undone", &list_some(&commits.collect::<Vec<String>>()));
        let kept = taken_back_ref(plan.run.as_str(), plan.from.as_str());
        label("kept", &format!("as {kept}"));
    }
    let again = plan.tasks.iter().map(ToString::to_string);
    label("again", &list_some(&again.collect::<Vec<String>>()));
    if !plan.stopped.is_empty() {
        let stopped = plan.stopped.iter().map(ToString::to_string);
        label("stopped", &list_some(&stopped.collect::<Vec<String>>()));
    }
    for note in find_notes(engine, run, plan) {
        output::eprint_wrapped(&format!("{}: {note}", style.yellow("note")));
    }
}

/// Finds what the person may not expect: commits of others on the branch, and a merge that stays.
fn find_notes(engine: &Engine, run: &LoadedRun, plan: &RollbackView) -> Vec<String> {
    let mut notes = Vec::new();
    let repo = &engine.repo;
    let oid = |commit: &Commit| Oid::parse(commit.as_str());
    let found = repo.read_ref(&reference_name(&plan.branch)).ok().flatten();
    if let (Some(found), Some(from), Some(tip)) = (&found, oid(&plan.from), oid(&plan.tip)) {
        let since = repo
            .commits_since(&tip, found)
            .map_or(0, |commits| commits.len());
        let others = since.saturating_sub(plan.commits.len());
        if *found != from || others > 0 {
            notes.push(format!(
                "{} has commits that codeteam did not make for this run; they are taken off it as well \
                 and kept with the others",
                plan.branch
            ));
        }
        let head = &engine.head.commit;
        if run.has_commits()
            && !plan.commits.is_empty()
            && repo.is_ancestor(&from, head).unwrap_or(false)
        {
            notes.push("your branch has these commits already, and keeps them".to_owned());
        }
    }
    notes
}

/// Lists the first of many.
fn list_some(items: &[String]) -> String {
    const SHOWN: usize = 8;
    match items.len() {
        0 => "nothing".to_owned(),
        all if all <= SHOWN => items.join(", "),
        all => format!("{}, and {} more", items[..SHOWN].join(", "), all - SHOWN),
    }
}
