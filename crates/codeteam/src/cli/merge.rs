//! `codeteam merge`: what a run has committed into the branch the user is on.

use std::fmt::Write as _;

use codeteam_core::Run;
use codeteam_core::frame::Tip;
use codeteam_core::hands::Operator;
use codeteam_core::ids::{Commit, RunId};
use codeteam_core::message::CommitFacts;
use codeteam_core::rollup::{RunStatus, status};
use codeteam_engine::config::retired;
use codeteam_engine::engine::Project;
use codeteam_engine::git::{
    self, BranchMove, CheckoutHead, CommitSignature, ExpectedRef, GitIdentity, MergeOutcome,
    MergeStrategy, Oid, PushTarget, Repo, reference,
};
use codeteam_engine::perform::{now, trailer};
use codeteam_engine::{rebuild, session, tell};

use crate::cli::{CliContext, RunName};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, say};
use crate::problem::Problem;

const PARTIAL: &str = "`--partial` merges the tasks that are verified and committed so far";

/// Arguments of `merge`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are flags")]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
    /// Make a merge commit even if the branch could just be moved forward.
    #[arg(long, conflicts_with = "squash")]
    no_ff: bool,
    /// Make one commit of all of the run's.
    #[arg(long)]
    squash: bool,
    /// The message of the commit, if one is made.
    #[arg(short, long)]
    message: Option<String>,
    /// Merge what a run that is not done has committed so far.
    #[arg(long)]
    partial: bool,
    /// Push your branch afterwards.
    #[arg(long)]
    push: bool,
    /// Delete the run's branch afterwards. Its commits are kept below `refs/codeteam/`.
    #[arg(long)]
    delete_branch: bool,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let Some(engine) = scene.existing()? else {
        let project = scene.project()?;
        let (run, is_done) = rebuilt(args, &project)?;
        let place = MergeLocation {
            repo: &project.repo,
            head: &project.head,
            author: project.env.author.as_ref(),
        };
        return carry_out(scene, &PreparedMerge::of(args, place, &run, is_done)?);
    };
    let run = engine.load(&engine.find_work(args.run.run.as_deref())?)?;
    let is_done = status(&run) == RunStatus::Completed;
    let place = MergeLocation {
        repo: &engine.repo,
        head: &engine.head,
        author: engine.env.author.as_ref(),
    };
    carry_out(scene, &PreparedMerge::of(args, place, &run, is_done)?)
}

/// Without a log: as much of a run as its plan and its commits tell, and whether it is done.
fn rebuilt(args: &Args, project: &Project) -> Result<(Run, bool), Problem> {
    let plans = rebuild::plans(&project.repo, &project.head)?;
    let wanted = args.run.run.as_deref();
    let mut plans = plans.iter().filter(|found| match wanted {
        None => found.branch.is_some(),
        Some(name) => found.plan.plan_id == name || found.runs.iter().any(|r| r.contains(name)),
    });
    let Some(found) = plans.next() else {
        return Err(Problem::from(codeteam_engine::engine::Error::NoRuns));
    };
    let newest = found.runs.last().unwrap_or(&found.plan.plan_id);
    let Some((branch, tip)) = &found.branch else {
        return Err(Problem::user(format!(
            "{newest} has committed nothing that is not here already"
        )));
    };
    if !found.is_finished() && !args.partial {
        let counts = found.counts();
        return Err(Problem::user(format!("{newest} is not done: {counts}")).hint(PARTIAL));
    }
    say(&format!(
        "{}: the log (`.codeteam/state.db`) is gone; this goes by the plan and commit trailers",
        TerminalStyle::detect().yellow("note")
    ));
    let named = |oid: &Oid| Tip {
        commit: Commit(oid.as_str().to_owned()),
        ..Tip::default()
    };
    let run = Run {
        id: RunId(newest.clone()),
        goal: found.plan.description.clone(),
        branch: branch.clone(),
        // What is merged is what the checkout has not.
        base: named(&project.head.commit),
        tip: named(tip),
        ..Run::default()
    };
    Ok((run, found.is_finished()))
}

