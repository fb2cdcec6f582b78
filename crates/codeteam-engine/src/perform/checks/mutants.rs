//! Runs the tests on mutants of the judged change, within a budget, and reports those that no test
//! notices.
//!
//! It works in the gate's own worktree, which is set up and built already: one file is overwritten,
//! the tests run, and the file is restored. Python keeps compiled files by second and size, and
//! build tools compare times, so every mutant has a time of its own that is later than any before,
//! and Python is told to keep nothing.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use codeteam_context::language::Language;
use codeteam_core::checks::{CheckMeasure, CheckRemark, CheckResult};
use codeteam_core::findings::{ReportedFinding, Severity};
use codeteam_core::workflow::{Check, MutantTrial};
use codeteam_verify::mutants::{Mutant, MutantPlan, find_mutants, says_it_was_not_built};
use codeteam_verify::proof::TestPatterns;
use rustix::fs::OFlags;

use super::tree_files::open_file;
use super::{GateChecks, JudgedChange, TrackedFiles, run_command_with};
use crate::engine::MutantFate;
use crate::perform::{Error, oid};

/// Keeps Python from writing compiled files of a mutant.
const NO_BYTECODE: (&str, &str) = ("PYTHONDONTWRITEBYTECODE", "1");

/// The number of survivors that are named.
const NAMED: usize = 10;

/// What has been found out so far.
#[derive(Default)]
struct MutantTally<'m> {
    noticed: usize,
    survivors: Vec<&'m Mutant>,
    not_built: usize,
    /// The number that was left out, because the time is up.
    left_out: usize,
}

impl GateChecks<'_> {
    /// Tries mutants of the change until the budget is used up.
    pub(super) fn try_mutants(
        &self,
        check: &Check,
        trial: &MutantTrial,
        files: &mut TrackedFiles<'_>,
    ) -> Result<CheckResult, Error> {
        let plan = self.plan_mutants(trial)?;
        let JudgedChange { context, tree, .. } = *self.look;
        let engine = context.engine;
        let passed =
            |command: &&String| engine.command_outcomes.get(tree.as_str(), command) == Some(true);
        let commands: Vec<&String> = trial.commands.iter().filter(passed).collect();
        let times = commands
            .iter()
            .filter_map(|command| engine.command_times.get(tree.as_str(), command));
        let usual: Duration = times.sum();
        let budget = Duration::from_secs(trial.max_seconds);
        let nothing = if plan.mutants.is_empty() {
            Some(describe_nothing(&plan))
        } else if commands.is_empty() {
            Some("no run of the tests on this tree is known to have passed".to_owned())
        } else if usual > budget {
            Some(format!(
                "the tests take {} s, and `verification.mutants.max_seconds` allows {} s",
                usual.as_secs(),
                budget.as_secs()
            ))
        } else {
            None
        };
        if let Some(why) = nothing {
            return Ok(CheckResult {
                summary: format!("nothing was tried: {why}"),
                ..result(check)
            });
        }
        let run = MutantRun {
            gate: self,
            check,
            commands: &commands,
            usual,
        };
        let tally = run.tally(&plan, trial.max_count as usize, budget, files)?;
        Ok(tally.into_result(check, trial))
    }

    fn plan_mutants(&self, trial: &MutantTrial) -> Result<MutantPlan, Error> {
        let tests = TestPatterns::new(&trial.tests);
        let all = self.look.workspace.tree_files(&oid(&self.look.tree.0)?)?;
        let paths = all.iter().filter_map(|file| file.path.to_str());
        let tested: Vec<Language> = paths
            .filter(|path| tests.is_test_program(path))
            .filter_map(Language::from_path)
            .map(family)
            .collect();
        // Tests of Rust are in the files of the product, too.
        let is_tested = |language| language == Language::Rust || tested.contains(&family(language));
        Ok(find_mutants(self.look.change()?, &tests, &is_tested))
    }
}

/// Returns the language whose tests can test this one.
fn family(language: Language) -> Language {
    match language {
        Language::TypeScript | Language::Tsx => Language::JavaScript,
        other => other,
    }
}

fn describe_nothing(plan: &MutantPlan) -> String {
    match plan.untested.as_slice() {
        [] => "the change has no line of code that could be made wrong".to_owned(),
        [first, ..] => format!("no tests are in the language of the change (`{first}`)"),
    }
}

