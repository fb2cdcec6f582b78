//! Tries other trees than the one that is judged: the tests of a change without the rest of it, and
//! the tests that were there with the new code.

use codeteam_core::event::CheckResult;
use codeteam_core::ids::BodyId;
use codeteam_core::workflow::{Check, CheckKind, TestProof};

use super::{GateChecks, run};
use crate::git::{DiffEntry, Oid, TreeEdit};
use crate::perform::{Error, oid, setup};
use crate::verify::CheckFindings;
use crate::verify::change::ChangedFile as Touched;
use crate::verify::honest::{HonestySubject, in_question, needs};
use crate::verify::proof::{ProofPlan, TestPatterns, plan, with_files};

/// What came of trying a tree.
pub(super) enum TreeTrial {
    /// Every command passed.
    Passed,
    /// One failed: which, and all it said.
    Failed(String, Option<BodyId>),
    /// Nothing can be concluded, and why.
    Unclear(String),
}

/// One end of a change.
#[derive(Clone, Copy)]
enum ChangeEnd {
    Before,
    After,
}

impl GateChecks<'_> {
    /// Whether the tests of the change fail without the rest of it, and pass with it.
    pub(super) fn prove(&self, check: &Check, proof: &TestProof) -> Result<CheckResult, Error> {
        let look = self.look;
        let files = match plan(look.change()?, TestPatterns(&proof.tests)) {
            ProofPlan::Nothing => {
                // It has passed, and nothing was proved.
                return Ok(CheckResult {
                    summary: "the change touches no tests".to_owned(),
                    ..CheckFindings::default().result(check, proof.told_only)
                });
            }
            ProofPlan::Inseparable(why) => {
                return Ok(CheckFindings::unproved(why).result(check, proof.told_only));
            }
            ProofPlan::Run(files) => files,
        };
        let commands: Vec<String> = proof
            .commands
            .iter()
            .map(|command| with_files(command, &files))
            .collect();
        let (found, output) = self.proved(check, proof, &files, &commands)?;
        Ok(CheckResult {
            output,
            ..found.result(check, proof.told_only)
        })
    }

    fn proved(
        &self,
        check: &Check,
        proof: &TestProof,
        files: &[String],
        commands: &[String],
    ) -> Result<(CheckFindings, Option<BodyId>), Error> {
        let tree = oid(&self.look.tree.0)?;
        match self.try_tree(&tree, commands, check.timeout_ms)? {
            TreeTrial::Passed => {}
            TreeTrial::Failed(command, output) => {
                let is_checked = self.checks.iter().any(
                    |check| matches!(&check.what, CheckKind::Command(known) if *known == command),
                );
                if is_checked {
                    // It has failed the gate already.
                    let why = format!("`{command}` fails with the change too");
                    return Ok((CheckFindings::unproved(why), None));
                }
                let wrong = format!("`{command}` fails with the change");
                let found = CheckFindings {
                    wrong: vec![wrong],
                    ..CheckFindings::default()
                };
                return Ok((found, output));
            }
            TreeTrial::Unclear(why) => return Ok((CheckFindings::unproved(why), None)),
        }
        let base = oid(&self.look.job.base.tree.0)?;
        let tests = TestPatterns(&proof.tests);
        let without = self.with_ends(&base, |file| tests.has(&name(file)), ChangeEnd::After)?;
        Ok(match self.try_tree(&without, commands, check.timeout_ms)? {
            TreeTrial::Passed => {
                let wrong = format!(
                    "the changed tests pass without the rest of the change: they prove nothing \
                     ({})\nmake them assert what is new, so that they fail without it, or leave \
                     them as they were",
                    files.join(", ")
                );
                let found = CheckFindings {
                    wrong: vec![wrong],
                    ..CheckFindings::default()
                };
                (found, None)
            }
            TreeTrial::Unclear(why) => {
                let why = format!("without the rest of the change, {why}");
                (CheckFindings::unproved(why), None)
            }
            TreeTrial::Failed(command, output) => {
                // Unless it fails anyway, with or without the tests.
                let base = self.try_tree(&base, &[command], check.timeout_ms)?;
                match base {
                    TreeTrial::Passed => (CheckFindings::default(), output),
                    // What is only for these files has nothing to fail at before.
                    TreeTrial::Failed(command, _) if !proof.commands.contains(&command) => {
                        (CheckFindings::default(), output)
                    }
                    TreeTrial::Failed(command, output) => {
                        let why = format!(
                            "`{command}` failed before the change already, so that it is not known \
                             whether the new tests fail without it; that is no fault of the change"
                        );
                        (CheckFindings::unproved(why), output)
                    }
                    TreeTrial::Unclear(why) => (
                        CheckFindings::unproved(format!("before the change, {why}")),
                        None,
                    ),
                }
            }
        })
    }

    /// Whether the tests that were there pass with the new code, where the change has touched tests
    /// that the task does not name. All of these are put back, and new ones taken away.
    pub(super) fn weakened(&self, subject: &HonestySubject<'_>) -> Result<CheckFindings, Error> {
        let proofs = self.checks.iter().find_map(|check| match &check.what {
            CheckKind::Proved(proof) => Some((check, proof)),
            _ => None,
        });
        let Some((check, proof)) = proofs else {
            return Ok(CheckFindings::default());
        };
        let touched = in_question(subject);
        // What is only for the files that changed has nothing to do with those that were there.
        let commands: Vec<String> = proof
            .commands
            .iter()
            .filter(|command| with_files(command, &[]) == **command)
            .cloned()
            .collect();
        if touched.is_empty() || commands.is_empty() || !self.had_tests(subject)? {
            return Ok(CheckFindings::default());
        }
        let tree = oid(&self.look.tree.0)?;
        if !matches!(
            self.try_tree(&tree, &commands, check.timeout_ms)?,
            TreeTrial::Passed
        ) {
            // The gate has failed already.
            return Ok(CheckFindings::default());
        }
        let is_touched = |name: &str| touched.iter().any(|file| file.path == name);
        let restored = self.with_ends(&tree, |file| is_touched(&name(file)), ChangeEnd::Before)?;
        let how = match self.try_tree(&restored, &commands, check.timeout_ms)? {
            TreeTrial::Passed => return Ok(CheckFindings::default()),
            TreeTrial::Failed(command, _) => OldTestsOutcome::Failed(command),
            // They have just ended with the changed tests.
            TreeTrial::Unclear(how) => OldTestsOutcome::Never(how),
        };
        Ok(blamed(subject, &touched, &how))
    }

    /// Whether there were tests before the change: what runs none fails with some programs.
    fn had_tests(&self, subject: &HonestySubject<'_>) -> Result<bool, Error> {
        let base = oid(&self.look.job.base.tree.0)?;
        let all = self.look.workspace.files_of(&base)?;
        let is_one = |path: &str| {
            let helps = ["__init__.py", "conftest.py"];
            subject.tests.has_program(path) && !helps.iter().any(|name| path.ends_with(name))
        };
        let found = all.iter().filter(|file| file.bytes > 0);
        Ok(found.filter_map(|file| file.path.to_str()).any(is_one))
    }

    /// A tree with some of the change's files as they are at one end of it.
    fn with_ends(
        &self,
        tree: &Oid,
        wanted: impl Fn(&DiffEntry) -> bool,
        end: ChangeEnd,
    ) -> Result<Oid, Error> {
        let files = self.look.files()?.iter().filter(|file| wanted(file));
        let placed: Vec<TreeEdit> = files
            .map(|file| TreeEdit {
                path: file.path.clone(),
                content: match end {
                    ChangeEnd::Before => file.old.clone().map(|id| (file.old_mode, id)),
                    ChangeEnd::After => file.new.clone().map(|id| (file.new_mode, id)),
                },
            })
            .collect();
        Ok(self.look.workspace.tree_with(tree, &placed)?)
    }

    /// Runs commands on a tree until one fails. What is known already is not run again.
    fn try_tree(
        &self,
        tree: &Oid,
        commands: &[String],
        timeout_ms: u64,
    ) -> Result<TreeTrial, Error> {
        let look = self.look;
        let engine = look.context.engine;
        let known = |command: &String| engine.tried.get(tree.as_str(), command);
        if let Some(failed) = commands
            .iter()
            .find(|command| known(command) == Some(false))
        {
            return Ok(TreeTrial::Failed(failed.clone(), None));
        }
        let rest: Vec<&String> = commands.iter().filter(|c| known(c).is_none()).collect();
        if rest.is_empty() {
            return Ok(TreeTrial::Passed);
        }
        let workspace = look.job.prepare_trial(engine, look.workspace, tree)?;
        setup::ready(look.job, &workspace, look.context)?;
        let mut trial = TreeTrial::Passed;
        for command in rest {
            let busy = format!("`{command}` on another tree (for comparison)");
            let busy = look.context.busy_with(&look.job.id, &busy);
            let ended = run(look, &workspace, command, timeout_ms)?;
            drop(busy);
            if let Some(why) = ended.unclear {
                trial = TreeTrial::Unclear(format!("`{command}` {why}"));
                break;
            }
            engine.tried.note(tree.as_str(), command, ended.passed);
            if !ended.passed {
                trial = TreeTrial::Failed(command.clone(), Some(ended.output));
                break;
            }
        }
        if !look.job.grounds(engine)?.keep_worktree {
            workspace.remove()?;
        }
        Ok(trial)
    }
}

