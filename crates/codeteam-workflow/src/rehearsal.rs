//! Rehearsals: tests for workflows, as code has tests.
//!
//! A small YAML file scripts what happens when a step is reached, and states the path that the run
//! must take. The real kernel ([`decide()`](codeteam_core::decide()),
//! [`apply`](codeteam_core::apply), [`due()`](codeteam_core::due())) decides the run; only the
//! world around it is simulated: workers submit what the script says, trees are names derived from
//! what was changed, and every wait ends at once.
//!
//! **Architecture invariant:** there is no policy here. A rehearsal that knew where a step leads
//! would agree with itself and not with the kernel.

mod answers;
mod compare;
mod file;
mod forms;
mod trees;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use self::answers::AnswerScript;
pub use self::compare::RehearsalDifference;
use self::file::{ExpectedRun, ScriptedAnswer};
use self::world::RehearsalWorld;
use crate::language::CompiledWorkflow;
use crate::plan_file;
use crate::yaml::{FileProblem, FileProblems, SourceFiles};

/// The largest number of inputs that a rehearsal is fed before it counts as endless.
pub(crate) const MAX_INPUTS: usize = 5_000;

/// A file of rehearsal cases for one workflow.
#[derive(Clone, Debug)]
pub struct RehearsalSuite {
    /// The file, as the user would name it.
    pub file: String,
    /// The workflow under test: a name or a path.
    pub workflow: String,
    /// The cases in the order of the file.
    pub cases: Vec<RehearsalCase>,
}

impl RehearsalSuite {
    /// Reads a file of cases.
    pub fn parse(file: &str, text: &str) -> Result<Self, FileProblems> {
        file::parse(file, text)
    }
}

/// One scripted run and the path it must take.
///
/// A case is read once, by [`RehearsalSuite::parse`], and does not know its workflow yet. Playing
/// it takes two steps:
///
/// 1. Compile the workflow with the case's [`settings`](Self::settings). This is the caller's part,
///    because it needs the files of the project.
/// 2. Call [`run`](Self::run) with the result. It checks that the script and the expectation fit
///    the workflow, plays the run, and compares the path with the expected one.
///
/// A run is deterministic: the same case on the same workflow always takes the same path.
#[derive(Clone, Debug)]
pub struct RehearsalCase {
    /// A name that says what the case shows.
    pub name: String,
    /// The line where the case starts.
    pub line: u32,
    /// Settings that take precedence over the workflow's own; the caller applies them when it
    /// compiles the workflow.
    pub settings: BTreeMap<String, Value>,
    goal: String,
    plan: Option<plan_file::LoadedPlan>,
    answers: Vec<ScriptedAnswer>,
    expected: ExpectedRun,
    sources: Arc<SourceFiles>,
}

impl RehearsalCase {
    /// Plays the case on a workflow that was compiled with its settings.
    pub fn run(&self, compiled: &CompiledWorkflow) -> RehearsalOutcome {
        let mut faults = compare::check(&self.expected, &compiled.workflow);
        let script = AnswerScript::new(&self.answers, compiled);
        let script = match script {
            Ok(script) if faults.is_empty() => script,
            script => {
                faults.extend(script.err().unwrap_or_default());
                return RehearsalOutcome::refused(self.sources.to_problems(faults).problems);
            }
        };
        let mut world = RehearsalWorld::new(compiled, script);
        let ended = world.play(&self.goal, self.plan.as_ref());
        let (path, unreached) = world.into_results();
        let differences = compare::differences(&self.expected, &compiled.workflow, &path, &ended);
        RehearsalOutcome {
            problems: Vec::new(),
            ended,
            path,
            differences,
            unreached,
        }
    }
}

/// The result of playing a case.
#[derive(Clone, Debug)]
pub struct RehearsalOutcome {
    /// Problems of the case itself with this workflow. If there are any, the case was not played.
    pub problems: Vec<FileProblem>,
    /// The end of the run.
    pub ended: RehearsalEnd,
    /// The steps that were entered, in all frames, in order.
    pub path: Vec<StepVisit>,
    /// The deviations from what was expected.
    pub differences: Vec<RehearsalDifference>,
    /// The scripted answers for steps that were never reached.
    pub unreached: Vec<String>,
}

impl RehearsalOutcome {
    /// Returns true if the case was played and everything was as expected.
    pub fn passed(&self) -> bool {
        self.problems.is_empty() && self.differences.is_empty()
    }

    fn refused(problems: Vec<FileProblem>) -> Self {
        Self {
            problems,
            ended: RehearsalEnd::NotPlayed,
            path: Vec::new(),
            differences: Vec::new(),
            unreached: Vec::new(),
        }
    }
}

/// One entry into a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepVisit {
    /// The frame: `run`, or the phase or task it is for.
    pub frame: String,
    /// The id of the step.
    pub step: String,
    /// The events there, in words.
    pub said: Vec<String>,
}

impl StepVisit {
    /// Returns `step`, or `step@frame` in a frame other than the run's own.
    pub fn name(&self) -> String {
        if self.frame == "run" {
            self.step.clone()
        } else {
            format!("{}@{}", self.step, self.frame)
        }
    }
}

/// The end of a rehearsal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum RehearsalEnd {
    /// The run completed.
    Completed,
    /// The run failed.
    Failed {
        /// The reason for the failure.
        why: String,
    },
    /// A person aborted the run.
    Aborted {
        /// The reason for the abort.
        why: String,
    },
    /// The run waits for a person whose answer is not scripted.
    Waiting {
        /// The step that waits.
        at: StepVisit,
        /// The question that is open.
        question: String,
        /// The allowed answers; empty if any text is allowed.
        answers: Vec<String>,
    },
    /// A scripted answer is not among the allowed ones.
    Refused {
        /// The place and the reason.
        why: String,
    },
    /// The run did not come to an end.
    Endless,
    /// The case was not played.
    NotPlayed,
}

#[cfg(test)]
#[expect(
    clippy::needless_raw_string_hashes,
    reason = "that is how expectations are updated"
)]
mod tests;
