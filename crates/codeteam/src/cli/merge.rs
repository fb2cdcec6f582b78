//! `codeteam merge`: merges a run's commits into the user's current branch.

mod merged_result;

use std::fmt::Write as _;

use codeteam_core::operator::Operator;
use codeteam_core::rollup::RunStatus;
use codeteam_engine::clock::now;
use codeteam_engine::config::retired_run_ref;
use codeteam_engine::engine::{Engine, Project};
use codeteam_engine::session;
use codeteam_host::git::{
    self, BranchMove, CheckoutHead, CommitSignature, ExpectedRef, GitIdentity, MergeOutcome,
    MergeStrategy, Oid, PushTarget, Repo, reference_name,
};
use codeteam_report::trailers::trailer;
use codeteam_report::view::LoadedRun;
use codeteam_report::{describe, rebuild};

use self::merged_result::{MergedResult, check_merged_result};
use crate::cli::{CliContext, RunName, git_preview};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, eprint_line};
use codeteam_engine::problem::Problem;

const PARTIAL: &str = "`--partial` merges the tasks that are verified and committed so far";

/// Arguments of `merge`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are flags")]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
    /// Make a merge commit even if a fast-forward is possible.
    #[arg(long, conflicts_with = "squash")]
    no_ff: bool,
    /// Squash the run's commits into one.
    #[arg(long)]
    squash: bool,
    /// The message of the commit, if one is made.
    #[arg(short, long)]
    message: Option<String>,
    /// Merge what an unfinished run has committed so far.
    #[arg(long)]
    partial: bool,
    /// Do not run the run's checks on the result first, if your branch has moved since the run began.
    #[arg(long)]
    no_check: bool,
    /// Push your branch afterwards.
    #[arg(long)]
    push: bool,
    /// Delete the run's branch afterwards. Its commits are kept below `refs/codeteam/`.
    #[arg(long)]
    delete_branch: bool,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let Some(engine) = scene.existing_engine()? else {
        let project = scene.find_project()?;
        let (run, is_done) = rebuild_run(args, &project)?;
        let place = MergeLocation {
            repo: &project.repo,
            head: &project.head,
            author: project.env.author.as_ref(),
        };
        let merge = PreparedMerge::prepare(args, place, &run, is_done)?;
        let is_previewed = project.config.git.dry_run_preview == Some(true);
        return perform_merge(scene, None, &merge, is_previewed);
    };
    let run = engine.load_run_view(&engine.find_work_run(args.run.run.as_deref())?)?;
    let is_done = run.status == RunStatus::Completed;
    let place = MergeLocation {
        repo: &engine.repo,
        head: &engine.head,
        author: engine.env.author.as_ref(),
    };
    let merge = PreparedMerge::prepare(args, place, &run, is_done)?;
    let is_previewed = engine.config.git.dry_run_preview == Some(true);
    perform_merge(scene, Some(&engine), &merge, is_previewed)
}

/// Reconstructs, without a log, as much of a run as its plan and commits contain, and whether it is
/// done.
fn rebuild_run(args: &Args, project: &Project) -> Result<(LoadedRun, bool), Problem> {
    let plans = rebuild::find_plans(&project.repo, &project.head)?;
    let wanted = args.run.run.as_deref();
    let mut plans = plans.iter().filter(|found| match wanted {
        None => found.branch.is_some(),
        Some(name) => found.plan.plan_id == name || found.runs.iter().any(|r| r.contains(name)),
    });
    let Some(found) = plans.next() else {
        return Err(Problem::from(codeteam_engine::engine::Error::NoRuns));
    };
    let newest = found.newest_run();
    let Some(run) = found.committed_run(&project.head) else {
        return Err(Problem::user(format!(
            "{newest} has committed nothing that is not here already"
        )));
    };
    if !found.is_finished() && !args.partial {
        let counts = found.describe_progress();
        return Err(Problem::user(format!("{newest} is not done: {counts}")).hint(PARTIAL));
    }
    eprint_line(&format!(
        "{}: the log (`.codeteam/state.db`) is gone; this relies on the plan and the commit trailers",
        TerminalStyle::detect().yellow("note")
    ));
    Ok((run, found.is_finished()))
}