fn carry_out(scene: &CliContext, merge: &PreparedMerge<'_>) -> Result<Exit, Problem> {
    let (args, run) = (merge.args, merge.run);
    let done = merge.merge()?;
    let deleted = args.delete_branch && merge.delete_branch()?;
    if !scene.json {
        merge.tell(&done, deleted);
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
        output::json(&serde_json::json!({
            "run": run.id, "branch": merge.branch,
            "before": done.before.as_str(), "after": done.after.as_str(),
            "deleted": deleted, "pushed": pushed,
        }))?;
    } else if done.before != done.after {
        let own = merge.own_work(&done);
        say(&format!("  undo    {}", merge.undo(&done, own.as_ref())));
        if own.is_some() {
            let mut kept = tell::KEPT.to_owned();
            if merge.remote.is_none() {
                let _ = write!(kept, "; {}", tell::UNCOMMITTED);
            }
            say(&format!("          {kept}"));
        }
    }
    Ok(Exit::Done)
}

/// Where a merge takes place.
#[derive(Clone, Copy)]
struct MergeLocation<'a> {
    repo: &'a Repo,
    head: &'a CheckoutHead,
    /// Who the environment says the user is.
    author: Option<&'a GitIdentity>,
}

/// A merge that has everything it needs.
struct PreparedMerge<'a> {
    args: &'a Args,
    place: MergeLocation<'a>,
    run: &'a Run,
    /// What is merged.
    tip: Oid,
    /// The user's branch.
    branch: String,
    /// Where that is pushed to, if it is to be.
    remote: Option<PushTarget>,
}

