//! Tries other trees than the one that is judged: the tests of a change without the rest of it, and
//! the old tests with the new code.

use codeteam_core::checks::{CheckRemark, CheckResult};
use codeteam_core::findings::{ReportedFinding, Severity};
use codeteam_core::ids::BodyId;
use codeteam_core::workflow::{Check, CheckKind, TestProof};

use super::{GateChecks, run_gate_command};
use crate::perform::{Error, oid, setup};
use codeteam_host::git::{DiffEntry, Oid, TreeEdit};
use codeteam_verify::CheckFindings;
use codeteam_verify::change::ChangedFile as Touched;
use codeteam_verify::honesty::{
    HonestySubject, TESTS_MUST_BE_NAMED, foreign_test_changes, manifest_requiring,
};
use codeteam_verify::idle_tests::{adds_tests, find_idle_tests};
use codeteam_verify::proof::{
    InlineTests, ProofPlan, TestPatterns, TestsToProve, insert_files, plan_proof,
};

/// The result of trying a tree.
pub(super) enum TreeTrial {
    /// Every command passed.
    Passed,
    /// One command failed: the command, and its whole output.
    Failed(String, Option<BodyId>),
    /// Nothing can be concluded, for this reason.
    Unclear(String),
}

/// One side of a change.
#[derive(Clone, Copy)]
pub(super) enum ChangeEnd {
    Before,
    After,
}

