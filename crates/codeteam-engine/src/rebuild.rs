//! Where a plan stands when the log is gone: from `plan.yml`, the reports and the commits' trailers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use codeteam_core::ids::TaskId;
use codeteam_core::plan::{self, Plan};
use codeteam_core::schedule::TaskStatus;
use codeteam_core::views::TeamState;

use crate::engine::{Error, MAX_TASKS};
use crate::git::{BranchCommit, CheckoutHead, Oid, Repo};
use crate::perform::trailer;
use crate::{artifacts, inside, tell};

/// So many commits of the checkout are looked at for what is in it already.
const COMMITS: usize = 2_000;
/// No report is longer.
const REPORT_BYTES: u64 = 4 << 20;

/// A plan found in files, with what is known of its tasks.
#[derive(Clone, Debug)]
pub struct PlanOnDisk {
    /// Its file.
    pub path: PathBuf,
    /// The plan.
    pub plan: Plan,
    /// Whether it is more than a draft: it says so, or has been worked on.
    pub accepted: bool,
    /// The runs that have worked on it, the newest last.
    pub runs: Vec<String>,
    /// Where each task stands. A commit that carries a task's trailer, and that the report of its run
    /// names, shows that it is complete, whatever the plan's file says; one on another branch than
    /// `branch` does not count.
    pub statuses: BTreeMap<TaskId, TaskStatus>,
    /// The newest report of each task that was judged.
    pub reports: BTreeMap<TaskId, ReportOnDisk>,
    /// The branch with its commits, if the checkout does not have them already.
    pub branch: Option<(String, Oid)>,
    /// Commits that say of themselves that they complete a task, where no report of their run names
    /// them: they do not count.
    pub claims: Vec<UnprovedClaim>,
    /// What could not be read, if anything.
    pub problem: Option<String>,
}

impl PlanOnDisk {
    /// How many tasks are done, in words.
    pub fn counts(&self) -> String {
        tell::counts(self.plan.tasks.len(), self.statuses.values().copied())
    }

    /// Whether there is anything left to do.
    pub fn is_finished(&self) -> bool {
        let settled = self.statuses.values().filter(|s| s.satisfies());
        self.problem.is_none() && settled.count() >= self.plan.tasks.len()
    }

    /// Whether work on it can go on as it is.
    pub fn is_open(&self) -> bool {
        self.problem.is_none() && self.accepted && !self.is_finished()
    }

    /// What is known of it, as one of the twelve states.
    pub fn state(&self) -> TeamState {
        if self.problem.is_some() {
            TeamState::HaltedForError
        } else if self.is_finished() {
            TeamState::PlanComplete
        } else if self.accepted {
            TeamState::CodingAwaitingTaskSelection
        } else {
            TeamState::PlanningAwaitingReview
        }
    }
}

/// A commit that says that it completes a task, and that nothing else speaks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnprovedClaim {
    /// The task.
    pub task: TaskId,
    /// The commit.
    pub commit: Oid,
}

/// A report found in files.
#[derive(Clone, Debug)]
pub struct ReportOnDisk {
    /// What it is about: a task, a phase, a plan or a run.
    pub subject: String,
    /// The run it is of.
    pub run: String,
    /// Its result in one word.
    pub result: String,
    /// Its file.
    pub path: PathBuf,
    /// All of it.
    pub text: String,
    modified: Option<SystemTime>,
}

/// Every plan of a project, newest file first, with what files and commits tell.
pub fn plans(repo: &Repo, head: &CheckoutHead) -> Result<Vec<PlanOnDisk>, Error> {
    let folder = repo.top_level().join(".codeteam/planning");
    let mut files: Vec<(SystemTime, PathBuf)> = fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .map(|entry| entry.path().join("plan.yml"))
        .filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path)))
        .collect();
    files.sort();
    let commits = CodeteamCommits::of(repo, head)?;
    Ok(files
        .into_iter()
        .rev()
        .map(|(_, path)| found(repo, &path, &commits))
        .collect())
}

/// One plan, wherever its file is.
pub fn plan(repo: &Repo, head: &CheckoutHead, path: &Path) -> Result<PlanOnDisk, Error> {
    Ok(found(repo, path, &CodeteamCommits::of(repo, head)?))
}