impl<'a> PreparedMerge<'a> {
    /// Finds everything that can be wrong before anything is touched.
    fn of(
        args: &'a Args,
        place: MergeLocation<'a>,
        run: &'a Run,
        is_done: bool,
    ) -> Result<Self, Problem> {
        if run.tip == run.base {
            return Err(Problem::user(format!("{} has committed nothing", run.id)));
        }
        if !is_done && !args.partial {
            return Err(
                Problem::user(format!("{} is not done: {}", run.id, tell::headline(run)))
                    .hint(PARTIAL),
            );
        }
        let tip = Oid::parse(run.tip.commit.as_str())
            .ok_or_else(|| Problem::internal("the run's tip is no commit"))?;
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
            if let Some(done) = self.advanced(&self.tip)? {
                return Ok(done);
            }
            match repo.merge_into_checkout(&self.tip, MergeStrategy::FastForward) {
                // The branch has moved on since the run started: a real merge.
                Err(git::Error::NotFastForward { .. }) => {}
                done => return done.map_err(|error| self.problem(error)),
            }
        }
        // What was squashed before is all there, though no commit of it is.
        let head = self.place.head;
        let is_all_there =
            |merged| matches!(merged, MergeOutcome::Clean { tree } if tree == head.tree);
        if !self.args.no_ff && is_all_there(repo.merge_commits(&head.commit, &self.tip)?) {
            return Ok(BranchMove {
                before: here.clone(),
                after: here.clone(),
            });
        }
        let by = self.signature()?.identity;
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
        if let Some(done) = self.advanced_by_merge(&message)? {
            return Ok(done);
        }
        let merged = repo
            .merge_into_checkout(&self.tip, strategy)
            .map_err(|error| self.problem(error))?;
        // A merge that "succeeded" must really have brought the run's commits.
        if repo.is_ancestor(&self.tip, &merged.after)? {
            return Ok(merged);
        }
        Err(Problem::internal(
            "the merge did not bring all of the run's commits",
        ))
    }

    /// What a session has made is in the checkout already: only the branch and the index follow.
    fn advanced(&self, to: &Oid) -> Result<Option<BranchMove>, Problem> {
        let MergeLocation { repo, head, .. } = self.place;
        let done = session::advance(repo, head, self.run, &self.branch, to)?;
        Ok(done.then(|| BranchMove {
            before: head.commit.clone(),
            after: to.clone(),
        }))
    }

    /// The same with a merge commit, which is made first: then the branch is moved forward to it.
    fn advanced_by_merge(&self, message: &str) -> Result<Option<BranchMove>, Problem> {
        let (repo, here) = (self.place.repo, &self.place.head.commit);
        if self.run.began_in != Operator::Session {
            return Ok(None);
        }
        let MergeOutcome::Clean { tree } = repo.merge_commits(here, &self.tip)? else {
            return Ok(None);
        };
        let made = repo.commit(&tree, &[here, &self.tip], message, &self.signature()?)?;
        match self.advanced(&made)? {
            Some(done) => Ok(Some(done)),
            None => repo
                .merge_into_checkout(&made, MergeStrategy::FastForward)
                .map(Some)
                .map_err(|error| self.problem(error)),
        }
    }

    /// One commit of all: made first, and then the branch is moved forward to it.
    fn squash(&self) -> Result<BranchMove, Problem> {
        let repo = self.place.repo;
        let head = self.place.head;
        let tree = match repo.merge_commits(&head.commit, &self.tip)? {
            MergeOutcome::Clean { tree } => tree,
            MergeOutcome::Conflict { files } => {
                return Err(self.problem(git::Error::MergeConflict { files }));
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
            None => self.all_in_one()?,
        };
        let parents = [&head.commit];
        let made = repo.commit(&tree, &parents, &message, &self.signature()?)?;
        if let Some(done) = self.advanced(&made)? {
            return Ok(done);
        }
        repo.merge_into_checkout(&made, MergeStrategy::FastForward)
            .map_err(|error| self.problem(error))
    }

    /// The goal in the form of the run's messages, and what the commits say.
    fn all_in_one(&self) -> Result<String, Problem> {
        let base = Oid::parse(self.run.base.commit.as_str())
            .ok_or_else(|| Problem::internal("the run's base is no commit"))?;
        let commits = self.place.repo.commits_since(&base, &self.tip)?;
        let root = codeteam_core::ids::FramePath::root();
        let matter = self.run.frames.get(&root);
        let matter = matter.map(|frame| CommitFacts::of(self.run, frame));
        let made = matter.and_then(|matter| self.run.message.make(&matter));
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

    fn problem(&self, error: git::Error) -> Problem {
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

    /// Whether the run's branch is gone. Its commits are kept first.
    fn delete_branch(&self) -> Result<bool, Problem> {
        let repo = self.place.repo;
        let own = reference(&self.run.branch);
        let is_own = own.starts_with("refs/heads/") && self.run.branch != self.branch;
        let found = repo.read_ref(&own)?;
        if !is_own || found.is_none() {
            return Ok(false);
        }
        let note = |text: String| {
            say(&format!(
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
        let kept = retired(self.run.id.as_str());
        repo.update_ref(&kept, &self.tip, ExpectedRef::Anywhere)?;
        repo.delete_ref(&own, &self.tip)?;
        Ok(true)
    }

    fn tell(&self, done: &BranchMove, deleted: bool) {
        let (branch, id) = (&self.branch, &self.run.id);
        if done.before == done.after {
            say(&format!("{branch} has everything of {id} already"));
        } else {
            let at = tell::short(done.after.as_str());
            say(&format!("{branch} is at {at} now, with everything of {id}"));
        }
        if deleted {
            let kept = retired(self.run.id.as_str());
            say(&format!("  deleted {} (kept as {kept})", self.run.branch));
        } else if let Ok(Some(found)) = self.place.repo.read_ref(&reference(&self.run.branch))
            && self.run.branch != *branch
            && found != self.tip
        {
            say(&format!(
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
            say(&format!("  push    git push{how}"));
        }
    }

    /// The commit of what the user had not committed when the task began, if it came with the merge:
    /// it is theirs, and stays when the rest is taken back.
    fn own_work(&self, done: &BranchMove) -> Option<Oid> {
        let repo = self.place.repo;
        let start = session::start(repo, &self.run.id).ok()??;
        let before = repo.tree_of(&done.before).ok()?;
        match repo.merge_commits(&done.before, &start).ok()? {
            MergeOutcome::Clean { tree } if tree == before => None,
            _ => Some(start),
        }
    }

    /// What takes it back. What was pushed others may have by now, so it is not taken off the branch
    /// but done the other way round. `own` is the user's own work, which is kept.
    fn undo(&self, done: &BranchMove, own: Option<&Oid>) -> String {
        let repo = self.place.repo;
        let after = tell::short(done.after.as_str());
        // As far back as their work, if nothing of the run is on the way there; else without it, and
        // then it comes again.
        let leads = |to: &Oid, from: &Oid| repo.is_ancestor(to, from).unwrap_or(false);
        let on_the_way = own.filter(|start| {
            let is_kept = self.remote.is_none() || leads(start, &done.after);
            leads(&done.before, start) && is_kept
        });
        let before = tell::short(on_the_way.unwrap_or(&done.before).as_str());
        let again = own.filter(|_| on_the_way.is_none());
        let again = again.map_or(String::new(), |start| {
            format!(" && git cherry-pick {}", tell::short(start.as_str()))
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