fn perform_merge(
    scene: &CliContext,
    engine: Option<&Engine>,
    merge: &PreparedMerge<'_>,
    is_previewed: bool,
) -> Result<Exit, Problem> {
    let (args, run) = (merge.args, merge.run);
    if is_previewed && !merge.confirm(!scene.json)? {
        eprint_line("nothing was merged");
        return Ok(Exit::Done);
    }
    let result = check_merged_result(scene, engine, merge)?;
    let done = merge.merge()?;
    let deleted = args.delete_branch && merge.delete_branch()?;
    let tree = merge.place.repo.tree_of(&done.after).ok();
    let is_checked = result.covers(tree.as_ref());
    if !scene.json {
        merge.report(&done, deleted);
        if done.before != done.after {
            report_checks(&result, is_checked);
        }
    }
    let pushed = match &merge.remote {
        Some(remote) => {
            let pushed = merge.place.repo.push(&merge.branch, remote);
            pushed.map_err(|error| {
                Problem::from(error).hint("everything else is done; only the push is not")
            })?;
            true
        }
        None => false,
    };
    if scene.json {
        output::print_json(&serde_json::json!({
            "run": run.id, "branch": merge.branch,
            "before": done.before.as_str(), "after": done.after.as_str(),
            "deleted": deleted, "pushed": pushed, "checked": is_checked,
        }))?;
    } else if done.before != done.after {
        let own = merge.uncommitted_work(&done);
        eprint_line(&format!(
            "  undo    {}",
            merge.undo_command(&done, own.as_ref())
        ));
        if own.is_some() {
            let mut kept = describe::KEPT.to_owned();
            if merge.remote.is_none() {
                let _ = write!(kept, "; {}", describe::UNCOMMITTED);
            }
            eprint_line(&format!("          {kept}"));
        }
    }
    Ok(Exit::Done)
}

/// Reports whether anybody has checked the resulting branch.
fn report_checks(result: &MergedResult, is_checked: bool) {
    let note = TerminalStyle::detect().yellow("note");
    match result {
        MergedResult::Judged => {}
        MergedResult::Passed(_) if is_checked => {
            eprint_line("  checked the run's checks pass on both together");
        }
        MergedResult::Passed(_) => output::eprint_wrapped(&format!(
            "{note}: git merged it in another way than codeteam, so that what was checked is not what \
             you have now"
        )),
        MergedResult::Unchecked(why) => output::eprint_wrapped(&format!("{note}: {why}")),
    }
}

/// The place of a merge.
#[derive(Clone, Copy)]
struct MergeLocation<'a> {
    repo: &'a Repo,
    head: &'a CheckoutHead,
    /// The user's identity from the environment.
    author: Option<&'a GitIdentity>,
}

/// A merge whose preconditions were all checked.
struct PreparedMerge<'a> {
    args: &'a Args,
    place: MergeLocation<'a>,
    run: &'a LoadedRun,
    /// The commit to merge.
    tip: Oid,
    /// The user's branch.
    branch: String,
    /// The remote to push the branch to, if it is to be pushed.
    remote: Option<PushTarget>,
}