/// The reports that all runs share, the newest first.
pub fn reports(repo: &Repo) -> Vec<ReportOnDisk> {
    let folder = repo.top_level().join(".codeteam/reports");
    let files = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut reports: Vec<ReportOnDisk> = files.filter_map(|f| report(repo, &f.path())).collect();
    reports.sort_by(|a, b| (b.modified, &b.path).cmp(&(a.modified, &a.path)));
    reports
}

/// A report as a file has it; `None` if it is none, or only of one verifier.
fn report(repo: &Repo, path: &Path) -> Option<ReportOnDisk> {
    let text = inside::read(path, Some(repo.top_level()), REPORT_BYTES).ok()??;
    let mut lines = text.lines();
    let title = lines.next()?.strip_prefix("# Verification Report for ")?;
    let (_, subject) = title.split_once(": ")?;
    let result = lines.find_map(|line| line.strip_prefix("**Overall Result:** "))?;
    Some(ReportOnDisk {
        subject: subject.to_owned(),
        run: artifacts::owner(&text)?.to_owned(),
        result: result.to_owned(),
        path: path.to_owned(),
        modified: fs::metadata(path).and_then(|m| m.modified()).ok(),
        text,
    })
}

/// The commits of codeteam's.
struct CodeteamCommits {
    /// What the checkout has already.
    here: Vec<ClaimedCommit>,
    /// Every branch, its tip, and what it has beyond the checkout.
    branches: Vec<(String, Oid, Vec<ClaimedCommit>)>,
}

/// A commit that says of itself that it is codeteam's: its run and its task. Anybody can write that.
struct ClaimedCommit {
    run: String,
    task: String,
    commit: Oid,
    tree: Oid,
}

impl CodeteamCommits {
    fn of(repo: &Repo, head: &CheckoutHead) -> Result<Self, Error> {
        let mut branches = Vec::new();
        // What was handed over otherwise than by a branch is kept beside them.
        let kept = repo.refs_under("refs/codeteam/")?.into_iter();
        let kept = kept.filter(|(name, _)| name.ends_with("/tip"));
        for (name, tip) in repo.refs_under("refs/heads/")?.into_iter().chain(kept) {
            let branch = name.trim_start_matches("refs/heads/").to_owned();
            if Some(&branch) == head.branch.as_ref() {
                continue;
            }
            let known = known(&repo.commits_since(&head.commit, &tip)?);
            if !known.is_empty() {
                branches.push((branch, tip, known));
            }
        }
        Ok(Self {
            here: known(&repo.newest_commits(&head.commit, COMMITS)?),
            branches,
        })
    }

    /// The branch that has most of a plan's tasks; of equals the one that sorts last, which is the
    /// newest run's.
    fn branch(
        &self,
        plan: &Plan,
        proof: &ReportEvidence<'_>,
    ) -> Option<&(String, Oid, Vec<ClaimedCommit>)> {
        let tasks = |known: &[ClaimedCommit]| {
            let tasks = plan.tasks.iter();
            tasks.filter(|t| proof.completes(known, &t.id)).count()
        };
        let branches = self.branches.iter().filter(|(.., known)| tasks(known) > 0);
        branches.max_by_key(|(name, _, known)| (tasks(known), name))
    }
}

fn known(commits: &[BranchCommit]) -> Vec<ClaimedCommit> {
    let commits = commits.iter();
    let known = commits.filter_map(|commit| {
        Some(ClaimedCommit {
            run: commit.trailer(trailer::RUN)?.to_owned(),
            task: commit.trailer(trailer::TASK)?.to_owned(),
            commit: commit.oid.clone(),
            tree: commit.tree.clone(),
        })
    });
    known.collect()
}

/// What speaks for a commit beside itself: the report of its run.
struct ReportEvidence<'a> {
    repo: &'a Repo,
    runs: &'a [String],
}

