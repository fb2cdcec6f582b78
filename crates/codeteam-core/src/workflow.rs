//! Workflows: graphs of steps, compiled from YAML and pinned into a run when it starts.
//!
//! **Architecture invariant:** the kernel runs any valid graph. Nothing here or in `decide` knows
//! a workflow or a role by its name.

mod check;
mod compile;
mod exits;
mod expand;
mod file;
mod gate;
mod glob;
mod graft;
pub mod graph;
mod join;
mod shape;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::compile::{CompileInputs, CompiledWorkflow, build, compile};
pub use self::exits::{
    ChangeSize, ExitTarget, GoalBreadth, LogLength, PersonAnswer, PlanPresence, Rebound,
    StepCondition, TaskDetail,
};
pub use self::expand::{SETTINGS, WorkflowSetting};
pub use self::file::{FileRetry, OnFailure, WorkflowFile};
pub use self::gate::{Check, CheckClass, CheckKind, CodeMetric, HonestyRule, TestProof};
pub use self::glob::matches as glob_matches;
pub use self::join::JoinRule;
pub use self::shape::{AssembledWorkflow, WorkflowLookup, assemble};
use crate::depth::SmallChangeLimits;
use crate::findings::Severity;
use crate::ids::{Commit, RoleName, StepId};
use crate::retry;

/// A compiled workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workflow {
    /// Its name, for people.
    pub name: String,
    /// Where the run's own frame starts.
    pub start: StepId,
    /// All steps, those of sub-graphs too: ids are unique in the whole workflow.
    pub steps: BTreeMap<StepId, Step>,
    /// How often a frame may enter steps, all together.
    pub max_steps: Option<u32>,
    /// How many rejections a frame may take.
    pub max_rounds: Option<u32>,
    /// How many rounds in a row may each find at least as much that is new as the one before.
    #[serde(
        default = "stagnant_rounds",
        skip_serializing_if = "is_usual_stagnation"
    )]
    pub max_stagnant_rounds: Option<u32>,
    /// What happens when rounds, steps or tries are used up and the step has no way out.
    pub on_exhausted: ExhaustionPolicy,
    /// Findings below this do not hold a change up; they become follow-ups.
    pub severity_floor: Severity,
    /// Switches that `when` can ask for.
    pub settings: BTreeMap<String, bool>,
    /// What counts as a small change; none does if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub small_change: Option<SmallChangeLimits>,
}

/// How many stagnant rounds end a workflow that has no bound of rounds, and one that was pinned before
/// a workflow could say.
#[expect(
    clippy::unnecessary_wraps,
    reason = "it is the default of an optional field"
)]
pub(crate) fn stagnant_rounds() -> Option<u32> {
    Some(3)
}

#[expect(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    reason = "serde wants a reference"
)]
fn is_usual_stagnation(rounds: &Option<u32>) -> bool {
    *rounds == stagnant_rounds()
}

/// The setting that lets a role say which task comes first.
pub const SITUATION: &str = "situation";
/// The setting without which a planner asks nobody.
pub const TALK: &str = "talk";

/// What happens at the end of patience.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExhaustionPolicy {
    /// The frame fails.
    #[default]
    Fail,
    /// A person decides.
    Ask,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its id.
    pub id: StepId,
    /// The `each` step whose sub-graph this one belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<StepId>,
    /// What it does.
    pub kind: StepKind,
    /// Left out unless this holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<StepCondition>,
    /// Where to go when it succeeds.
    pub next: ExitTarget,
    /// Where to go when it fails; without one, the frame fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_fail: Option<ExitTarget>,
    /// How often it may send the frame back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
    /// Where to go instead of back, after a number of rejections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebound: Option<Rebound>,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "does", rename_all = "lowercase")]
pub enum StepKind {
    /// Workers play roles, side by side.
    Role(Box<RoleStep>),
    /// The orchestrator checks the tree itself.
    Gate {
        /// What it checks.
        checks: Vec<Check>,
    },
    /// A person decides.
    Person {
        /// What is asked.
        question: String,
        /// What can be answered, in order.
        answers: Vec<PersonAnswer>,
        /// Whether a change that gets nowhere comes here instead of being given up.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        exhausted: bool,
    },
    /// A sub-graph for every task or phase.
    Each {
        /// Over what.
        over: EachItem,
        /// The first step of the sub-graph.
        start: StepId,
        /// How many at a time.
        cap: usize,
        /// Whether the first failure ends it all.
        halt: bool,
        /// The role that is asked which task comes first, where several could.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        choose: Option<RoleName>,
    },
    /// The frame's tree is integrated on the run's branch.
    Commit {
        /// Who redoes a change that conflicts with what was integrated meanwhile.
        on_conflict: Option<StepId>,
    },
    /// A command on the host, after a decision: push, pull request.
    Publish {
        /// The command.
        command: String,
    },
    /// What the run has committed is handed over, when everything else is done. No file says it: it
    /// is put at the end of a run by how the project wants its commits.
    Deliver {
        /// How.
        how: DeliveryMethod,
    },
}

/// How a run's commits are handed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryMethod {
    /// The user's branch is moved forward to them.
    Forward {
        /// The branch that was checked out when the run began, if one was.
        branch: Option<String>,
        /// Where it was.
        at: Commit,
    },
    /// They are left as a patch, on no branch.
    Patch,
}

/// Before which commits a person is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommitApproval {
    /// None, unless the workflow says so.
    #[default]
    Nothing,
    /// The first one of a run.
    First,
    /// Every one.
    Each,
}

