//! `codeteam status`: the runs of a project, or one of them.

use codeteam_core::schedule::Status;
use codeteam_engine::engine::Engine;
use codeteam_engine::{rebuild, tell};
use serde_json::json;

use crate::cli::{RunName, Scene, drive, show};
use crate::exit::Exit;
use crate::output::{self, Style, out_line, say};
use crate::problem::Problem;

/// Arguments of `status`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
}

pub(crate) fn main(args: &Args, scene: &Scene) -> Result<Exit, Problem> {
    let Some(engine) = scene.existing()? else {
        return rebuilt(scene);
    };
    if args.run.run.is_some() {
        let run = engine.load(&engine.find(args.run.run.as_deref())?)?;
        if scene.json {
            output::json(&drive::value(&run))?;
        } else {
            show::tasks(&run)?;
        }
        return Ok(Exit::Done);
    }
    let runs = engine.store.runs()?;
    if scene.json {
        let rows: Vec<serde_json::Value> = runs
            .iter()
            .map(|r| {
                json!({
                    "run": r.id, "goal": r.goal, "status": r.status, "headline": r.headline,
                    "created_at": r.created_at, "updated_at": r.updated_at, "events": r.seq,
                })
            })
            .collect();
        output::json(&rows)?;
        return Ok(Exit::Done);
    }
    if runs.is_empty() {
        say("no runs yet; `codeteam run \"what you want\"` starts one");
    }
    let own = codeteam_engine::store::Owner::this_process("");
    for run in &runs {
        let holder = engine.store.holder(&run.id)?;
        let driven = holder.is_some_and(|h| !h.owner.is_gone(&own));
        let ended = matches!(run.status.as_str(), "completed" | "failed" | "aborted");
        let status = match (ended, driven, run.status.as_str()) {
            (false, false, "running" | "paused") => "stopped",
            (_, _, status) => status,
        };
        out_line(&format!("{}  {}  {}", paint(status), run.id, run.headline))?;
        if status == "stopped" {
            say(&format!("           go on: codeteam resume {}", run.id));
        }
    }
    Ok(Exit::Done)
}

fn paint(status: &str) -> String {
    let style = Style::detect();
    let padded = format!("{status:<9}");
    match status {
        "completed" => style.green(&padded),
        "failed" | "aborted" => style.red(&padded),
        "waiting" | "limited" | "stopped" => style.yellow(&padded),
        _ => style.cyan(&padded),
    }
}

/// Without a log: what the plan and the commits tell.
fn rebuilt(scene: &Scene) -> Result<Exit, Problem> {
    let (repo, head) = Engine::discover(&scene.folder, &scene.env)?;
    let plans = rebuild::plans(&repo, &head)?;
    if scene.json {
        let found: Vec<serde_json::Value> = plans
            .iter()
            .map(|p| {
                json!({
                    "rebuilt": true, "plan": p.path, "description": p.plan.description,
                    "branch": p.branch.as_ref().map(|(name, _)| name), "tasks": p.statuses, "problem": p.problem,
                })
            })
            .collect();
        output::json(&found)?;
        return Ok(Exit::Done);
    }
    if plans.is_empty() {
        say("no runs yet; `codeteam run \"what you want\"` starts one");
        return Ok(Exit::Done);
    }
    say(
        "the log (`.codeteam/state.db`) is gone; this is rebuilt from the plans and from commit trailers",
    );
    for found in &plans {
        let done = found
            .statuses
            .values()
            .filter(|s| **s == Status::Completed)
            .count();
        let total = found.plan.tasks.len();
        out_line(&format!(
            "{done} of {total} tasks done  {}",
            found.path.display()
        ))?;
        if let Some(problem) = &found.problem {
            out_line(&format!("  cannot be read: {}", tell::first_line(problem)))?;
            continue;
        }
        for task in &found.plan.tasks {
            let status = found.statuses.get(&task.id).copied().unwrap_or_default();
            out_line(&format!(
                "  {:<10} {}  {}",
                status.as_str(),
                task.id,
                task.headline()
            ))?;
        }
        if let Some((branch, _)) = &found.branch {
            out_line(&format!("  branch     {branch}"))?;
        }
        if done < total {
            say(&format!(
                "  go on: codeteam run --plan {}",
                found.path.display()
            ));
        }
    }
    Ok(Exit::Done)
}
