//! `codeteam prune`: remove the worktrees of runs that have ended; what they hold is kept.

use codeteam_engine::maintenance;

use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, say};
use crate::problem::Problem;

/// Arguments of `prune`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Say what would be removed, and remove nothing.
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.with_runs()?;
    let pruned = maintenance::prune(&engine, args.dry_run)?;
    if scene.json {
        output::json(&pruned)?;
        return Ok(Exit::Done);
    }
    let verb = if args.dry_run {
        "would remove"
    } else {
        "removed"
    };
    for worktree in &pruned.removed {
        say(&format!("{verb} {} of {}", worktree.name, worktree.run));
        if let Some(reference) = &worktree.kept {
            say(&format!("  kept as {reference}"));
        }
    }
    for (name, why) in &pruned.left {
        say(&format!("left {name}: {why}"));
    }
    for note in &pruned.notes {
        say(note);
    }
    if pruned.set_ups > 0 {
        let megabytes = pruned.set_ups / (1 << 20);
        say(&format!(
            "{verb} kept results of set-up commands, {megabytes} MB; they are made again when needed"
        ));
    }
    if pruned.removed.is_empty() && pruned.left.is_empty() && pruned.bytes == 0 {
        if pruned.set_ups == 0 {
            say("nothing to remove");
        }
    } else {
        let megabytes = pruned.bytes / (1 << 20);
        say(&format!(
            "{verb} {} worktrees, {megabytes} MB",
            pruned.removed.len()
        ));
    }
    Ok(Exit::Done)
}
