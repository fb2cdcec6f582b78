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

use self::answers::Script;
pub use self::compare::Difference;
use self::file::{Expected, Scripted};
use self::world::World;
use crate::plan;
use crate::workflow::Compiled;
use crate::yaml::{Problem, Problems, Sources};

/// No rehearsal is fed more inputs than this.
pub const MAX_INPUTS: usize = 5_000;

/// A file of cases for one workflow.
#[derive(Clone, Debug)]
pub struct File {
    /// The file, as the user would name it.
    pub file: String,
    /// The workflow it tests: a name or a path.
    pub workflow: String,
    /// Its cases, in order.
    pub cases: Vec<Case>,
}

impl File {
    /// Reads a file of cases.
    pub fn parse(file: &str, text: &str) -> Result<Self, Problems> {
        file::parse(file, text)
    }
}

/// One scripted run and the path it must take.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it shows.
    pub name: String,
    /// The line it starts at.
    pub line: u32,
    /// Settings over the workflow's own; whoever compiles the workflow puts them in.
    pub settings: BTreeMap<String, Value>,
    goal: String,
    plan: Option<plan::Loaded>,
    answers: Vec<Scripted>,
    expected: Expected,
    sources: Arc<Sources>,
}

impl Case {
    /// Plays the case on a workflow that was compiled with its settings.
    pub fn run(&self, compiled: &Compiled) -> Outcome {
        let mut faults = compare::check(&self.expected, &compiled.workflow);
        let script = Script::new(&self.answers, compiled);
        let script = match script {
            Ok(script) if faults.is_empty() => script,
            script => {
                faults.extend(script.err().unwrap_or_default());
                return Outcome::refused(self.sources.problems(faults).problems);
            }
        };
        let mut world = World::new(compiled, script);
        let ended = world.play(&self.goal, self.plan.as_ref());
        let (path, unreached) = world.told();
        let differences = compare::differences(&self.expected, &compiled.workflow, &path, &ended);
        Outcome {
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
pub struct Outcome {
    /// What is wrong with the case itself, for this workflow; it was not played then.
    pub problems: Vec<Problem>,
    /// How the run ended.
    pub ended: Ended,
    /// The steps that were entered, of all frames, in order.
    pub path: Vec<Visit>,
    /// Where it is not as expected.
    pub differences: Vec<Difference>,
    /// Answers for steps that were never reached.
    pub unreached: Vec<String>,
}

impl Outcome {
    /// Whether all is as expected.
    pub fn passed(&self) -> bool {
        self.problems.is_empty() && self.differences.is_empty()
    }

    fn refused(problems: Vec<Problem>) -> Self {
        Self {
            problems,
            ended: Ended::NotPlayed,
            path: Vec::new(),
            differences: Vec::new(),
            unreached: Vec::new(),
        }
    }
}

/// A step that was entered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Visit {
    /// The frame: `run`, or the phase or task it is for.
    pub frame: String,
    /// The step.
    pub step: String,
    /// What happened there, in words.
    pub said: Vec<String>,
}

impl Visit {
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
pub enum Ended {
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
        at: Visit,
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
