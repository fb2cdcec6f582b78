//! Gathers what the rules of honesty judge by: beside the change itself its author's words, other
//! changes, and the tests.

use std::time::{Duration, Instant};

use codeteam_core::Event;
use codeteam_core::ids::BodyId;
use codeteam_core::workflow::{Check, CheckKind, HonestyRule};

use super::GateChecks;
use crate::dialect::WorkerEvent;
use crate::perform::worker::retold;
use crate::perform::{Error, oid};
use crate::store;
use crate::verify::CheckFindings;
use crate::verify::honest::{
    AuthorAction, AuthorClaim, GateTestOutcome, HardCodedAnswers, HonestySubject, OtherChange,
    RunEvidence, claims, hard_coded, look, own_work, repeats,
};
use crate::verify::proof::{TestPatterns, meets, runs_tests};

/// How many commits back a change is compared with.
const DEPTH: usize = 300;

/// How long a rule looks at texts. What it has not looked at by then it says.
const LONGEST: Duration = Duration::from_mins(1);

/// Tools that change files, by all their names; those of some are told as files.
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

/// How far a rule may go to find something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RuleReach {
    /// It looks at the change.
    Change,
    /// It runs commands too.
    Commands,
}

impl GateChecks<'_> {
    /// What a rule finds in the change without running anything; `None` if that does not settle it.
    pub(super) fn look_at_change(&self, rule: HonestyRule) -> Result<Option<CheckFindings>, Error> {
        match rule {
            // Whether tests were weakened is found by running them, if it is not plain to see.
            HonestyRule::TestsKept => {
                let found = self.judge_by_rule(rule, RuleReach::Change)?;
                Ok((!found.wrong.is_empty()).then_some(found))
            }
            HonestyRule::Claims => Ok(None),
            _ => self.judge_by_rule(rule, RuleReach::Change).map(Some),
        }
    }

    /// What a rule finds in the change.
    pub(super) fn honest(&self, rule: HonestyRule) -> Result<CheckFindings, Error> {
        self.judge_by_rule(rule, RuleReach::Commands)
    }

    fn judge_by_rule(&self, rule: HonestyRule, reach: RuleReach) -> Result<CheckFindings, Error> {
        let engine = self.look.context.engine;
        let change = self.look.change()?;
        let grounds = self.look.job.grounds(engine)?;
        let is_other = grounds.not_secret != engine.config.redaction.allow;
        let own = is_other.then(|| engine.redactor_but(&grounds.not_secret));
        let own = own.transpose().map_err(Box::new)?;
        let pinned = self.checks.iter().find_map(|check| match &check.what {
            CheckKind::Proved(proof) => Some(&proof.tests),
            _ => None,
        });
        let begun = Instant::now();
        let cancel = &self.look.context.cancel;
        let go_on = || begun.elapsed() < LONGEST && !cancel.is_cancelled();
        let commands: Vec<String> = self.checks.iter().flat_map(|c| commands(&c.what)).collect();
        let mut files = self.about.files.clone();
        if rule == HonestyRule::TestsKept {
            files.extend_from_slice(&self.about.tests_to_change);
        }
        let subject = HonestySubject {
            change,
            tests: TestPatterns(pinned.unwrap_or(&grounds.test_paths)),
            files: &files,
            held: &self.about.held,
            forbidden: &self.about.forbidden,
            commands: &commands,
            redactor: own.as_ref().unwrap_or(&engine.redactor),
            go_on: &go_on,
        };
        Ok(match rule {
            HonestyRule::TestsKept => {
                let mut found = look(rule, &subject);
                // What is plain to see need not be run.
                if found.wrong.is_empty() && reach == RuleReach::Commands {
                    let weakened = self.weakened(&subject)?;
                    found.wrong.extend(weakened.wrong);
                    found.unproved = weakened.unproved;
                }
                let meant = |path: &str| {
                    let mut named = self.about.tests_to_change.iter();
                    subject.tests.has(path) && named.any(|pattern| meets(pattern, path))
                };
                let changed = change.files.iter().filter(|file| meant(&file.path));
                found.told.extend(changed.map(|file| {
                    format!(
                        "{}: changed, because the task, its requirements or its design say so",
                        file.path
                    )
                }));
                found
            }
            HonestyRule::HardCoded => {
                let pairs = HardCodedAnswers::of(&subject);
                if pairs.is_empty() {
                    return Ok(CheckFindings::default());
                }
                let (tests, left_out) = self.look.texts(|path| subject.tests.has(path))?;
                let mut failed = None;
                let all = tests.map_while(|test| test.map_err(|error| failed = Some(error)).ok());
                let mut found = hard_coded(&pairs, all, &go_on);
                if let Some(error) = failed {
                    return Err(error);
                }
                if left_out > 0 {
                    let said = format!("too long to be compared with: {left_out} of the tests");
                    found.unproved.get_or_insert(said);
                }
                found
            }
            HonestyRule::OwnWork => self.own_work(&subject)?,
            HonestyRule::Claims => self.claims(&subject)?,
            HonestyRule::Scope
            | HonestyRule::GateKept
            | HonestyRule::Secrets
            | HonestyRule::Stubs => look(rule, &subject),
        })
    }

    fn own_work(&self, subject: &HonestySubject<'_>) -> Result<CheckFindings, Error> {
        let engine = self.look.context.engine;
        let mut others = Vec::new();
        for (whose, patch, diff) in &self.about.others {
            others.push(OtherChange {
                whose: whose.clone(),
                same: self.about.patch.as_ref() == Some(patch),
                patch: engine.bodies.get(diff.as_str())?,
            });
        }
        let mut found = own_work(subject, &others);
        let files: Vec<&str> = subject
            .change
            .files
            .iter()
            .map(|f| f.path.as_str())
            .collect();
        let lines: usize = subject.change.files.iter().map(|f| f.added.len()).sum();
        // Few lines are the same by chance; what touches very much is nobody's single commit.
        if found.wrong.is_empty() && lines > 10 && files.len() <= 100 {
            let base = oid(&self.look.job.base.commit.0)?;
            let commits = engine.repo.patches(&base, &files, DEPTH)?;
            let again = commits
                .iter()
                .find_map(|(id, patch)| repeats(subject, id, patch));
            found.told.extend(again);
        }
        Ok(found)
    }

    fn claims(&self, subject: &HonestySubject<'_>) -> Result<CheckFindings, Error> {
        let Some(claimed) = &self.about.claimed else {
            return Ok(CheckFindings::default());
        };
        // What each command has come to, on the tree that is judged.
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
            self.ran()?
        };
        let claimed = AuthorClaim {
            files: &claimed.files,
            proof: &claimed.proof,
        };
        Ok(claims(subject, &claimed, ran, &seen))
    }

    /// What the change's author has run, by its transcript.
    fn ran(&self) -> Result<RunEvidence, Error> {
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
        Ok(RunEvidence::of(did))
    }

    /// What the change's author said and did, if it was kept.
    fn transcript(&self) -> Option<BodyId> {
        let (engine, run) = (self.look.context.engine, &self.look.job.run);
        let mut found = None;
        let read = engine.store.for_each_event(run.as_str(), 0, |stored| {
            if stored.kind == "submission_received"
                && let Ok(Event::SubmissionReceived { id, transcript, .. }) =
                    Event::read(stored.version, &stored.data)
                && id.lasting() == self.about.by
            {
                found = transcript;
            }
            Ok::<(), store::Error>(())
        });
        // What cannot be read is not held against anybody.
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