impl ReportEvidence<'_> {
    /// The commits that say that they complete a task of the plan. Other plans have tasks of the same
    /// name.
    fn claims<'k>(
        &self,
        known: &'k [ClaimedCommit],
        task: &TaskId,
    ) -> impl Iterator<Item = &'k ClaimedCommit> {
        let (task, runs) = (task.0.clone(), self.runs.to_vec());
        known
            .iter()
            .filter(move |k| k.task == task && runs.contains(&k.run))
    }

    /// Whether a task of the plan is among commits, and the report of its run names the commit, or
    /// passes the very tree that it holds.
    fn completes(&self, known: &[ClaimedCommit], task: &TaskId) -> bool {
        self.claims(known, task)
            .any(|claim| self.is_reported(claim))
    }

    fn is_reported(&self, claim: &ClaimedCommit) -> bool {
        let Some(report) = report_of(self.repo, &claim.run, &claim.task) else {
            return false;
        };
        let says = |what: &str, id: &Oid| {
            let line = format!("- **{what}:** `{id}`");
            report.text.lines().any(|found| found == line)
        };
        let passed = report.result == "PASS" && says("Tree", &claim.tree);
        passed || says("Commit", &claim.commit)
    }
}

/// What a run has reported of a task.
fn report_of(repo: &Repo, run: &str, task: &str) -> Option<ReportOnDisk> {
    let is_plain = codeteam_core::ids::is_plain;
    (is_plain(run) && is_plain(task)).then_some(())?;
    let runs = repo.top_level().join(".codeteam/runs");
    let name = format!("{task}.md");
    report(repo, &runs.join(run).join("reports").join(name))
}

fn found(repo: &Repo, path: &Path, commits: &CodeteamCommits) -> PlanOnDisk {
    let mut found = PlanOnDisk {
        path: path.to_owned(),
        plan: Plan::default(),
        accepted: false,
        runs: Vec::new(),
        statuses: BTreeMap::new(),
        reports: BTreeMap::new(),
        branch: None,
        claims: Vec::new(),
        problem: None,
    };
    let text = match artifacts::read_plan(repo, path) {
        Ok(Some(text)) => text,
        Ok(None) => {
            found.problem = Some("there is no such file".to_owned());
            return found;
        }
        Err(error) => {
            found.problem = Some(error.to_string());
            return found;
        }
    };
    match plan::from_yaml(&path.display().to_string(), &text, MAX_TASKS * 100) {
        Ok(loaded) => {
            let begun = loaded.statuses.values().any(|s| *s != TaskStatus::Pending);
            found.accepted = loaded.accepted.unwrap_or(begun);
            found.plan = loaded.plan;
            found.statuses = loaded.statuses;
            found.runs = loaded.runs;
        }
        Err(problems) => {
            found.problem = Some(problems.to_string());
            return found;
        }
    }
    let proof = ReportEvidence {
        repo,
        runs: &found.runs,
    };
    let branch = commits.branch(&found.plan, &proof);
    found.branch = branch.map(|(name, tip, _)| (name.clone(), tip.clone()));
    let chosen = branch.map_or(&[][..], |(.., known)| known.as_slice());
    for task in &found.plan.tasks {
        let status = found.statuses.entry(task.id.clone()).or_default();
        let is_in = |known: &[ClaimedCommit]| proof.completes(known, &task.id);
        let elsewhere = commits.branches.iter().any(|(.., known)| is_in(known));
        if is_in(chosen) || is_in(&commits.here) {
            *status = TaskStatus::Completed;
        } else if *status == TaskStatus::Running || (elsewhere && *status == TaskStatus::Completed)
        {
            // Nobody works on it now; or it is done where the work does not go on.
            *status = TaskStatus::Pending;
        }
        if *status != TaskStatus::Completed {
            let everywhere = commits.branches.iter().map(|(.., known)| known.as_slice());
            let claims = everywhere
                .chain([commits.here.as_slice()])
                .flat_map(|known| proof.claims(known, &task.id))
                .filter(|claim| !proof.is_reported(claim));
            found.claims.extend(claims.map(|claim| UnprovedClaim {
                task: task.id.clone(),
                commit: claim.commit.clone(),
            }));
        }
        let mut reports = proof.runs.iter().rev();
        let newest = reports.find_map(|run| report_of(repo, run, task.id.as_str()));
        found
            .reports
            .extend(newest.map(|report| (task.id.clone(), report)));
    }
    found
}
