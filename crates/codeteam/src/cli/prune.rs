//! `codeteam prune`: removes the worktrees of runs that have ended; their contents are kept. With a
//! bound it also removes texts of completed runs.

use codeteam_engine::maintenance;

use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, eprint_line};
use codeteam_engine::problem::Problem;

/// Arguments of `prune`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print what would be removed, and remove nothing.
    #[arg(long)]
    dry_run: bool,
    /// Also remove transcripts, diffs and files of completed runs, oldest first, until all of them
    /// take no more than this many megabytes
    #[arg(long, value_name = "N")]
    keep_mb: Option<u64>,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.engine_with_runs()?;
    let mut pruned = maintenance::prune(&engine, args.dry_run)?;
    if let Some(keep) = args.keep_mb {
        let budget = maintenance::TextBudget {
            keep: keep.saturating_mul(1 << 20),
            spared: None,
            dry_run: args.dry_run,
        };
        let removed = maintenance::remove_old_texts(&engine, budget)?;
        pruned.texts = Some(removed).filter(|removed| !removed.runs.is_empty());
    }
    let pruned = pruned;
    if scene.json {
        output::print_json(&pruned)?;
        return Ok(Exit::Done);
    }
    let verb = if args.dry_run {
        "would remove"
    } else {
        "removed"
    };
    for worktree in &pruned.removed {
        eprint_line(&format!(
            "{verb} the worktree `{}` of {}",
            worktree.name, worktree.run
        ));
        if let Some(reference) = &worktree.kept {
            eprint_line(&format!("  kept as {reference}"));
        }
    }
    for (name, why) in &pruned.left {
        eprint_line(&format!("left {name}: {why}"));
    }
    for note in &pruned.notes {
        eprint_line(note);
    }
    if pruned.set_ups > 0 {
        let megabytes = pruned.set_ups / (1 << 20);
        eprint_line(&format!(
            "{verb} kept results of set-up commands, {megabytes} MB; they are made again when needed"
        ));
    }
    if pruned.kept_trees > 0 {
        let megabytes = pruned.kept_trees / (1 << 20);
        eprint_line(&format!(
            "{verb} work trees that were kept for the next run, {megabytes} MB"
        ));
    }
    if let Some(texts) = &pruned.texts {
        let runs = match texts.runs.len() {
            1 => "1 completed run".to_owned(),
            all => format!("{all} completed runs"),
        };
        let megabytes = texts.bytes / (1 << 20);
        eprint_line(&format!(
            "{verb} transcripts, diffs and files of {runs}, {megabytes} MB; the log and the commits are kept"
        ));
    }
    let is_all = pruned.bytes == pruned.kept_trees;
    if pruned.removed.is_empty() && pruned.left.is_empty() && is_all {
        if pruned.bytes == 0 && pruned.set_ups == 0 && pruned.texts.is_none() {
            eprint_line("nothing to remove");
        }
    } else {
        let megabytes = pruned.bytes / (1 << 20);
        let worktrees = match pruned.removed.len() {
            1 => "1 worktree".to_owned(),
            all => format!("{all} worktrees"),
        };
        eprint_line(&format!("{verb} {worktrees}, {megabytes} MB"));
    }
    Ok(Exit::Done)
}
