//! `codeteam merge`: the branch of a run into the branch the user is on.

use codeteam_core::rollup::{RunStatus, status};
use codeteam_engine::git::{self, Oid, Strategy};
use codeteam_engine::tell;

use crate::cli::{RunName, Scene};
use crate::exit::Exit;
use crate::output::{self, say};
use crate::problem::Problem;

/// Arguments of `merge`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
    /// Make a merge commit even if the branch could just be moved forward.
    #[arg(long)]
    no_ff: bool,
    /// Merge what a run that is not done has committed so far.
    #[arg(long)]
    partial: bool,
}

pub(crate) fn main(args: &Args, scene: &Scene) -> Result<Exit, Problem> {
    let engine = scene.with_runs()?;
    let run = engine.load(&engine.find(args.run.run.as_deref())?)?;
    if run.tip == run.base {
        return Err(Problem::user(format!("{} has committed nothing", run.id)));
    }
    if status(&run) != RunStatus::Completed && !args.partial {
        return Err(
            Problem::user(format!("{} is not done: {}", run.id, tell::headline(&run)))
                .hint("`--partial` merges the tasks that are verified and committed so far"),
        );
    }
    let tip = Oid::parse(run.tip.commit.as_str())
        .ok_or_else(|| Problem::internal("the run's tip is no commit"))?;
    let message = format!("Merge {}\n\n{}", run.branch, run.goal);
    let merged = if args.no_ff {
        engine
            .repo
            .merge_into_checkout(&tip, Strategy::MergeCommit, &message)
    } else {
        match engine
            .repo
            .merge_into_checkout(&tip, Strategy::FastForward, &message)
        {
            // The branch has moved on since the run started: a real merge.
            Err(git::Error::NotFastForward { .. }) => {
                engine
                    .repo
                    .merge_into_checkout(&tip, Strategy::MergeCommit, &message)
            }
            done => done,
        }
    };
    let merged = merged.map_err(|error| {
        let conflicts = matches!(error, git::Error::MergeConflict { .. });
        let problem = Problem::from(error);
        if conflicts {
            problem.hint(format!(
                "`git merge {}` does it again and leaves the conflicts for you to resolve",
                run.branch
            ))
        } else {
            problem
        }
    })?;
    let branch = engine
        .head
        .branch
        .clone()
        .unwrap_or_else(|| "HEAD".to_owned());
    // A merge that "succeeded" must really have brought the run's commits.
    let missing = engine.repo.commits_since(&merged.after, &tip)?;
    if !missing.is_empty() {
        return Err(Problem::internal(
            "the merge did not bring all of the run's commits",
        ));
    }
    if scene.json {
        output::json(&serde_json::json!({
            "run": run.id, "branch": branch,
            "before": merged.before.as_str(), "after": merged.after.as_str(),
        }))?;
    } else {
        say(&format!(
            "{branch} is at {} now, with everything of {}",
            tell::short(merged.after.as_str()),
            run.id
        ));
        say(&format!(
            "  undo    git reset --keep {}",
            tell::short(merged.before.as_str())
        ));
    }
    Ok(Exit::Done)
}
