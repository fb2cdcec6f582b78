//! Reconstructs the progress of a plan when the log is gone: from `plan.yml`, the reports, and the
//! trailers of commits.
//!
//! Anybody can write a trailer, so a commit alone proves nothing: it completes a task only if the
//! report of its run names the commit or passes the very tree that it holds.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use codeteam_core::Run;
use codeteam_core::frame::Tip;
use codeteam_core::ids::{Commit, RunId, TaskId};
use codeteam_core::plan::Plan;
use codeteam_core::schedule::TaskStatus;
use codeteam_core::views::TeamState;
use codeteam_workflow::plan_file;

use crate::trailers::trailer;
use crate::view::LoadedRun;
use crate::{artifacts, describe};
use codeteam_host::git::{self, BranchCommit, CheckoutHead, Oid, Repo};
use codeteam_host::repo_files;

/// The number of the checkout's commits that are searched for completed tasks.
const COMMITS: usize = 2_000;
/// A plan with more tasks than this is not read. No run has that many.
const MAX_TASKS: usize = 100_000;
/// The size limit of a report file.
const REPORT_BYTES: u64 = 4 << 20;

/// A plan found on disk, with the progress of its tasks as far as files and commits prove it.
///
/// [`find_plans`] and [`read_plan`] produce it. A plan that could not be parsed has a `problem` and
/// no tasks.
#[derive(Clone, Debug)]
pub struct PlanOnDisk {
    /// The path of its `plan.yml`.
    pub path: PathBuf,
    /// The plan itself.
    pub plan: Plan,
    /// Whether the plan is more than a draft: its file says so, or work on it has begun.
    pub accepted: bool,
    /// The runs that have worked on it, the newest last.
    pub runs: Vec<String>,
    /// The status of each task. A commit that carries a task's trailer, and that the report of its
    /// run names, proves that the task is complete, whatever the plan file says; a commit on any
    /// branch other than `branch` does not count.
    pub statuses: BTreeMap<TaskId, TaskStatus>,
    /// The newest report of each task that was judged.
    pub reports: BTreeMap<TaskId, ReportOnDisk>,
    /// The branch with its commits, unless the checkout already has them.
    pub branch: Option<(String, Oid)>,
    /// Commits that claim to complete a task but that no report of their run names. They do not
    /// count.
    pub claims: Vec<UnprovedClaim>,
    /// What could not be read, if anything.
    pub problem: Option<String>,
}

impl PlanOnDisk {
    /// Returns as much of its newest run as the plan and the commits contain, if anything was
    /// committed that is not in the checkout already: what is to be merged is what the checkout does
    /// not have yet.
    pub fn committed_run(&self, head: &CheckoutHead) -> Option<LoadedRun> {
        let (branch, tip) = self.branch.as_ref()?;
        let named = |oid: &Oid| Tip {
            commit: Commit(oid.as_str().to_owned()),
            ..Tip::default()
        };
        Some(LoadedRun::new(Run {
            id: RunId(self.newest_run().to_owned()),
            goal: self.plan.description.clone(),
            branch: branch.clone(),
            base: named(&head.commit),
            tip: named(tip),
            ..Run::default()
        }))
    }

    /// Returns the id of its newest run, or its own if it has none.
    pub fn newest_run(&self) -> &str {
        self.runs.last().unwrap_or(&self.plan.plan_id)
    }

    /// Describes how many tasks are done.
    pub fn describe_progress(&self) -> String {
        describe::task_counts(self.plan.tasks.len(), self.statuses.values().copied())
    }

    /// Returns true if nothing is left to do.
    pub fn is_finished(&self) -> bool {
        let settled = self.statuses.values().filter(|s| s.satisfies());
        self.problem.is_none() && settled.count() >= self.plan.tasks.len()
    }

    /// Returns true if work on the plan can continue as it is.
    pub fn is_open(&self) -> bool {
        self.problem.is_none() && self.accepted && !self.is_finished()
    }

