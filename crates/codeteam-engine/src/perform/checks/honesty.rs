//! Collects the evidence for the honesty rules: apart from the change itself, its author's claims,
//! other changes, and the tests.

use std::time::{Duration, Instant};

use codeteam_core::Event;
use codeteam_core::ids::BodyId;
use codeteam_core::workflow::{Check, CheckKind, HonestyRule};

use super::GateChecks;
use crate::dialect::WorkerEvent;
use crate::perform::worker::retold;
use crate::perform::{Error, oid};
use codeteam_host::store;
use codeteam_patterns::{FilePatterns, escape};
use codeteam_verify::CheckFindings;
use codeteam_verify::change::ChangedFile;
use codeteam_verify::honesty::{
    AuthorAction, AuthorClaim, GateTestOutcome, HardCodedAnswers, HonestySubject, OtherChange,
    RunEvidence, check_claims, check_hard_coded, check_own_work, check_rule, doubtful_gate_files,
    repeated_commit,
};
use codeteam_verify::proof::{TestPatterns, runs_tests};
use codeteam_verify::test_report::check_tests_ran;

/// How many commits back a change is compared with.
const DEPTH: usize = 300;

/// The time limit of a rule. It reports what it has not examined by then.
const LONGEST: Duration = Duration::from_mins(1);

/// Tools that change files, by all their names. Some workers report their changes as files instead.
const CHANGING: &[&str] = &[
    "write",
    "append",
    "delete",
    "edit",
    "replace",
    "write_file",
    "edit_file",
    "Write",
    "Edit",
    "MultiEdit",
    "NotebookEdit",
];

/// Tools that run nothing and change nothing that is tested.
const QUIET: &[&str] = &[
    "read",
    "chmod",
    "search",
    "list",
    "glob",
    "read_file",
    "read_many_files",
    "list_files",
    "list_directory",
    "grep_search",
    "search_file_content",
    "web",
    "web_search",
    "google_web_search",
    "web_fetch",
    "save_memory",
    "write_todos",
    "Read",
    "Glob",
    "Grep",
    "LS",
    "TodoWrite",
    "WebSearch",
    "WebFetch",
    "plan",
    "update_plan",
    "submit",
];

/// The means that a rule may use to find something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RuleReach {
    /// It may only read the change.
    Change,
    /// It may run commands too.
    Commands,
}