impl GateChecks<'_> {
    /// Checks that the tests of the change fail without the rest of it, and pass with it.
    ///
    /// Where they pass without it, the change is refused unless mutants of it tell otherwise: see
    /// [`GateChecks::lift_doubt`].
    pub(super) fn prove(&mut self, check: &Check, proof: &TestProof) -> Result<CheckResult, Error> {
        let look = self.look;
        let wanted = match plan_proof(look.change()?, &TestPatterns::new(&proof.tests)) {
            ProofPlan::Nothing => {
                // The check passes, although nothing was proved.
                return Ok(CheckResult {
                    summary: "the change touches no tests".to_owned(),
                    ..CheckFindings::default().into_result(check, proof.told_only)
                });
            }
            ProofPlan::Inseparable(why) => {
                return Ok(CheckFindings::inconclusive(why).into_result(check, proof.told_only));
            }
            ProofPlan::Run(wanted) => wanted,
        };
        // Without test files, a command for test files would run all of them, or none.
        let takes_files = |command: &String| insert_files(command, &[]) != *command;
        let programs = wanted.programs();
        let commands: Vec<String> = proof
            .commands
            .iter()
            .filter(|command| !programs.is_empty() || !takes_files(command))
            .map(|command| insert_files(command, &programs))
            .collect();
        if commands.is_empty() {
            let why = "no command runs tests that are in the files of what they test";
            return Ok(CheckFindings::inconclusive(why).into_result(check, proof.told_only));
        }
        let (found, output) = match self.proved(check, proof, &wanted, &commands)? {
            ProofOutcome::Settled(found, output) => (found, output),
            ProofOutcome::Idle => (self.doubt_idle_tests(check, &wanted, &commands)?, None),
        };
        Ok(CheckResult {
            output,
            ..found.into_result(check, proof.told_only)
        })
    }

    /// Judges changed tests that pass without the rest of the change. It is a finding if none of them
    /// is new. Otherwise it is a failure, which mutants of the change may lift.
    fn doubt_idle_tests(
        &mut self,
        check: &Check,
        wanted: &TestsToProve,
        commands: &[String],
    ) -> Result<CheckFindings, Error> {
        let names = wanted.names().join(", ");
        if wanted.are_only_expected_outputs() || !self.may_add_tests(check, commands)? {
            let detail =
                format!("{names}: none of the tests is new, so none was written to prove it");
            return Ok(CheckFindings {
                findings: vec![idle_tests_finding(Severity::Info, detail)],
                ..CheckFindings::default()
            });
        }
        self.doubted = self.checks.iter().position(|known| known == check);
        let wrong = format!(
            "{IDLE_TESTS}: they prove nothing ({names})\nmake them assert what is new, so that they \
             fail without it, or leave them as they were"
        );
        Ok(CheckFindings {
            failures: vec![wrong],
            ..CheckFindings::default()
        })
    }

    /// Returns false if the runners name their tests, and there are no more of them than before the
    /// change: tests were renamed, edited or taken out.
    fn may_add_tests(&self, check: &Check, commands: &[String]) -> Result<bool, Error> {
        let reports = &self.look.context.engine.test_reports;
        for command in commands {
            let before = self.base_report(check, command)?;
            let after = reports.get(self.look.tree.as_str(), command);
            let adds = before
                .zip(after)
                .and_then(|(before, after)| adds_tests(&before, &after));
            if adds != Some(false) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Turns the doubt whether the changed tests prove anything into a finding, if the project's
    /// tests notice each mistake that was put into the changed lines.
    pub(super) fn lift_doubt(&mut self, mutants: &CheckResult) {
        let Some(doubted) = self.doubted.take() else {
            return;
        };
        if !notices_mistakes(mutants) {
            return;
        }
        let result = self.results[doubted].as_mut();
        let Some(result) = result.filter(|result| !result.passed) else {
            return;
        };
        let noticed: Vec<&str> = mutants
            .measures
            .iter()
            .map(|measure| measure.found.as_str())
            .collect();
        let detail = format!(
            "they may hold on to what was there before: tests notice {} mistakes put into the changed \
             lines",
            noticed.join(", ")
        );
        result.passed = true;
        result.remark = Some(CheckRemark::Noted);
        result.summary = format!("{IDLE_TESTS}, but tests notice each mistake put into it");
        result
            .findings
            .push(idle_tests_finding(Severity::Minor, detail));
    }

    fn proved(
        &self,
        check: &Check,
        proof: &TestProof,
        wanted: &TestsToProve,
        commands: &[String],
    ) -> Result<ProofOutcome, Error> {
        let unclear = |why| ProofOutcome::Settled(CheckFindings::inconclusive(why), None);
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
                    return Ok(unclear(why));
                }
                let wrong = format!("`{command}` fails with the change");
                let found = CheckFindings {
                    failures: vec![wrong],
                    ..CheckFindings::default()
                };
                return Ok(ProofOutcome::Settled(found, output));
            }
            TreeTrial::Unclear(why) => return Ok(unclear(why)),
        }
        let base = oid(&self.look.job.base.tree.0)?;
        let tests = TestPatterns::new(&proof.tests);
        let without =
            self.tree_with_files(&base, |file| tests.is_test(&name(file)), ChangeEnd::After)?;
        let without = self.tree_with_inline(&without, &wanted.inline)?;
        Ok(match self.try_tree(&without, commands, check.timeout_ms)? {
            TreeTrial::Passed => ProofOutcome::Idle,
            TreeTrial::Unclear(why) => unclear(format!("without the rest of the change, {why}")),
            TreeTrial::Failed(command, output) => {
                // It may fail anyway, with or without the tests: try the base.
                let tried =
                    self.try_tree(&base, std::slice::from_ref(&command), check.timeout_ms)?;
                let proved = |output| {
                    ProofOutcome::Settled(self.find_idle_tests(&base, &without, &command), output)
                };
                match tried {
                    TreeTrial::Passed => proved(output),
                    // A command for these test files only says nothing about the base, where they
                    // may not exist.
                    TreeTrial::Failed(command, _) if !proof.commands.contains(&command) => {
                        proved(output)
                    }
                    TreeTrial::Failed(command, output) => {
                        let why = format!(
                            "`{command}` failed before the change already, so that it is not known \
                             whether the new tests fail without it; the change is not to blame for that"
                        );
                        ProofOutcome::Settled(CheckFindings::inconclusive(why), output)
                    }
                    TreeTrial::Unclear(why) => unclear(format!("before the change, {why}")),
                }
            }
        })
    }

    /// Leaves new tests to reviewers that pass without the rest of the change, while others of the
    /// change fail as they must.
    fn find_idle_tests(&self, base: &Oid, without: &Oid, command: &str) -> CheckFindings {
        const NAMED: usize = 10;
        let reports = &self.look.context.engine.test_reports;
        let [before, without, with] = [base.as_str(), without.as_str(), self.look.tree.as_str()]
            .map(|tree| reports.get(tree, command));
        let idle = match (before, without, with) {
            (Some(before), Some(without), Some(with)) => find_idle_tests(&before, &without, &with),
            _ => Vec::new(),
        };
        let mut found = CheckFindings::default();
        if !idle.is_empty() {
            let more = match idle.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let names = &idle[..idle.len().min(NAMED)];
            found.findings.push(ReportedFinding {
                severity: Severity::Info,
                title: "new tests pass without the change, too".to_owned(),
                detail: format!(
                    "{}{more}: they may hold on to what was there before, but prove nothing about the change",
                    names.join(", ")
                ),
                file: None,
                line: None,
            });
        }
        found
    }

    /// Checks that the old tests pass with the new code, if the change has touched tests that the
    /// task does not name. All touched tests are restored, and new ones removed.
    pub(super) fn find_weakened_tests(
        &self,
        subject: &HonestySubject<'_>,
    ) -> Result<CheckFindings, Error> {
        let Some((check, commands)) = self.old_test_commands() else {
            return Ok(CheckFindings::default());
        };
        let touched = foreign_test_changes(subject);
        if touched.is_empty() || !self.had_tests(subject)? {
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
        let restored =
            self.tree_with_files(&tree, |file| is_touched(&name(file)), ChangeEnd::Before)?;
        let how = match self.try_tree(&restored, &commands, check.timeout_ms)? {
            TreeTrial::Passed => return Ok(CheckFindings::default()),
            TreeTrial::Failed(command, _) => OldTestsOutcome::Failed(command),
            // With the changed tests the commands have just ended, so the restored ones are the
            // cause.
            TreeTrial::Unclear(how) => OldTestsOutcome::Never(how),
        };
        Ok(blame_change(subject, &touched, &how))
    }

    /// Returns the commands that run all tests, if there are any, with the check that proves new ones.
    pub(super) fn old_test_commands(&self) -> Option<(&Check, Vec<String>)> {
        let (check, proof) = self.checks.iter().find_map(|check| match &check.what {
            CheckKind::Proved(proof) => Some((check, proof)),
            _ => None,
        })?;
        // Commands for the changed files only do not apply to the old tests.
        let all = proof.commands.iter();
        let commands: Vec<String> = all
            .filter(|command| insert_files(command, &[]) == **command)
            .cloned()
            .collect();
        (!commands.is_empty()).then_some((check, commands))
    }

    /// Returns true if there were tests before the change: some programs fail if they find none.
    fn had_tests(&self, subject: &HonestySubject<'_>) -> Result<bool, Error> {
        let base = oid(&self.look.job.base.tree.0)?;
        let all = self.look.workspace.tree_files(&base)?;
        let is_one = |path: &str| {
            let helps = ["__init__.py", "conftest.py"];
            subject.tests.is_test_program(path) && !helps.iter().any(|name| path.ends_with(name))
        };
        let found = all.iter().filter(|file| file.bytes > 0);
        Ok(found.filter_map(|file| file.path.to_str()).any(is_one))
    }

    /// Builds a tree in which some files of the change are as they are on one side of it.
    pub(super) fn tree_with_files(
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

    /// Builds a tree in which these files have these texts.
    fn tree_with_inline(&self, tree: &Oid, inline: &[InlineTests]) -> Result<Oid, Error> {
        if inline.is_empty() {
            return Ok(tree.clone());
        }
        let workspace = self.look.workspace;
        let mut placed = Vec::new();
        for tests in inline {
            let file = self
                .look
                .files()?
                .iter()
                .find(|file| name(file) == tests.path);
            let Some(file) = file else { continue };
            placed.push(TreeEdit {
                path: file.path.clone(),
                content: Some((file.old_mode, workspace.write_blob(tests.text.as_bytes())?)),
            });
        }
        Ok(workspace.tree_with(tree, &placed)?)
    }

    /// Runs commands on a tree until one fails. Known results are not computed again.
    pub(super) fn try_tree(
        &self,
        tree: &Oid,
        commands: &[String],
        timeout_ms: u64,
    ) -> Result<TreeTrial, Error> {
        let look = self.look;
        let engine = look.context.engine;
        let known = |command: &String| engine.command_outcomes.get(tree.as_str(), command);
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
        setup::set_up_workspace(look.job, &workspace, look.context)?;
        let mut trial = TreeTrial::Passed;
        for command in rest {
            let busy = format!("`{command}` on another tree (for comparison)");
            let busy = look.context.busy_with(&look.job.id, &busy);
            let ended = run_gate_command(look, &workspace, command, timeout_ms)?;
            drop(busy);
            if let Some(why) = ended.unclear {
                trial = TreeTrial::Unclear(format!("`{command}` {why}"));
                break;
            }
            ended.note(engine, tree.as_str(), command);
            if !ended.passed {
                trial = TreeTrial::Failed(command.clone(), Some(ended.output));
                break;
            }
        }
        if !look.job.gate_config(engine)?.keep_worktree {
            workspace.release()?;
        }
        Ok(trial)
    }
}

/// What the trees say about the tests of a change.
enum ProofOutcome {
    /// They are judged: what was found, and the output of the command that says so.
    Settled(CheckFindings, Option<BodyId>),
    /// They pass without the rest of the change.
    Idle,
}

const IDLE_TESTS: &str = "the changed tests pass without the rest of the change";

fn idle_tests_finding(severity: Severity, detail: String) -> ReportedFinding {
    ReportedFinding {
        severity,
        title: IDLE_TESTS.to_owned(),
        detail,
        file: None,
        line: None,
    }
}

/// Returns true if the result of a trial of mutants says that tests noticed each of them.
fn notices_mistakes(mutants: &CheckResult) -> bool {
    mutants.passed && !mutants.measures.is_empty() && mutants.findings.is_empty()
}

/// The outcome of the old tests with the new code.
enum OldTestsOutcome {
    Failed(String),
    Never(String),
}

/// Builds the findings about the change from that outcome.
fn blame_change(
    subject: &HonestySubject<'_>,
    touched: &[&Touched],
    how: &OldTestsOutcome,
) -> CheckFindings {
    let (new, old): (Vec<&Touched>, Vec<&Touched>) = touched.iter().partition(|file| file.is_new());
    let paths = |files: &[&Touched]| {
        let all: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        all.join(", ")
    };
    if let Some(manifest) = manifest_requiring(subject, &new) {
        return CheckFindings::inconclusive(format!(
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
             is new among the tests\ntake out what the other tests depend on, unless the task's \
             `files` name it",
            paths(&new)
        ),
        (old, OldTestsOutcome::Never(_)) => {
            format!("{}: as they were before{without}, they {ends}", paths(old))
        }
        (old, OldTestsOutcome::Failed(_)) => format!(
            "{}: as they were before, they {ends}{without}, so the change passes because they were \
             changed\nput them back as they were, and fix the code. {TESTS_MUST_BE_NAMED}",
            paths(old)
        ),
    };
    CheckFindings {
        failures: vec![wrong],
        ..CheckFindings::default()
    }
}

/// Returns the path of a file as a text.
pub(super) fn name(file: &DiffEntry) -> String {
    file.path.to_string_lossy().into_owned()
}
