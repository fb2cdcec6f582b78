//! `codeteam repin`: takes a changed workflow into a run under way.

use codeteam_core::input::Decision;
use codeteam_core::repin_check::repin_problems;
use codeteam_core::untrusted_text::one_line;
use codeteam_engine::engine::WorkflowDifference;

use crate::cli::{CliContext, RunName, confirm, decide};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, eprint_line};
use codeteam_engine::problem::Problem;

/// Arguments of `repin`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
    /// Do it without asking.
    #[arg(short, long)]
    yes: bool,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.engine_with_runs()?;
    let id = engine.find_run(args.run.run.as_deref())?;
    let run = engine.load_run_view(&id)?;
    decide::refuse_inside_session(&engine, &run)?;
    let now = engine.current_workflow(run.as_run())?;
    let difference = engine.workflow_difference(run.as_run(), &now);
    if difference.is_empty() {
        if scene.json {
            let report = serde_json::json!({ "run": id, "difference": difference, "done": false });
            output::print_json(&report)?;
        } else {
            eprint_line(&format!("{id} has its workflow and roles as they are now"));
        }
        return Ok(Exit::Done);
    }
    if !scene.json {
        print_difference(&difference);
    }
    let problems = repin_problems(run.as_run(), &now);
    if !problems.is_empty() {
        let problem = Problem::user(format!("{id} cannot go on with the changed workflow"));
        let problem = problems
            .iter()
            .fold(problem, |problem, why| problem.hint(why.clone()));
        return Err(problem.hint(format!(
            "`codeteam fork {id}` begins a new run with it from where this one is"
        )));
    }
    let question = "Use this from now on?";
    let asks = !args.yes && !scene.json && confirm::is_terminal();
    if !(args.yes || (asks && confirm::ask_yes_no(question)?)) {
        if scene.json {
            let report = serde_json::json!({ "run": id, "difference": difference, "done": false });
            output::print_json(&report)?;
        } else if asks {
            eprint_line("nothing was changed");
        } else {
            eprint_line("nothing was changed; `--yes` does it");
        }
        return Ok(Exit::Waiting);
    }
    let pinned = Box::new(now);
    decide::post_decision(scene, &engine, &id, &Decision::RepinWorkflow { pinned })
}

/// Shows what differs from what the run has pinned.
fn print_difference(difference: &WorkflowDifference) {
    let style = TerminalStyle::detect();
    eprint_line(&style.bold("what the run would go on with:"));
    for (what, items) in [("step", &difference.steps), ("role", &difference.roles)] {
        for (name, how) in items {
            output::eprint_wrapped(&format!("  {what} {}: {how}", one_line(name)));
        }
    }
    for key in &difference.other {
        output::eprint_wrapped(&format!("  {}: changed", one_line(key)));
    }
}