impl<'a> PreparedMerge<'a> {
    /// Checks everything that can be wrong before anything is touched.
    fn prepare(
        args: &'a Args,
        place: MergeLocation<'a>,
        run: &'a LoadedRun,
        is_done: bool,
    ) -> Result<Self, Problem> {
        if !run.has_commits() {
            return Err(Problem::user(format!("{} has committed nothing", run.id)));
        }
        if !is_done && !args.partial {
            return Err(
                Problem::user(format!("{} is not done: {}", run.id, run.headline)).hint(PARTIAL),
            );
        }
        let tip = Oid::parse(run.tip.as_str())
            .ok_or_else(|| Problem::internal("the run's tip is not a commit"))?;
        let branch = place.head.branch.clone().ok_or_else(|| {
            Problem::user("HEAD is detached, so there is no branch to merge into")
                .hint("`git switch` to the branch you want it in, then try again")
        })?;
        if branch == run.branch && run.delivered.is_none() {
            return Err(Problem::user(format!("`{branch}` is the run's own branch"))
                .hint("`git switch` to the branch you want it in, then try again"));
        }
        let remote = if args.push {
            place.repo.remote_for(&branch)?
        } else {
            None
        };
        if args.push && remote.is_none() {
            return Err(Problem::user("there is no remote to push to")
                .hint("`git remote add origin URL` names one; nothing was merged"));
        }
        Ok(Self {
            args,
            place,
            run,
            tip,
            branch,
            remote,
        })
    }

    /// Shows what would be merged, and asks a person if there is one.
    fn confirm(&self, may_ask: bool) -> Result<bool, Problem> {
        let (repo, head) = (self.place.repo, self.place.head);
        let mut commits = repo.commits_since(&head.commit, &self.tip)?;
        if commits.is_empty() {
            return Ok(true); // There is nothing to merge, and the command says so.
        }
        commits.reverse();
        let base = Oid::parse(self.run.base.as_str())
            .ok_or_else(|| Problem::internal("the run's base is not a commit"))?;
        let files = repo.differing_files(&base, &self.tip)?;
        let files = files.iter().map(|file| file.display().to_string());
        let files: Vec<String> = files.collect();
        git_preview::confirm_merge(&commits, &files, (self.branch.as_str(), head), may_ask)
    }

    fn merge(&self) -> Result<BranchMove, Problem> {
        let repo = self.place.repo;
        let here = &self.place.head.commit;
        if repo.is_ancestor(&self.tip, here)? {
            return Ok(BranchMove {
                before: here.clone(),
                after: here.clone(),
            });
        }
        if self.args.squash {
            return self.squash();
        }
        if !self.args.no_ff {
            if let Some(done) = self.advance_checkout(&self.tip)? {
                return Ok(done);
            }
            match repo.merge_into_checkout(&self.tip, MergeStrategy::FastForward) {
                // The branch has moved on since the run started, so a real merge is needed.
                Err(git::Error::NotFastForward { .. }) => {}
                done => return done.map_err(|error| self.merge_problem(error)),
            }
        }
        // After an earlier squash all changes are there, although none of the commits is.
        let head = self.place.head;
        let is_all_there =
            |merged| matches!(merged, MergeOutcome::Clean { tree } if tree == head.tree);
        if !self.args.no_ff && is_all_there(repo.merge_commits(&head.commit, &self.tip)?) {
            return Ok(BranchMove {
                before: here.clone(),
                after: here.clone(),
            });
        }
        let by = self.signature()?;
        let message = self.args.message.clone().unwrap_or_else(|| {
            let what = if self.run.branch.starts_with("refs/") {
                format!("run {}", self.run.id)
            } else {
                self.run.branch.clone()
            };
            format!("Merge {what}\n\n{}", self.run.goal)
        });
        let strategy = MergeStrategy::MergeCommit {
            by: &by,
            message: &message,
        };
        if let Some(done) = self.advance_by_merge(&message)? {
            return Ok(done);
        }
        let merged = repo
            .merge_into_checkout(&self.tip, strategy)
            .map_err(|error| self.merge_problem(error))?;
        // A merge that "succeeded" must really contain the run's commits.
        if repo.is_ancestor(&self.tip, &merged.after)? {
            return Ok(merged);
        }
        Err(Problem::internal(
            "the merge did not bring all of the run's commits",
        ))
    }

    /// Moves only the branch and the index, because a session's changes are already in the
    /// checkout.
    fn advance_checkout(&self, to: &Oid) -> Result<Option<BranchMove>, Problem> {
        let MergeLocation { repo, head, .. } = self.place;
        let done = session::advance_branch(repo, head, self.run.as_run(), &self.branch, to)?;
        Ok(done.then(|| BranchMove {
            before: head.commit.clone(),
            after: to.clone(),
        }))
    }

