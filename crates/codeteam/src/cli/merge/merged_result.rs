//! Checks the result of a merge before the branch moves. A run's checks judged its own commits; if
//! the branch has moved since, nobody has checked both together.

use codeteam_core::event::SandboxKind;
use codeteam_core::frame::Tip;
use codeteam_core::ids::{Commit, Tree};
use codeteam_core::workflow::{Check, CheckKind};
use codeteam_engine::engine::{Engine, run_commands};
use codeteam_engine::perform::{Error, FailingCheck, try_merged_tree};
use codeteam_host::error_chain::format_error_chain;
use codeteam_host::git::{MergeOutcome, Oid};
use codeteam_report::view::LoadedRun;

use super::PreparedMerge;
use crate::cli::{CliContext, baseline, drive};
use codeteam_engine::problem::Problem;

/// The hint that names the flag for skipping the checks.
const NO_CHECK: &str = "`--no-check` merges without checking the result";

/// The state of the check of the tree that a merge leads to.
pub(super) enum MergedResult {
    /// The tree is the run's own, which its checks have judged, or there is nothing to merge.
    Judged,
    /// The run's checks pass on this tree.
    Passed(Oid),
    /// Nobody has checked it; the text says why, and how to check it.
    Unchecked(String),
}

impl MergedResult {
    /// Returns true if the resulting tree was checked.
    pub(super) fn covers(&self, tree: Option<&Oid>) -> bool {
        match self {
            Self::Judged => true,
            Self::Passed(checked) => tree == Some(checked),
            Self::Unchecked(_) => false,
        }
    }
}

/// Runs the run's checks on the result of the merge, unless they have judged exactly that tree.
pub(super) fn check_merged_result(
    scene: &CliContext,
    engine: Option<&Engine>,
    merge: &PreparedMerge<'_>,
) -> Result<MergedResult, Problem> {
    let (repo, head) = (merge.place.repo, merge.place.head);
    let MergeOutcome::Clean { tree } = repo.merge_commits(&head.commit, &merge.tip)? else {
        // The merge itself reports conflicts.
        return Ok(MergedResult::Judged);
    };
    if tree == head.tree || tree == repo.tree_of(&merge.tip)? {
        return Ok(MergedResult::Judged);
    }
    let run = merge.run;
    let checks = run_commands(run.as_run());
    let unchecked = |why: &str| Ok(MergedResult::Unchecked(advise_checking(why, &checks)));
    let Some(engine) = engine else {
        return unchecked("the log that names the run's checks is gone");
    };
    if merge.args.no_check {
        return unchecked("`--no-check` was given");
    }
    if checks.is_empty() {
        return unchecked("the run had no checks");
    }
    if !may_run_checks(engine, run) {
        return unchecked("the run's checks ran without a sandbox, which you allowed for that run");
    }
    let merged = Tip {
        commit: Commit(head.commit.as_str().to_owned()),
        tree: Tree(tree.as_str().to_owned()),
    };
    let failing = run_checks(scene, engine, run, &merged)?;
    let Some(first) = failing.first() else {
        return Ok(MergedResult::Passed(tree));
    };
    let names: Vec<String> = failing.iter().map(|c| format!("`{}`", c.name)).collect();
    let verb = if names.len() == 1 { "fails" } else { "fail" };
    let what = format!(
        "{} {verb} on what `{}` and {} come to together, so nothing was merged",
        names.join(", "),
        merge.branch,
        run.id
    );
    let problem = Problem::environment(baseline::with_check_output(&what, first));
    Err(problem
        .hint(format!(
            "`git merge {}` merges it into your checkout by hand, where you can repair it",
            run.branch
        ))
        .hint(NO_CHECK))
}

/// Returns true if the checks may run as they did in the run. A run without a sandbox back then
/// does not permit one without a sandbox today.
fn may_run_checks(engine: &Engine, run: &LoadedRun) -> bool {
    run.sandbox != SandboxKind::None || engine.config.sandbox.backend == Some(SandboxKind::None)
}

fn run_checks(
    scene: &CliContext,
    engine: &Engine,
    run: &LoadedRun,
    merged: &Tip,
) -> Result<Vec<FailingCheck>, Problem> {
    let interrupt = drive::driver_options(false)?.interrupt;
    let tried = drive::show_progress(scene, engine, |progress| {
        try_merged_tree(engine, run.as_run(), merged, interrupt.clone(), progress)
    });
    match tried {
        Ok(failing) => Ok(failing),
        Err(_) if interrupt.is_cancelled() => Err(Problem::environment(
            "the checks of the merged result were stopped; nothing was merged",
        )
        .hint(NO_CHECK)),
        Err(Error::Halt(halt)) => Err(Problem::before_start(halt)
            .hint("nothing was merged")
            .hint(NO_CHECK)),
        Err(error) => Err(Problem::environment(format!(
            "the merged result could not be checked, so nothing was merged: {}",
            format_error_chain(&error)
        ))
        .hint(NO_CHECK)),
    }
}

/// Explains that nobody has checked a result, why, and which commands do.
fn advise_checking(why: &str, checks: &[Check]) -> String {
    let commands: Vec<String> = checks
        .iter()
        .filter_map(|check| match &check.what {
            CheckKind::Command(command) => Some(format!("`{command}`")),
            _ => None,
        })
        .collect();
    let how = if commands.is_empty() {
        String::new()
    } else {
        format!("; you can: {}", commands.join(", "))
    };
    format!(
        "your branch had moved since the run began, and nobody has checked both together: {why}{how}"
    )
}
