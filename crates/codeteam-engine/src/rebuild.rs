//! Where a plan stands when the log is gone: from `plan.yml` and the commits' trailers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use codeteam_core::ids::TaskId;
use codeteam_core::plan::{self, Plan};
use codeteam_core::schedule::Status;

use crate::engine::{Error, MAX_TASKS};
use crate::git::{Head, Oid, Repo};
use crate::perform::trailer;

/// A plan found in files, with what is known of its tasks.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its file.
    pub path: PathBuf,
    /// The plan.
    pub plan: Plan,
    /// Where each task stands. A commit that carries a task's trailer shows that it is complete,
    /// whatever the file says.
    pub statuses: BTreeMap<TaskId, Status>,
    /// The branch with its commits, if the checkout does not have them already.
    pub branch: Option<(String, Oid)>,
    /// What could not be read, if anything.
    pub problem: Option<String>,
}

/// Every plan of a project, newest file first, with what files and commits tell.
pub fn plans(repo: &Repo, head: &Head) -> Result<Vec<Found>, Error> {
    let folder = repo.top_level().join(".codeteam/planning");
    let mut files: Vec<(std::time::SystemTime, PathBuf)> = fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .map(|entry| entry.path().join("plan.yml"))
        .filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path)))
        .collect();
    files.sort();
    let commits = commits(repo, head)?;
    Ok(files
        .into_iter()
        .rev()
        .map(|(_, path)| found(&path, &commits))
        .collect())
}

/// One plan, wherever its file is.
pub fn plan(repo: &Repo, head: &Head, path: &Path) -> Result<Found, Error> {
    Ok(found(path, &commits(repo, head)?))
}

/// A commit of codeteam's: the branch it is on, its run and its task.
struct Known {
    branch: (String, Oid),
    run: String,
    task: String,
}

fn commits(repo: &Repo, head: &Head) -> Result<Vec<Known>, Error> {
    let mut known = Vec::new();
    let kept = repo.refs_under("refs/codeteam/")?.into_iter();
    let kept = kept.filter(|(name, _)| name.ends_with("/tip"));
    for (name, tip) in repo.refs_under("refs/heads/")?.into_iter().chain(kept) {
        let branch = name.trim_start_matches("refs/heads/").to_owned();
        if Some(&branch) == head.branch.as_ref() {
            continue;
        }
        known.extend(of_branch(repo, &head.commit, &tip, &branch)?);
    }
    Ok(known)
}

fn of_branch(repo: &Repo, base: &Oid, tip: &Oid, branch: &str) -> Result<Vec<Known>, Error> {
    let commits = repo.commits_since(base, tip)?;
    Ok(commits
        .iter()
        .filter_map(|commit| {
            Some(Known {
                branch: (branch.to_owned(), tip.clone()),
                run: commit.trailer(trailer::RUN)?.to_owned(),
                task: commit.trailer(trailer::TASK)?.to_owned(),
            })
        })
        .collect())
}

fn found(path: &Path, commits: &[Known]) -> Found {
    let mut found = Found {
        path: path.to_owned(),
        plan: Plan::default(),
        statuses: BTreeMap::new(),
        branch: None,
        problem: None,
    };
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            found.problem = Some(error.to_string());
            return found;
        }
    };
    let runs = match plan::from_yaml(&path.display().to_string(), &text, MAX_TASKS * 100) {
        Ok(loaded) => {
            found.plan = loaded.plan;
            found.statuses = loaded.statuses;
            loaded.runs
        }
        Err(problems) => {
            found.problem = Some(problems.to_string());
            return found;
        }
    };
    for task in &found.plan.tasks {
        let status = found.statuses.entry(task.id.clone()).or_default();
        // Nobody works on it now.
        if *status == Status::Running {
            *status = Status::Pending;
        }
        let own = |known: &&Known| known.task == task.id.0 && runs.contains(&known.run);
        if let Some(known) = commits.iter().find(own) {
            *status = Status::Completed;
            found.branch = Some(known.branch.clone());
        }
    }
    found
}
