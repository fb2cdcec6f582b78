//! Rehearsals: a workflow is tested like code.
//!
//! A small YAML file scripts what happens when a step is reached and says which path the run must
//! take. The run is decided by the real kernel ([`decide()`](crate::decide()), [`apply`](crate::apply),
//! [`due()`](crate::due())); only the world around it is made up: workers say what the script says, trees
//! are names derived from what was changed, and every wait ends at once.
//!
//! **Architecture invariant:** no policy here. A rehearsal that knew where a step leads would agree
//! with itself and not with the kernel.

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
use crate::plan;
use crate::workflow::CompiledWorkflow;
use crate::yaml::{FileProblem, FileProblems, SourceFiles};

/// No rehearsal is fed more inputs than this.
pub const MAX_INPUTS: usize = 5_000;

/// A file of cases for one workflow.
#[derive(Clone, Debug)]
pub struct RehearsalSuite {
    /// The file, as the user would name it.
    pub file: String,
    /// The workflow it tests: a name or a path.
    pub workflow: String,
    /// Its cases, in order.
    pub cases: Vec<RehearsalCase>,
}

impl RehearsalSuite {
    /// Reads a file of cases.
    pub fn parse(file: &str, text: &str) -> Result<Self, FileProblems> {
        file::parse(file, text)
    }
}

/// One scripted run and the path it must take.
#[derive(Clone, Debug)]
pub struct RehearsalCase {
    /// What it shows.
    pub name: String,
    /// The line it starts at.
    pub line: u32,
    /// Settings over the workflow's own; whoever compiles the workflow puts them in.
    pub settings: BTreeMap<String, Value>,
    goal: String,
    plan: Option<plan::LoadedPlan>,
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
                return RehearsalOutcome::refused(self.sources.problems(faults).problems);
            }
        };
        let mut world = RehearsalWorld::new(compiled, script);
        let ended = world.play(&self.goal, self.plan.as_ref());
        let (path, unreached) = world.told();
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

/// What came of a case.
#[derive(Clone, Debug)]
pub struct RehearsalOutcome {
    /// What is wrong with the case itself, for this workflow; it was not played then.
    pub problems: Vec<FileProblem>,
    /// How the run ended.
    pub ended: RehearsalEnd,
    /// The steps that were entered, of all frames, in order.
    pub path: Vec<StepVisit>,
    /// Where it is not as expected.
    pub differences: Vec<RehearsalDifference>,
    /// Answers for steps that were never reached.
    pub unreached: Vec<String>,
}

impl RehearsalOutcome {
    /// Whether all is as expected.
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

/// A step that was entered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepVisit {
    /// The frame: `run`, or the phase or task it is for.
    pub frame: String,
    /// The step.
    pub step: String,
    /// What happened there, in words.
    pub said: Vec<String>,
}

impl StepVisit {
    /// `step`, or `step@frame` in a frame that is not the run's own.
    pub fn name(&self) -> String {
        if self.frame == "run" {
            self.step.clone()
        } else {
            format!("{}@{}", self.step, self.frame)
        }
    }
}

/// How a rehearsal ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum RehearsalEnd {
    /// The run is complete.
    Completed,
    /// It failed.
    Failed {
        /// Why.
        why: String,
    },
    /// A person ended it.
    Aborted {
        /// Why.
        why: String,
    },
    /// It waits for a person whose answer is not scripted.
    Waiting {
        /// Where.
        at: StepVisit,
        /// For what.
        question: String,
        /// What could be answered; empty if any text would do.
        answers: Vec<String>,
    },
    /// A scripted answer is none of those that were asked for.
    Refused {
        /// Where, and why.
        why: String,
    },
    /// It did not come to an end.
    Endless,
    /// It was not played.
    NotPlayed,
}

#[cfg(test)]
#[expect(
    clippy::needless_raw_string_hashes,
    reason = "that is how expectations are updated"
)]
mod tests;