/// The trial of the mutants of one change.
struct MutantRun<'a> {
    gate: &'a GateChecks<'a>,
    check: &'a Check,
    commands: &'a [&'a String],
    /// How long the tests take.
    usual: Duration,
}

impl MutantRun<'_> {
    fn tally<'m>(
        &self,
        plan: &'m MutantPlan,
        most: usize,
        budget: Duration,
        files: &mut TrackedFiles<'_>,
    ) -> Result<MutantTally<'m>, Error> {
        let JudgedChange { job, context, .. } = *self.gate.look;
        let most = most.min(plan.mutants.len());
        let mut tally = MutantTally::default();
        let begun = Instant::now();
        // A mutant that cannot be built costs time and says nothing.
        for (at, mutant) in plan.mutants.iter().take(2 * most).enumerate() {
            let tried = tally.noticed + tally.survivors.len();
            if tried == most {
                break;
            }
            if context.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let fate = match self.known_fate(mutant) {
                Some(fate) => fate,
                None if begun.elapsed() + self.usual > budget => {
                    tally.left_out = most - tried;
                    break;
                }
                None => {
                    let busy = format!("mutant {} of {most}", tried + 1);
                    let _busy = context.busy_with(&job.id, &busy);
                    self.try_one(mutant, at, files)?
                }
            };
            match fate {
                MutantFate::Noticed => tally.noticed += 1,
                MutantFate::Survived => tally.survivors.push(mutant),
                MutantFate::NotBuilt => tally.not_built += 1,
            }
        }
        Ok(tally)
    }

    fn known_fate(&self, mutant: &Mutant) -> Option<MutantFate> {
        let fates = &self.gate.look.context.engine.mutant_fates;
        fates.get(&self.key(mutant), &self.commands_key())
    }

    fn key(&self, mutant: &Mutant) -> String {
        format!("{} {}", self.gate.look.tree.as_str(), mutant.key())
    }

    fn commands_key(&self) -> String {
        let commands: Vec<&str> = self
            .commands
            .iter()
            .map(|command| command.as_str())
            .collect();
        commands.join("\n")
    }

    /// Runs the tests on a mutant, and restores the file.
    fn try_one(
        &self,
        mutant: &Mutant,
        at: usize,
        files: &mut TrackedFiles<'_>,
    ) -> Result<MutantFate, Error> {
        let JudgedChange { job, context, .. } = *self.gate.look;
        let file = self.gate.look.change()?.file(&mutant.path);
        let text = file.and_then(|file| file.after.text());
        let Some(mutated) = text.and_then(|text| mutant.apply(text)) else {
            return Ok(MutantFate::NotBuilt);
        };
        (context.lines)(&job.id, &format!("would a test notice that {mutant}?"));
        let tree = self.gate.look.workspace.tree_dir();
        let time = SystemTime::now() + Duration::from_secs(1 + at as u64);
        let fate = overwrite(&tree, &mutant.path, &mutated, time)
            .map_err(|source| Error::Io {
                doing: "write a mutant to",
                path: tree.join(&mutant.path),
                source,
            })
            .and_then(|()| self.run_tests());
        files.restore()?;
        let fate = fate?;
        let fates = &context.engine.mutant_fates;
        fates.note(&self.key(mutant), &self.commands_key(), fate);
        Ok(fate)
    }

    fn run_tests(&self) -> Result<MutantFate, Error> {
        let look = self.gate.look;
        // A mutant may make a loop endless.
        let longest = 3 * self.usual + Duration::from_secs(2);
        let longest = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
        let timeout = longest.min(self.check.timeout_ms);
        for command in self.commands {
            let ended = run_command_with(look, look.workspace, command, timeout, &[NO_BYTECODE])?;
            if look.context.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            if says_it_was_not_built(&ended.summary) {
                return Ok(MutantFate::NotBuilt);
            }
            let has_failed = ended
                .report
                .as_ref()
                .is_some_and(|report| report.failed > 0);
            if !ended.passed || has_failed {
                return Ok(MutantFate::Noticed);
            }
        }
        Ok(MutantFate::Survived)
    }
}