impl GateChecks<'_> {
    /// Applies a rule without running anything. Returns `None` if that does not settle it.
    pub(super) fn look_at_change(&self, rule: HonestyRule) -> Result<Option<CheckFindings>, Error> {
        match rule {
            // If reading the change does not show that tests were weakened, running them does.
            HonestyRule::TestsKept => {
                let found = self.judge_by_rule(rule, RuleReach::Change)?;
                Ok((!found.failures.is_empty()).then_some(found))
            }
            // What the text of a file does not tell, running the checks with the old one does.
            HonestyRule::GateKept => {
                let found = self.judge_by_rule(rule, RuleReach::Change)?;
                let is_settled = !found.failures.is_empty() || found.inconclusive.is_none();
                Ok(is_settled.then_some(found))
            }
            HonestyRule::Claims => Ok(None),
            _ => self.judge_by_rule(rule, RuleReach::Change).map(Some),
        }
    }

    /// Applies a rule to the change, running commands if necessary.
    pub(super) fn judge_honesty(&self, rule: HonestyRule) -> Result<CheckFindings, Error> {
        self.judge_by_rule(rule, RuleReach::Commands)
    }

    fn judge_by_rule(&self, rule: HonestyRule, reach: RuleReach) -> Result<CheckFindings, Error> {
        let engine = self.look.context.engine;
        let change = self.look.change()?;
        let grounds = self.look.job.gate_config(engine)?;
        let is_other = grounds.not_secret != engine.config.redaction.allow;
        let own = is_other.then(|| engine.redactor_allowing(&grounds.not_secret));
        let own = own.transpose().map_err(Box::new)?;
        let pinned = self.checks.iter().find_map(|check| match &check.what {
            CheckKind::Proved(proof) => Some(&proof.tests),
            _ => None,
        });
        let begun = Instant::now();
        let cancel = &self.look.context.cancel;
        let go_on = || begun.elapsed() < LONGEST && !cancel.is_cancelled();
        let mut commands: Vec<String> =
            self.checks.iter().flat_map(|c| commands(&c.what)).collect();
        let is_command = |check: &Check| matches!(check.what, CheckKind::Command(_));
        if !self.checks.iter().any(is_command) {
            // A gate of rules alone protects what the other gates run.
            commands.extend(self.about.other_commands.iter().cloned());
        }
        let has_old_files = change.files.iter().any(|file| !file.is_new());
        let scripts = if rule == HonestyRule::GateKept && has_old_files {
            self.look.gate_scripts(&commands)?
        } else {
            Vec::new()
        };
        let tests = TestPatterns::new(pinned.unwrap_or(&grounds.test_paths));
        let named = FilePatterns::lenient(&self.about.files_to_change);
        let wanted = |file: &&ChangedFile| tests.is_test(&file.path) && named.matches(&file.path);
        let wanted: Vec<&ChangedFile> = change.files.iter().filter(wanted).collect();
        let mut files = self.about.files.clone();
        if matches!(rule, HonestyRule::TestsKept | HonestyRule::GateKept) {
            files.extend(wanted.iter().map(|file| escape(&file.path)));
        }
        let subject = HonestySubject {
            change,
            tests: &tests,
            files: &files,
            held_files: &self.about.held,
            forbidden: &self.about.forbidden,
            commands: &commands,
            scripts: &scripts,
            runs_old_tests: self.old_test_commands().is_some(),
            redactor: own.as_ref().unwrap_or(&engine.redactor),
            has_time: &go_on,
        };
        Ok(match rule {
            HonestyRule::TestsKept => self.judge_tests_kept(&subject, reach, &wanted)?,
            HonestyRule::HardCoded => {
                let pairs = HardCodedAnswers::collect(&subject);
                if pairs.is_empty() {
                    return Ok(CheckFindings::default());
                }
                let (tests, left_out) = self.look.texts(|path| subject.tests.is_test(path))?;
                let mut failed = None;
                let all = tests.map_while(|test| test.map_err(|error| failed = Some(error)).ok());
                let mut found = check_hard_coded(&pairs, all, &go_on);
                if let Some(error) = failed {
                    return Err(error);
                }
                if left_out > 0 {
                    let said = format!("too long to be compared with: {left_out} of the tests");
                    found.inconclusive.get_or_insert(said);
                }
                found
            }
            HonestyRule::OwnWork => self.own_work(&subject)?,
            HonestyRule::Claims => self.claims(&subject)?,
            HonestyRule::GateKept => self.judge_gate_kept(&subject, reach)?,
            HonestyRule::Scope | HonestyRule::Secrets | HonestyRule::Stubs => {
                check_rule(rule, &subject)
            }
        })
    }

    /// Judges whether the tests are kept and still run: by their texts, by the old tests with the new
    /// code, and by what the runners of the gate report.
    fn judge_tests_kept(
        &self,
        subject: &HonestySubject<'_>,
        reach: RuleReach,
        wanted: &[&ChangedFile],
    ) -> Result<CheckFindings, Error> {
        let mut found = check_rule(HonestyRule::TestsKept, subject);
        // If the change itself shows it, nothing needs to run.
        if found.failures.is_empty() && reach == RuleReach::Commands {
            let weakened = self.find_weakened_tests(subject)?;
            found.failures.extend(weakened.failures);
            found.inconclusive = weakened.inconclusive;
            self.find_missing_tests(subject, &mut found)?;
            if found.failures.is_empty() {
                let unnoticed = self.find_unnoticed_failures(subject)?;
                found.failures.extend(unnoticed.failures);
                found.findings.extend(unnoticed.findings);
                found.inconclusive = found.inconclusive.or(unnoticed.inconclusive);
            }
        }
        found.notes.extend(wanted.iter().map(|file| {
            format!(
                "{}: changed, because the goal, the task, its requirements or its design say so",
                file.path
            )
        }));
        Ok(found)
    }

    /// Judges whether what the checks are based on is unchanged. Of files whose text does not tell,
    /// this is inconclusive until commands may run.
    fn judge_gate_kept(
        &self,
        subject: &HonestySubject<'_>,
        reach: RuleReach,
    ) -> Result<CheckFindings, Error> {
        let mut found = check_rule(HonestyRule::GateKept, subject);
        if !found.failures.is_empty() {
            return Ok(found);
        }
        if reach == RuleReach::Commands {
            self.try_old_gate_files(subject, &mut found)?;
        } else if let Some((file, _)) = doubtful_gate_files(subject).first() {
            let why = format!("`{}` may change how the checks end", file.path);
            found.inconclusive = Some(why);
        }
        Ok(found)
    }

    /// Compares what the test runners of passed commands report with what they reported before the
    /// change.
    fn find_missing_tests(
        &self,
        subject: &HonestySubject<'_>,
        found: &mut CheckFindings,
    ) -> Result<(), Error> {
        let engine = self.look.context.engine;
        for (check, result) in self.checks.iter().zip(&self.results) {
            let CheckKind::Command(command) = &check.what else {
                continue;
            };
            let tree = self.look.tree.as_str();
            let has_passed = result.as_ref().is_some_and(|result| result.passed);
            if !has_passed || !engine.test_reports.is_known(tree, command) {
                continue;
            }
            let now = engine.test_reports.get(tree, command);
            if now.is_none() && !runs_tests(&check.name, command) {
                continue;
            }
            let before = self.base_report(check, command)?;
            if let Some(before) = before.filter(|before| before.ran() > 0) {
                let missing = check_tests_ran(subject, command, &before, now.as_ref());
                found.failures.extend(missing.failures);
                found.notes.extend(missing.notes);
                found.findings.extend(missing.findings);
            }
        }
        Ok(())
    }

    fn own_work(&self, subject: &HonestySubject<'_>) -> Result<CheckFindings, Error> {
        let engine = self.look.context.engine;
        let mut others = Vec::new();
        for (whose, patch, diff) in &self.about.others {
            others.push(OtherChange {
                owner: whose.clone(),
                is_identical: self.about.patch.as_ref() == Some(patch),
                patch: engine.bodies.get(diff.as_str())?,
            });
        }
        let mut found = check_own_work(subject, &others);
        let files: Vec<&str> = subject
            .change
            .files
            .iter()
            .map(|f| f.path.as_str())
            .collect();
        let lines: usize = subject.change.files.iter().map(|f| f.added.len()).sum();
        // A few equal lines are a coincidence, and a change to very many files is not a copy of a
        // single commit.
        if found.failures.is_empty() && lines > 10 && files.len() <= 100 {
            let base = oid(&self.look.job.base.commit.0)?;
            let commits = engine.repo.patches_touching(&base, &files, DEPTH)?;
            let again = commits
                .iter()
                .find_map(|(id, patch)| repeated_commit(subject, id, patch));
            found.findings.extend(again);
        }
        Ok(found)
    }

    fn claims(&self, subject: &HonestySubject<'_>) -> Result<CheckFindings, Error> {
        let Some(claimed) = &self.about.claimed else {
            return Ok(CheckFindings::default());
        };
        // The result of each command on the tree that is judged.
        let mut seen: Vec<(&Check, &str, bool)> = Vec::new();
        for (check, result) in self.checks.iter().zip(&self.results) {
            if let (CheckKind::Command(command), Some(result)) = (&check.what, result) {
                seen.push((check, command, result.passed));
            }
        }
        let tests = |(check, command, _): &&(&Check, &str, bool)| runs_tests(&check.name, command);
        let failed: Vec<String> = seen
            .iter()
            .filter(|(.., passed)| !passed)
            .map(|(check, ..)| check.name.clone())
            .collect();
        let seen = GateTestOutcome {
            passed: seen.iter().filter(tests).any(|(.., passed)| *passed),
            failed: &failed,
        };
        let ran = if claimed.proof.is_empty() {
            RunEvidence::Unknown
        } else {
            self.run_evidence()?
        };
        let claimed = AuthorClaim {
            files: &claimed.files,
            proof: &claimed.proof,
        };
        Ok(check_claims(subject, &claimed, ran, &seen))
    }

    /// Returns what the change's author has run, according to its transcript.
    fn run_evidence(&self) -> Result<RunEvidence, Error> {
        let Some(transcript) = self.transcript() else {
            return Ok(RunEvidence::Unknown);
        };
        let body = self.look.context.engine.bodies.get(transcript.as_str())?;
        let Some((_, told)) = retold(&String::from_utf8_lossy(&body)) else {
            return Ok(RunEvidence::Unknown);
        };
        let did = told.iter().filter_map(|told| match told {
            WorkerEvent::Tool { name, detail } if CHANGING.contains(&name.as_str()) => {
                Some(AuthorAction::Changed(detail))
            }
            WorkerEvent::Tool { name, .. } if QUIET.contains(&name.as_str()) => None,
            WorkerEvent::Tool { detail, .. } => Some(AuthorAction::Ran(detail)),
            WorkerEvent::File { path } => Some(AuthorAction::Changed(path)),
            WorkerEvent::Unknown { .. } => Some(AuthorAction::Unknown),
            _ => None,
        });
        Ok(RunEvidence::from_actions(did))
    }

    /// Returns the transcript of the change's author, if it was stored.
    fn transcript(&self) -> Option<BodyId> {
        let (engine, run) = (self.look.context.engine, &self.look.job.run);
        let mut found = None;
        let read = engine.store.for_each_event(run.as_str(), 0, |stored| {
            if stored.kind == "submission_received"
                && let Ok(Event::SubmissionReceived { id, transcript, .. }) =
                    Event::read(stored.version, &stored.data)
                && id.without_fence() == self.about.by
            {
                found = transcript;
            }
            Ok::<(), store::Error>(())
        });
        // A log that cannot be read is not held against anybody.
        read.ok().and(found)
    }
}

fn commands(what: &CheckKind) -> Vec<String> {
    match what {
        CheckKind::Command(command) => vec![command.clone()],
        CheckKind::Proved(proof) => proof.commands.clone(),
        _ => Vec::new(),
    }
}
