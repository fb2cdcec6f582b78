//! `codeteam risk`: explains the risk of the changes of a run.

use codeteam_core::untrusted_text::one_line;
use codeteam_engine::problem::Problem;
use codeteam_engine::risk::RiskExplanation;

use crate::cli::{CliContext, RunName};
use crate::exit::Exit;
use crate::output::{self, eprint_line, print_line};

/// Arguments of `risk`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
    /// Only the change of this task.
    task: Option<String>,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.engine_with_runs()?;
    let id = engine.find_run(args.run.run.as_deref())?;
    let found = engine.explain_risk(&id, args.task.as_deref())?;
    if scene.json {
        output::print_json(&found)?;
        return Ok(Exit::Done);
    }
    match (found.as_slice(), &args.task) {
        ([], Some(task)) => {
            return Err(
                Problem::user(format!("there is no change of `{task}` in {id}"))
                    .hint(format!("`codeteam show {id}` lists its tasks")),
            );
        }
        ([], None) => eprint_line(&format!("nothing is changed in {id}")),
        ([first, ..], _) if !first.in_force => eprint_line(
            "no approval policy is in force: these are codeteam's own levels, which ask nobody",
        ),
        _ => {}
    }
    for explanation in &found {
        print_explanation(explanation)?;
    }
    Ok(Exit::Done)
}

fn print_explanation(found: &RiskExplanation) -> Result<(), Problem> {
    let facts = &found.facts;
    let lines = facts.lines.map_or_else(
        || "lines not counted".to_owned(),
        |lines| format!("{lines} line{}", if lines == 1 { "" } else { "s" }),
    );
    let s = if facts.files == 1 { "" } else { "s" };
    print_line(&one_line(&format!(
        "{}: {} risk ({} file{s}, {lines})",
        found.task,
        found.risk.as_str(),
        facts.files
    )))?;
    for reason in &found.reasons {
        print_line(&format!("  because {}", one_line(reason)))?;
    }
    for requirement in &found.requirements {
        print_line(&format!("  needs {}", one_line(requirement)))?;
    }
    for set in &facts.paths {
        let files = set.files.join(", ");
        let more = match set.more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let line = format!("touches {}: {files}{more}", set.set);
        print_line(&format!("  {}", one_line(&line)))?;
    }
    for broken in &facts.breaking {
        print_line(&format!("  breaks {}", one_line(&broken.describe())))?;
    }
    if !facts.unread.is_empty() {
        let files = facts.unread.join(", ");
        print_line(&one_line(&format!(
            "  public signatures not known: {files}"
        )))?;
    }
    for level in &found.levels {
        print_line(&format!("  level {}", one_line(&level.name)))?;
        for condition in &level.conditions {
            let holds = match condition.holds {
                Some(true) => "holds",
                Some(false) => "does not hold",
                None => "is not known",
            };
            let line = format!("{} {holds}: {}", condition.condition, condition.because);
            print_line(&format!("    {}", one_line(&line)))?;
        }
    }
    Ok(())
}