/// How long a worker may say nothing, unless the workflow says else. Tests that take long are
/// silent too, so this is not for the impatient.
pub(crate) fn stall_ms() -> u64 {
    15 * 60 * 1_000
}

/// Workers in one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleStep {
    /// The role of each slot. Not all of them need be asked: see `small_from`.
    pub slots: Vec<RoleName>,
    /// From which slot on they judge small changes, and nothing else; those before judge the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub small_from: Option<u32>,
    /// How the slots' verdicts are put together.
    pub join: JoinRule,
    /// Where a rejection goes; without one it is a failure of the step.
    pub on_reject: Option<ExitTarget>,
    /// How failed attempts are tried again.
    pub retry: retry::RetryPolicy,
    /// How long one attempt may take.
    pub timeout_ms: u64,
    /// How long its worker may say nothing.
    #[serde(default = "stall_ms")]
    pub stall_ms: u64,
    /// Whether, after the last try, less may be asked for.
    pub degrade: bool,
    /// How often an analyst may ask before the next step follows.
    pub max_question_rounds: u32,
    /// Whether an implementer may change nothing.
    pub allow_empty: bool,
    /// What the step is to bring forth, for the worker to read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// Values for the roles' prompts, over those of the roles.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, serde_json::Value>,
    /// How much of the repository the roles are shown.
    #[serde(default, skip_serializing_if = "ContextScope::is_all")]
    pub scope: ContextScope,
    /// What a scribe's text is.
    #[serde(default, skip_serializing_if = "ScribeOutput::is_message")]
    pub writes: ScribeOutput,
}

impl RoleStep {
    /// The roles that judge a change, small or not.
    pub fn roles_for(&self, size: Option<ChangeSize>) -> &[RoleName] {
        let usual = self.small_from.map_or(self.slots.len(), |n| n as usize);
        let (usual, small) = self.slots.split_at(usual.min(self.slots.len()));
        match size {
            Some(ChangeSize::Small) if !small.is_empty() => small,
            _ => usual,
        }
    }

    /// One worker that is asked for an opinion: nothing is tried again and nothing is judged.
    pub(crate) fn of_a_choice(role: &RoleName) -> Self {
        Self {
            slots: vec![role.clone()],
            small_from: None,
            join: JoinRule::default(),
            on_reject: None,
            retry: retry::RetryPolicy::default(),
            timeout_ms: CHOICE_TIMEOUT_MS,
            stall_ms: stall_ms(),
            degrade: false,
            max_question_rounds: 0,
            allow_empty: false,
            outputs: Vec::new(),
            config: BTreeMap::new(),
            scope: ContextScope::default(),
            writes: ScribeOutput::default(),
        }
    }
}

/// How long a role may think about which task comes first.
const CHOICE_TIMEOUT_MS: u64 = 10 * 60 * 1_000;

/// What a scribe's text is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScribeOutput {
    /// What comes next: a commit message, a score, a note.
    #[default]
    Message,
    /// The brief that implementers of the frame are given, in every round.
    Brief,
    /// The log of the work so far, shortened.
    Log,
}

impl ScribeOutput {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
    fn is_message(&self) -> bool {
        *self == Self::Message
    }
}

/// How much of the repository a role is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContextScope {
    /// The folders of the files that the task touches.
    ComponentOnly,
    /// The folders of the files that the tasks of its phase touch.
    Phase,
    /// All of it.
    #[default]
    Repository,
}

impl ContextScope {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
    fn is_all(&self) -> bool {
        *self == Self::Repository
    }
}

/// Over what an `each` step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EachItem {
    /// The tasks of the plan, or of the phase when inside one.
    Task,
    /// The phases of the plan.
    Phase,
}

impl Workflow {
    /// Puts a last step in, at which what was committed is handed over.
    pub fn deliver(&mut self, how: DeliveryMethod) {
        let mut id = StepId::from("deliver");
        while self.steps.contains_key(&id) {
            id.0.push('_');
        }
        let step = Step {
            id: id.clone(),
            scope: None,
            kind: StepKind::Deliver { how },
            when: None,
            next: ExitTarget::Done,
            on_fail: None,
            max_rounds: None,
            rebound: None,
        };
        self.steps.insert(id, step);
    }

    /// The step at which what was committed is handed over, if there is one.
    pub fn delivery(&self) -> Option<&Step> {
        let mut steps = self.steps.values();
        steps.find(|step| matches!(step.kind, StepKind::Deliver { .. }))
    }
}

impl Step {
    /// Every place this step can lead to, with the key that names it.
    pub fn exits(&self) -> Vec<(&'static str, ExitTarget)> {
        let mut exits = vec![("next", self.next.clone())];
        exits.extend(self.on_fail.iter().map(|t| ("on_fail", t.clone())));
        exits.extend(
            self.rebound
                .iter()
                .map(|r| ("rebound", ExitTarget::Step(r.to.clone()))),
        );
        match &self.kind {
            StepKind::Role(role) => {
                exits.extend(role.on_reject.iter().map(|t| ("on_reject", t.clone())));
            }
            StepKind::Person { answers, .. } => {
                // Its `next` is only for when it is left out.
                exits.retain(|(key, _)| *key == "next" && self.when.is_some());
                exits.extend(answers.iter().map(|a| ("answers", a.next.clone())));
            }
            StepKind::Commit { on_conflict } => {
                exits.extend(
                    on_conflict
                        .iter()
                        .map(|s| ("on_conflict", ExitTarget::Step(s.clone()))),
                );
            }
            StepKind::Gate { .. }
            | StepKind::Each { .. }
            | StepKind::Publish { .. }
            | StepKind::Deliver { .. } => {}
        }
        exits
    }
}