    /// Returns the plan's state as one of the twelve team states.
    pub fn team_state(&self) -> TeamState {
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

/// A commit that claims to complete a task without a report to prove it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnprovedClaim {
    /// The task that the commit claims to complete.
    pub task: TaskId,
    /// The commit's id.
    pub commit: Oid,
}

/// A report found on disk.
#[derive(Clone, Debug)]
pub struct ReportOnDisk {
    /// The task, phase, plan or run that the report is about.
    pub subject: String,
    /// The run that wrote it.
    pub run: String,
    /// Its overall result in one word.
    pub result: String,
    /// The path of the report.
    pub path: PathBuf,
    /// The whole text of the report.
    pub text: String,
    modified: Option<SystemTime>,
}

/// Finds every plan of a project, newest file first, with the progress that files and commits
/// prove.
pub fn find_plans(repo: &Repo, head: &CheckoutHead) -> Result<Vec<PlanOnDisk>, git::Error> {
    let folder = repo.top_level().join(".codeteam/planning");
    let mut files: Vec<(SystemTime, PathBuf)> = fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .map(|entry| entry.path().join("plan.yml"))
        .filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path)))
        .collect();
    files.sort();
    let commits = CodeteamCommits::read(repo, head)?;
    Ok(files
        .into_iter()
        .rev()
        .map(|(_, path)| load_plan(repo, &path, &commits))
        .collect())
}

/// Reads one plan, wherever its file is.
pub fn read_plan(repo: &Repo, head: &CheckoutHead, path: &Path) -> Result<PlanOnDisk, git::Error> {
    Ok(load_plan(repo, path, &CodeteamCommits::read(repo, head)?))
}

/// Finds the reports that all runs share, the newest first.
pub fn find_reports(repo: &Repo) -> Vec<ReportOnDisk> {
    let folder = repo.top_level().join(".codeteam/reports");
    let files = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut reports: Vec<ReportOnDisk> =
        files.filter_map(|f| read_report(repo, &f.path())).collect();
    reports.sort_by(|a, b| (b.modified, &b.path).cmp(&(a.modified, &a.path)));
    reports
}

/// Reads a report file; returns `None` if it is not a report, or is only one verifier's.
fn read_report(repo: &Repo, path: &Path) -> Option<ReportOnDisk> {
    let text = repo_files::read_text(path, Some(repo.top_level()), REPORT_BYTES).ok()??;
    parse_report(path.to_owned(), text)
}

fn parse_report(path: PathBuf, text: String) -> Option<ReportOnDisk> {
    let mut lines = text.lines();
    let title = lines.next()?.strip_prefix("# Verification Report for ")?;
    let (_, subject) = title.split_once(": ")?;
    let result = lines.find_map(|line| line.strip_prefix("**Overall Result:** "))?;
    Some(ReportOnDisk {
        subject: subject.to_owned(),
        run: artifacts::run_of_report(&text)?.to_owned(),
        result: result.to_owned(),
        modified: fs::metadata(&path).and_then(|m| m.modified()).ok(),
        path,
        text,
    })
}

/// The commits that codeteam's trailers mark as its own.
struct CodeteamCommits {
    /// Commits that the checkout already contains.
    here: Vec<ClaimedCommit>,
    /// Every other branch with its tip and the commits that the checkout does not contain.
    branches: Vec<(String, Oid, Vec<ClaimedCommit>)>,
}

/// A commit whose trailers say that codeteam made it for a run and a task. Anybody can write these
/// trailers.
struct ClaimedCommit {
    run: String,
    task: String,
    commit: Oid,
    tree: Oid,
}

