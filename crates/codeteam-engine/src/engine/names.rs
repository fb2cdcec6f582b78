//! Generates unique names for runs and plans.

use std::fs;
use std::io;
use std::path::Path;

use codeteam_core::ids::{EpochMillis, RunId};

use super::{Engine, Error, refuse_links};
use codeteam_host::git::reference_name;

impl Engine {
    /// Generates an id for a run, from the time and the goal's first words, that neither the log
    /// nor a branch uses yet, and creates its folders. The log belongs to this worktree alone;
    /// branches and workspaces are shared by all worktrees of the repository.
    pub(super) fn new_id(&self, goal: &str, at: EpochMillis) -> Result<RunId, Error> {
        let base = format!("{}_{}", stamp(at), slug(goal));
        self.check_branch_name_free(&self.config.git.branch(&base))?;
        for n in 1..1_000 {
            let id = if n == 1 {
                base.clone()
            } else {
                format!("{base}-{n}")
            };
            let branch = self.config.git.branch(&id);
            let taken = self.store.run(&id)?.is_some()
                || self.repo.read_ref(&reference_name(&branch))?.is_some();
            let runs = self.records().runs_folder();
            refuse_links(self.repo.top_level(), &runs.join(&id))?;
            if taken || !claim_folder(&runs, &id)? {
                continue;
            }
            if claim_folder(&self.workspaces, &id)? {
                self.ignore_run(&runs.join(&id))?;
                return Ok(RunId(id));
            }
            let _ = fs::remove_dir(runs.join(&id));
        }
        Err(Error::Ambiguous(base))
    }

    /// Keeps the files of a run out of the user's commits, where `.codeteam/.gitignore` does not.
    fn ignore_run(&self, folder: &Path) -> Result<(), Error> {
        if folder.starts_with(&self.folder) {
            return Ok(());
        }
        let path = folder.join(".gitignore");
        fs::write(&path, "*\n").map_err(|source| Error::Io {
            doing: "write",
            path,
            source,
        })
    }

    /// Generates the next plan id, for example `feature-0021`, and creates its folder: of two runs
    /// that start at the same moment only one can create it. `before` is the prefix of the number.
    /// A run that has not ended keeps its number, whatever happened to the folder.
    pub(super) fn new_plan_id(&self, before: &str) -> Result<String, Error> {
        let folder = self.folder.join("planning");
        // Plan snapshots that came with the repository have used up their numbers too.
        let snapshots = self.config.layout.map(|_| {
            self.repo
                .top_level()
                .join(codeteam_report::artifacts::STRICT_RUNS)
        });
        let folders = [Some(folder.clone()), snapshots].into_iter().flatten();
        let entries = folders.filter_map(|folder| fs::read_dir(folder).ok());
        let entries = entries.flatten().flatten();
        let used = entries.filter_map(|entry| number(entry.file_name().to_str()?, before));
        let runs = self.plans_under_way()?;
        let runs = runs.iter().filter_map(|id| number(id, before));
        let last = used.chain(runs).max();
        for next in last.unwrap_or(0) + 1.. {
            let id = format!("{before}{next:04}");
            if claim_folder(&folder, &id)? {
                return Ok(id);
            }
        }
        Err(Error::Ambiguous(before.to_owned()))
    }

    /// Returns the ids of the plans of runs that have not ended.
    fn plans_under_way(&self) -> Result<Vec<String>, Error> {
        let mut plans = Vec::new();
        for row in self.store.runs()? {
            if matches!(row.status.as_str(), "completed" | "failed" | "aborted") {
                continue;
            }
            let run = self.load_run(&RunId(row.id))?;
            plans.push(run.plan.as_ref().map_or(run.plan_id, |p| p.plan_id.clone()));
        }
        Ok(plans)
    }

    /// Refuses a branch name that git could not create. Git stores branches as files, so `a/b`
    /// cannot exist if `a` does. Checked now, rather than when the first task is to be committed.
    fn check_branch_name_free(&self, branch: &str) -> Result<(), Error> {
        if branch.starts_with("refs/") {
            return Ok(());
        }
        for (at, _) in branch.match_indices('/') {
            let by = &branch[..at];
            if self.repo.read_ref(&format!("refs/heads/{by}"))?.is_some() {
                return Err(Error::BranchInTheWay {
                    branch: branch.to_owned(),
                    by: by.to_owned(),
                });
            }
        }
        Ok(())
    }
}

