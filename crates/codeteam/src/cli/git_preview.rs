//! The git preview: what a run or a merge is about to do to branches, shown before it happens. It is
//! asked for with `git.dry_run_preview` or `--preview`; commits have a preview of their own.

use codeteam_core::event::RunStarted;
use codeteam_core::untrusted_text::one_line;
use codeteam_engine::engine::Engine;
use codeteam_engine::problem::Problem;
use codeteam_host::git::{BranchCommit, CheckoutHead};
use codeteam_report::describe::short_id;
use codeteam_report::proposal::describe_delivery;

use super::{confirm, init};
use crate::output::eprint_line;

/// The most commits, and the most files, that are shown.
const SHOWN: usize = 10;

/// Shows the branch of a run and what it starts from, and asks whether to go on. `from` is the branch
/// that the run continues, if it is not the one that is checked out. Without a person, the preview is
/// only shown.
pub(crate) fn confirm_start(
    engine: &Engine,
    started: &RunStarted,
    from: Option<&str>,
    may_ask: bool,
) -> Result<bool, Problem> {
    if engine.config.git.dry_run_preview != Some(true) {
        return Ok(true);
    }
    let from = from.or(engine.head.branch.as_deref());
    let from = from.unwrap_or("a detached HEAD");
    let base = short_id(started.base.commit.0.as_str());
    let mut lines = vec![
        format!("branch  {}", started.branch),
        format!("base    {from} ({base})"),
    ];
    let then = describe_delivery(&started.workflow);
    if !then.is_empty() {
        lines.push(format!("then    {then}"));
    }
    confirm_preview(&lines, may_ask, "Start the run? [Y/n]")
}

/// Shows what a merge brings, and into which branch, and asks whether to go on.
pub(crate) fn confirm_merge(
    commits: &[BranchCommit],
    files: &[String],
    target: (&str, &CheckoutHead),
    may_ask: bool,
) -> Result<bool, Problem> {
    let (branch, head) = target;
    let mut lines = Vec::new();
    let subjects: Vec<String> = commits.iter().map(|c| c.subject.clone()).collect();
    push_list(&mut lines, "commit", &subjects);
    push_list(&mut lines, "files", files);
    let at = short_id(head.commit.as_str());
    lines.push(format!("target  {branch} ({at})"));
    confirm_preview(&lines, may_ask, "Merge it? [Y/n]")
}

fn push_list(lines: &mut Vec<String>, word: &str, items: &[String]) {
    for (at, item) in items.iter().take(SHOWN).enumerate() {
        let word = if at == 0 { word } else { "" };
        lines.push(format!("{word:<7} {}", one_line(item)));
    }
    if items.len() > SHOWN {
        lines.push(format!("        and {} more", items.len() - SHOWN));
    }
}

fn confirm_preview(lines: &[String], may_ask: bool, question: &str) -> Result<bool, Problem> {
    eprint_line("git preview:");
    for line in lines {
        eprint_line(&format!("  {line}"));
    }
    if !may_ask || !confirm::is_terminal() {
        return Ok(true);
    }
    init::confirm(question)
}