/// How the tests that were there have ended with the new code.
enum OldTestsOutcome {
    Failed(String),
    Never(String),
}

/// What that says of the change.
fn blamed(
    subject: &HonestySubject<'_>,
    touched: &[&Touched],
    how: &OldTestsOutcome,
) -> CheckFindings {
    let (new, old): (Vec<&Touched>, Vec<&Touched>) = touched.iter().partition(|file| file.is_new());
    let paths = |files: &[&Touched]| {
        let all: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        all.join(", ")
    };
    if let Some(manifest) = needs(subject, &new) {
        return CheckFindings::unproved(format!(
            "`{manifest}` names the new tests ({}), so that those that were there cannot be run \
             without them",
            paths(&new)
        ));
    }
    let without = match &new[..] {
        [] => String::new(),
        new => format!(" without {}", paths(new)),
    };
    let ends = match how {
        OldTestsOutcome::Failed(command) => format!("fail with the change (`{command}`)"),
        OldTestsOutcome::Never(how) => format!("do not come to an end with the change ({how})"),
    };
    let wrong = match (&old[..], how) {
        ([], _) => format!(
            "without {}, the tests that were there {ends}, so the change passes because of what \
             is new among the tests\ntake out what the other tests go by, or name it in the task's \
             `files`",
            paths(&new)
        ),
        (old, OldTestsOutcome::Never(_)) => {
            format!("{}: as they were before{without}, they {ends}", paths(old))
        }
        (old, OldTestsOutcome::Failed(_)) => format!(
            "{}: as they were before, they {ends}{without}, so the change passes because they were \
             changed\nput them back as they were, and mend the code. Tests that are meant to change have to \
             be named: in a plan under the task's `files`, in a session by the task, its requirements or its \
             design (\"change tests/test_x.py\")",
            paths(old)
        ),
    };
    CheckFindings {
        wrong: vec![wrong],
        ..CheckFindings::default()
    }
}

fn name(file: &DiffEntry) -> String {
    file.path.to_string_lossy().into_owned()
}