/// Returns the number in a plan id that codeteam generated. Longer numbers than nine digits are not
/// codeteam's.
fn number(plan: &str, before: &str) -> Option<u32> {
    let digits = plan.strip_prefix(before)?.trim_end_matches(".json");
    Some(digits).filter(|d| d.len() <= 9)?.parse().ok()
}

/// Creates a folder that must not exist yet. Returns whether this call created it.
fn claim_folder(parent: &Path, name: &str) -> Result<bool, Error> {
    let failed = |path: &Path, source| Error::Io {
        doing: "make the folder",
        path: path.to_owned(),
        source,
    };
    fs::create_dir_all(parent).map_err(|source| {
        // `create_dir_all` accepts an existing folder, so this is a file of the same name.
        let is_file = source.kind() == io::ErrorKind::AlreadyExists;
        let in_the_way = || io::Error::other("a file of that name is in the way");
        failed(parent, if is_file { in_the_way() } else { source })
    })?;
    let folder = parent.join(name);
    match fs::create_dir(&folder) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(source) => Err(failed(&folder, source)),
    }
}

/// Formats a time as `2025-01-08_153042`, in the user's time zone.
pub(super) fn stamp(at: EpochMillis) -> String {
    let millis = i64::try_from(at.0).unwrap_or(0);
    jiff::Timestamp::from_millisecond(millis)
        .map(|t| {
            t.to_zoned(jiff::tz::TimeZone::system())
                .strftime("%Y-%m-%d_%H%M%S")
                .to_string()
        })
        .unwrap_or_default()
}

/// Returns the first words of a text in a form that is valid in a branch name.
pub(super) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for word in text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|w| !w.is_empty())
    {
        if slug.len() + word.len() > 39 {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(&word.to_lowercase());
    }
    if slug.is_empty() {
        "run".to_owned()
    } else {
        slug
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Project;
    use crate::env::Env;
    use crate::git_fixture::GitFixture;

    #[test]
    fn runs_of_one_repository_that_begin_together_have_names_of_their_own() {
        let fixture = GitFixture::new();
        let other = fixture.path().join("other");
        let linked = other.to_str().unwrap();
        fixture.git(&fixture.main(), &["worktree", "add", "--quiet", linked]);
        let engine = |folder: &Path| {
            let mut env = Env::read();
            env.config_home = Some(fixture.home());
            env.state_home = Some(fixture.path().join("state"));
            Engine::open(Project::find(folder, env).unwrap(), "codeteam".into()).unwrap()
        };
        let engines = [engine(&fixture.main()), engine(&other), engine(&other)];
        let ids = engines.map(|engine| engine.new_id("Greet", EpochMillis(0)).unwrap());
        let base = format!("{}_greet", stamp(EpochMillis(0)));
        assert_eq!(
            ids.map(|id| id.0),
            [base.clone(), format!("{base}-2"), format!("{base}-3")]
        );
    }

    #[test]
    fn only_numbers_that_can_be_counted_on_count() {
        assert_eq!(number("feature-0021", "feature-"), Some(21));
        for other in [
            "feature-",
            "feature-4294967295",
            "feature-+1x",
            "bug-0001",
            "0021",
        ] {
            assert_eq!(number(other, "feature-"), None, "{other}");
        }
    }

    #[test]
    fn of_many_who_want_the_same_name_one_gets_it() {
        let folder = tempfile::tempdir().unwrap();
        let parent = folder.path().join("planning");
        for n in 0..20 {
            let name = format!("feature-{n:04}");
            let start = std::sync::Barrier::new(4);
            let got = std::thread::scope(|scope| {
                let claims = [(); 4].map(|()| {
                    scope.spawn(|| {
                        start.wait();
                        claim_folder(&parent, &name).unwrap()
                    })
                });
                claims.map(|claim| claim.join().unwrap())
            });
            assert_eq!(got.iter().filter(|got| **got).count(), 1, "{name}");
        }
    }

    #[test]
    fn slugs_are_short_and_plain() {
        assert_eq!(slug("Add password reset!"), "add-password-reset");
        assert_eq!(slug("  ../../etc  "), "etc");
        assert_eq!(slug("日本"), "run");
        assert!(slug(&"very long words indeed ".repeat(9)).len() < 40);
    }
}