impl CodeteamCommits {
    fn read(repo: &Repo, head: &CheckoutHead) -> Result<Self, git::Error> {
        let mut branches = Vec::new();
        // Work that was delivered without a branch is kept under `refs/codeteam/`.
        let kept = repo.refs_under("refs/codeteam/")?.into_iter();
        let kept = kept.filter(|(name, _)| name.ends_with("/tip"));
        for (name, tip) in repo.refs_under("refs/heads/")?.into_iter().chain(kept) {
            let branch = name.trim_start_matches("refs/heads/").to_owned();
            if Some(&branch) == head.branch.as_ref() {
                continue;
            }
            let known = claimed_commits(&repo.commits_since(&head.commit, &tip)?);
            if !known.is_empty() {
                branches.push((branch, tip, known));
            }
        }
        Ok(Self {
            here: claimed_commits(&repo.newest_commits(&head.commit, COMMITS)?),
            branches,
        })
    }

    /// Returns the branch that has most of a plan's tasks; of equals, the one that sorts last,
    /// which is the newest run's.
    fn best_branch(
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

fn claimed_commits(commits: &[BranchCommit]) -> Vec<ClaimedCommit> {
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

/// Independent evidence for a commit's claim: the report of its run.
struct ReportEvidence<'a> {
    repo: &'a Repo,
    runs: &'a [String],
    /// The files of tasks that each run has packed, by their names.
    packed: BTreeMap<&'a str, BTreeMap<String, String>>,
}

impl<'a> ReportEvidence<'a> {
    fn read(repo: &'a Repo, runs: &'a [String]) -> Self {
        let is_plain = |run: &&String| codeteam_core::ids::is_valid_name(run);
        let read = |run: &'a String| {
            let packed = artifacts::read_task_packs(repo, &run_folder(repo, run));
            (run.as_str(), packed)
        };
        let packed = runs.iter().filter(is_plain).map(read).collect();
        Self { repo, runs, packed }
    }
}

impl ReportEvidence<'_> {
    /// Returns the commits that claim to complete a task of this plan. Other plans may have tasks
    /// of the same name, so only commits of this plan's runs are considered.
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

    /// Returns true if one of the commits completes a task, and the report of its run names that
    /// commit or passes the very tree that it holds.
    fn completes(&self, known: &[ClaimedCommit], task: &TaskId) -> bool {
        self.claims(known, task)
            .any(|claim| self.is_reported(claim))
    }

    fn is_reported(&self, claim: &ClaimedCommit) -> bool {
        let Some(report) = self.report_of(&claim.run, &claim.task) else {
            return false;
        };
        let says = |what: &str, id: &Oid| {
            let line = format!("- **{what}:** `{id}`");
            report.text.lines().any(|found| found == line)
        };
        let passed = report.result == "PASS" && says("Tree", &claim.tree);
        passed || says("Commit", &claim.commit)
    }

    /// Reads the report that a run wrote about a task.
    fn report_of(&self, run: &str, task: &str) -> Option<ReportOnDisk> {
        let is_plain = codeteam_core::ids::is_valid_name;
        (is_plain(run) && is_plain(task)).then_some(())?;
        let name = format!("reports/{task}.md");
        let path = run_folder(self.repo, run).join(&name);
        read_report(self.repo, &path).or_else(|| {
            let text = self.packed.get(run)?.get(&name)?;
            parse_report(path, text.clone())
        })
    }
}

/// Returns the folder of a run's files.
fn run_folder(repo: &Repo, run: &str) -> PathBuf {
    repo.top_level().join(".codeteam/runs").join(run)
}

fn load_plan(repo: &Repo, path: &Path, commits: &CodeteamCommits) -> PlanOnDisk {
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
    match plan_file::from_yaml(&path.display().to_string(), &text, MAX_TASKS) {
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
    let runs = found.runs.clone();
    let proof = ReportEvidence::read(repo, &runs);
    let branch = commits.best_branch(&found.plan, &proof);
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
            // Nobody works on the task now, or it was completed on a branch where the work does not
            // continue.
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
        let newest = reports.find_map(|run| proof.report_of(run, task.id.as_str()));
        found
            .reports
            .extend(newest.map(|report| (task.id.clone(), report)));
    }
    found
}