    /// Does the same with a merge commit, which is created first; then the branch is fast-forwarded
    /// to it.
    fn advance_by_merge(&self, message: &str) -> Result<Option<BranchMove>, Problem> {
        let (repo, here) = (self.place.repo, &self.place.head.commit);
        if self.run.started_by != Operator::Session {
            return Ok(None);
        }
        let MergeOutcome::Clean { tree } = repo.merge_commits(here, &self.tip)? else {
            return Ok(None);
        };
        let made = repo.commit(&tree, &[here, &self.tip], message, &self.signature()?)?;
        match self.advance_checkout(&made)? {
            Some(done) => Ok(Some(done)),
            None => repo
                .merge_into_checkout(&made, MergeStrategy::FastForward)
                .map(Some)
                .map_err(|error| self.merge_problem(error)),
        }
    }

    /// Squashes everything into one commit, which is created first; then the branch is
    /// fast-forwarded to it.
    fn squash(&self) -> Result<BranchMove, Problem> {
        let repo = self.place.repo;
        let head = self.place.head;
        let tree = match repo.merge_commits(&head.commit, &self.tip)? {
            MergeOutcome::Clean { tree } => tree,
            MergeOutcome::Conflict { files } => {
                return Err(self.merge_problem(git::Error::MergeConflict { files }));
            }
        };
        if tree == head.tree {
            return Ok(BranchMove {
                before: head.commit.clone(),
                after: head.commit.clone(),
            });
        }
        let message = match &self.args.message {
            Some(message) => message.clone(),
            None => self.squash_message()?,
        };
        let parents = [&head.commit];
        let made = repo.commit(&tree, &parents, &message, &self.signature()?)?;
        if let Some(done) = self.advance_checkout(&made)? {
            return Ok(done);
        }
        repo.merge_into_checkout(&made, MergeStrategy::FastForward)
            .map_err(|error| self.merge_problem(error))
    }

    /// Composes the message: the goal in the form of the run's messages, and the messages of the
    /// commits.
    fn squash_message(&self) -> Result<String, Problem> {
        let base = Oid::parse(self.run.base.as_str())
            .ok_or_else(|| Problem::internal("the run's base is not a commit"))?;
        let commits = self.place.repo.commits_since(&base, &self.tip)?;
        let made = self.run.compose_message();
        let mut text = made.unwrap_or_else(|| self.run.goal.clone());
        text.push_str("\n\n");
        for commit in commits.iter().rev() {
            let _ = writeln!(text, "- {}", commit.subject);
        }
        let _ = writeln!(text, "\n{}: {}", trailer::RUN, self.run.id);
        Ok(text)
    }

    fn signature(&self) -> Result<CommitSignature, Problem> {
        let identity = match self.place.author {
            Some(author) => Some(author.clone()),
            None => self.place.repo.identity()?,
        };
        let identity = identity.ok_or(codeteam_engine::engine::Error::NoIdentity)?;
        let seconds = i64::try_from(now().0 / 1_000).unwrap_or(0);
        Ok(CommitSignature { identity, seconds })
    }

    fn merge_problem(&self, error: git::Error) -> Problem {
        let conflicts = matches!(error, git::Error::MergeConflict { .. });
        let problem = Problem::from(error);
        if conflicts {
            problem.hint(format!(
                "`git merge {}` does it again and leaves the conflicts for you to resolve",
                self.run.branch
            ))
        } else {
            problem
        }
    }