/// Overwrites a file of a worktree in which no process runs any more. Nothing outside of the
/// worktree is reached, whatever a test has put in the place of the file.
fn overwrite(tree: &Path, path: &str, text: &str, time: SystemTime) -> io::Result<()> {
    let mut file = open_file(tree, path, OFlags::WRONLY)?;
    if file.metadata()?.nlink() != 1 {
        return Err(io::Error::other("it is no longer a file of its own"));
    }
    file.set_len(0)?;
    file.write_all(text.as_bytes())?;
    file.set_times(fs::FileTimes::new().set_modified(time))
}

fn result(check: &Check) -> CheckResult {
    CheckResult {
        name: check.name.clone(),
        class: check.what.class(),
        passed: true,
        ..CheckResult::default()
    }
}

impl MutantTally<'_> {
    fn into_result(self, check: &Check, trial: &MutantTrial) -> CheckResult {
        let (survived, tried) = (self.survivors.len(), self.survivors.len() + self.noticed);
        if tried == 0 {
            let why = if self.not_built > 0 {
                "no mutant could be built"
            } else {
                "there was no time"
            };
            return CheckResult {
                summary: format!("nothing was tried: {why}"),
                ..result(check)
            };
        }
        let allowed = trial.max_surviving_percent.unwrap_or(100) as usize;
        let passed = survived * 100 <= allowed * tried;
        let found = CheckMeasure {
            of: check.name.clone(),
            passed,
            found: format!("{} of {tried}", self.noticed),
        };
        let named = self.survivors.iter().take(NAMED);
        let mut lines: Vec<String> = named
            .map(|mutant| format!("no test noticed: {mutant}"))
            .collect();
        if survived > NAMED {
            lines.push(format!("and {} more", survived - NAMED));
        }
        let none = survived == tried;
        let finding = self.survivors.first().map(|first| ReportedFinding {
            severity: Severity::Minor,
            title: if none {
                format!("no test noticed any of {tried} mistakes put into the changed lines")
            } else {
                format!("no test noticed {survived} of {tried} mistakes put into the changed lines")
            },
            detail: lines.join("\n"),
            file: Some(first.path.clone()),
            line: Some(first.line),
        });
        if none {
            let warning = "no test noticed anything that was made wrong in the changed lines: the tests do not run \
                           them, run another copy of them, or were made to pass whatever they do";
            lines.insert(0, warning.to_owned());
        } else if !passed {
            lines.insert(0, format!(
                "the tests notice too little: {survived} of {tried} mistakes put into the changed lines went \
                 unnoticed, and {allowed} % may; write tests that fail for these"
            ));
        }
        if self.left_out > 0 {
            lines.push(format!(
                "{} more were not tried, for lack of time",
                self.left_out
            ));
        }
        CheckResult {
            passed,
            summary: lines.join("\n"),
            // One or two survivors are for the reviewer; many are a doubt about the tests.
            remark: (passed && survived * 2 > tried).then_some(CheckRemark::Noted),
            measures: vec![found],
            findings: finding.into_iter().collect(),
            ..result(check)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_a_file_of_the_worktree_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let (tree, out) = (folder.path().join("tree"), folder.path().join("out"));
        fs::create_dir_all(tree.join("src")).unwrap();
        fs::create_dir(&out).unwrap();
        fs::write(out.join("a.py"), "mine").unwrap();
        fs::write(tree.join("src/a.py"), "x = 1").unwrap();
        symlink(&out, tree.join("away")).unwrap();
        symlink(out.join("a.py"), tree.join("link.py")).unwrap();
        fs::hard_link(out.join("a.py"), tree.join("hard.py")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, tree.join("pipe"), rustix::fs::Mode::RWXU).unwrap();
        let write = |path: &str| overwrite(&tree, path, "x = 2", SystemTime::now());
        for path in [
            "away/a.py",
            "link.py",
            "hard.py",
            "pipe",
            "src",
            "none.py",
            "../out/a.py",
        ] {
            assert!(write(path).is_err(), "{path}");
        }
        assert_eq!(fs::read_to_string(out.join("a.py")).unwrap(), "mine");
        write("src/a.py").unwrap();
        assert_eq!(fs::read_to_string(tree.join("src/a.py")).unwrap(), "x = 2");
    }
}