    /// Deletes the run's branch, and returns true if it is gone. Its commits are kept by another
    /// reference first.
    fn delete_branch(&self) -> Result<bool, Problem> {
        let repo = self.place.repo;
        let own = reference_name(&self.run.branch);
        let is_own = own.starts_with("refs/heads/") && self.run.branch != self.branch;
        let found = repo.read_ref(&own)?;
        if !is_own || found.is_none() {
            return Ok(false);
        }
        let note = |text: String| {
            eprint_line(&format!(
                "{}: {text}",
                TerminalStyle::detect().yellow("note")
            ));
        };
        if let Some(folder) = repo.checkout_of(&self.run.branch)? {
            note(format!(
                "{} stays, it is checked out in `{}`",
                self.run.branch,
                folder.display()
            ));
            return Ok(false);
        }
        if found.as_ref() != Some(&self.tip) {
            note(format!(
                "{} stays, it has commits that are not the run's",
                self.run.branch
            ));
            return Ok(false);
        }
        let kept = retired_run_ref(self.run.id.as_str());
        repo.update_ref(&kept, &self.tip, ExpectedRef::Anywhere)?;
        repo.delete_ref(&own, &self.tip)?;
        Ok(true)
    }

    fn report(&self, done: &BranchMove, deleted: bool) {
        let (branch, id) = (&self.branch, &self.run.id);
        if done.before == done.after {
            eprint_line(&format!("{branch} has everything of {id} already"));
        } else {
            let at = describe::short_id(done.after.as_str());
            let what = if self.args.partial {
                "all that is committed of"
            } else {
                "everything of"
            };
            eprint_line(&format!("{branch} is at {at} now, with {what} {id}"));
        }
        if deleted {
            let kept = retired_run_ref(self.run.id.as_str());
            eprint_line(&format!("  deleted {} (kept as {kept})", self.run.branch));
        } else if let Ok(Some(found)) = self.place.repo.read_ref(&reference_name(&self.run.branch))
            && self.run.branch != *branch
            && found != self.tip
        {
            eprint_line(&format!(
                "  more    {} has commits that are not the run's: git merge {}",
                self.run.branch, self.run.branch
            ));
        }
        if self.remote.is_none()
            && let Ok(Some(remote)) = self.place.repo.remote_for(branch)
        {
            let how = if remote.is_known {
                String::new()
            } else {
                format!(" -u {} {branch}", remote.name)
            };
            eprint_line(&format!("  push    git push{how}"));
        }
    }

    /// Returns the commit of the user's uncommitted work from before the task, if it came with the
    /// merge. It belongs to the user and stays when the rest is undone.
    fn uncommitted_work(&self, done: &BranchMove) -> Option<Oid> {
        let repo = self.place.repo;
        let start = codeteam_engine::perform::uncommitted_base(repo, &self.run.id).ok()??;
        let before = repo.tree_of(&done.before).ok()?;
        match repo.merge_commits(&done.before, &start).ok()? {
            MergeOutcome::Clean { tree } if tree == before => None,
            _ => Some(start),
        }
    }

    /// Returns the command that undoes the merge. Others may already have what was pushed, so that
    /// is reverted instead of removed from the branch. `own` is the user's own work, which is kept.
    fn undo_command(&self, done: &BranchMove, own: Option<&Oid>) -> String {
        let repo = self.place.repo;
        let after = describe::short_id(done.after.as_str());
        // Go back to the user's own work if nothing of the run is on the way there; otherwise
        // remove it too, and restore it afterwards.
        let leads = |to: &Oid, from: &Oid| repo.is_ancestor(to, from).unwrap_or(false);
        let on_the_way = own.filter(|start| {
            let is_kept = self.remote.is_none() || leads(start, &done.after);
            leads(&done.before, start) && is_kept
        });
        let before = describe::short_id(on_the_way.unwrap_or(&done.before).as_str());
        let again = own.filter(|_| on_the_way.is_none());
        let again = again.map_or(String::new(), |start| {
            format!(" && git cherry-pick {}", describe::short_id(start.as_str()))
        });
        if self.remote.is_none() {
            return format!("git reset --keep {before}{again}");
        }
        let parents = repo.commits_since(&done.before, &done.after);
        let merges = parents
            .ok()
            .and_then(|commits| commits.first().map(|commit| commit.parents.len() > 1))
            .unwrap_or(false);
        if merges {
            format!("git revert --no-edit -m 1 {after}{again}")
        } else {
            format!("git revert --no-edit {before}..{after}{again}")
        }
    }
}
