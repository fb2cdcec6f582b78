//! Workflows: graphs of steps, compiled by `codeteam-workflow` and pinned into a run when it
//! starts.
//!
//! **Architecture invariant:** the kernel runs any valid graph. Nothing here or in `decide` knows a
//! workflow or a role by its name.

mod exits;
mod gate;
mod join;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::exits::{
    ChangeSize, ExitTarget, GoalBreadth, LogLength, MessageRule, PersonAnswer, PlanPresence,
    Rebound, ScoreLevel, StepCondition, TaskDetail,
};
pub use self::gate::{
    Check, CheckClass, CheckKind, CodeMetric, FormatRules, HonestyRule, JsonSchemaSource,
    MutantTrial, TestProof, TestRepeats, WordBounds,
};
pub use self::join::JoinRule;
use crate::findings::Severity;
use crate::ids::{Commit, RoleName, StepId};
use crate::retry;

/// A compiled workflow: the graph of steps that a run follows, with its limits.
///
/// `codeteam-workflow` compiles it from YAML and checks it; the kernel assumes it is valid. It is
/// pinned by [`crate::event::RunStarted`], so later edits of the files do not affect a run under
/// way. Only repinned checks ([`crate::Event::ChecksRepinned`]) change it.
///
/// A frame starts at `start` (the root frame) or at the `start` of an `each` step (its children).
/// At every step it does the step's work ([`StepKind`]) and then leaves by one of the step's exits:
/// `next` on success, `on_fail` on failure, `on_reject` when a judging role rejects, `rebound`
/// after repeated rejections. A step whose `when` does not hold is skipped in favour of its `next`.
/// The frame ends when an exit leads to [`ExitTarget::Done`] or [`ExitTarget::Fail`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workflow {
    /// The workflow's name, for people.
    pub name: String,
    /// The step at which the root frame starts.
    pub start: StepId,
    /// All steps, including those of sub-graphs: ids are unique in the whole workflow.
    pub steps: BTreeMap<StepId, Step>,
    /// The maximum number of steps a frame may enter, in total.
    pub max_steps: Option<u32>,
    /// The maximum number of rejections a frame may take.
    pub max_rounds: Option<u32>,
    /// The maximum number of consecutive rounds that may each find at least as many new findings as
    /// the one before.
    #[serde(
        default = "stagnant_rounds",
        skip_serializing_if = "is_usual_stagnation"
    )]
    pub max_stagnant_rounds: Option<u32>,
    /// The policy when rounds, steps or attempts are used up and the step has no other exit.
    pub on_exhausted: ExhaustionPolicy,
    /// Findings below this severity do not hold a change up; they become follow-ups.
    pub severity_floor: Severity,
    /// Switches that `when` can refer to.
    pub settings: BTreeMap<String, bool>,
    /// The limits for a small change; if absent, no change counts as small.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub small_change: Option<SmallChangeLimits>,
    /// The score that a result needs to be built on, if it is not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality_threshold: Option<u8>,
    /// The number of characters from which on the contributions to a task count as long, if it is
    /// not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest_from: Option<u32>,
}

/// What a change may be at most to count as small.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SmallChangeLimits {
    /// How many lines it may add and remove, all together; with 0 no change is small.
    pub max_lines: u32,
    /// How many files it may touch.
    pub max_files: u32,
    /// Files of these patterns are never part of a small change.
    pub risky_paths: Vec<String>,
}

/// Returns how many stagnant rounds end a workflow without a bound of rounds, and one that was
/// pinned before workflows could configure this.
pub fn stagnant_rounds() -> Option<u32> {
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

/// The setting that lets a role choose which task comes first.
pub const SITUATION: &str = "situation";
/// The setting that, if it is off, keeps a planner from asking questions.
pub const TALK: &str = "talk";

/// The setting that sends a plan back once whose criteria nobody could measure.
pub(crate) const MEASURABLE_CRITERIA: &str = "measurable_criteria";

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

/// A step of a workflow: its work, its condition and its exits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The step's id.
    pub id: StepId,
    /// The `each` step whose sub-graph this one belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<StepId>,
    /// The work of the step.
    pub kind: StepKind,
    /// The condition without which the step is skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<StepCondition>,
    /// The target when it succeeds.
    pub next: ExitTarget,
    /// The target when it fails; without one, the frame fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_fail: Option<ExitTarget>,
    /// The number of times it may send the frame back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
    /// The alternative to sending the frame back, after a number of rejections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebound: Option<Rebound>,
}

/// The work of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "does", rename_all = "lowercase")]
pub enum StepKind {
    /// Workers play roles, in parallel.
    Role(Box<RoleStep>),
    /// The orchestrator checks the tree itself.
    Gate {
        /// The checks that are run.
        checks: Vec<Check>,
    },
    /// A person decides.
    Person {
        /// The question that is asked.
        question: String,
        /// The possible answers, in order.
        answers: Vec<PersonAnswer>,
        /// Whether exhausted work comes here instead of being given up.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        exhausted: bool,
    },
    /// Runs a sub-graph for every task or phase.
    Each {
        /// The items to go through.
        over: EachItem,
        /// The first step of the sub-graph.
        start: StepId,
        /// The maximum number of items under way at a time.
        cap: usize,
        /// Whether the first failure ends the whole step.
        halt: bool,
        /// The role that is asked which task comes first when several could start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        choose: Option<RoleName>,
    },
    /// The frame's tree is integrated on the run's branch.
    Commit {
        /// The step that redoes a change which conflicts with what was integrated meanwhile.
        on_conflict: Option<StepId>,
    },
    /// The interfaces of the frame's phase are written to their files. From then on, until the phase
    /// ends, nobody else changes these files. In a task, the interface is written whose change the
    /// task has asked for.
    Lock,
    /// A command on the host, after a decision: push, pull request.
    Publish {
        /// The shell command.
        command: String,
    },
    /// The run's commits are delivered when everything else is done. No workflow file contains this
    /// step: it is added at the end of a run according to how the project wants its commits.
    Deliver {
        /// The delivery method.
        how: DeliveryMethod,
    },
}

/// The way a run's commits are delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryMethod {
    /// The user's branch is moved forward to them.
    Forward {
        /// The branch that was checked out when the run began, if one was.
        branch: Option<String>,
        /// The commit it pointed to.
        at: Commit,
    },
    /// They are left as a patch, on no branch.
    Patch,
}

/// The commits that need a person's approval.
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

/// Returns how long a worker may be silent, unless the workflow configures another time. Long test
/// runs are silent too, so the time is generous.
pub fn stall_ms() -> u64 {
    15 * 60 * 1_000
}

/// A step at which workers play roles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleStep {
    /// The role of each slot. Not all of them need take part: see `small_from`.
    pub slots: Vec<RoleName>,
    /// The first of the slots that judge small changes only; those before it judge the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub small_from: Option<u32>,
    /// The rule by which the slots' verdicts are joined.
    pub join: JoinRule,
    /// Where a rejection leads; without one it is a failure of the step.
    pub on_reject: Option<ExitTarget>,
    /// Where a request for a change of a locked interface leads; without one, nobody decides about
    /// such requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_interface_change: Option<StepId>,
    /// The policy for retries of failed attempts.
    pub retry: retry::RetryPolicy,
    /// The time limit of one attempt.
    pub timeout_ms: u64,
    /// The longest time its worker may be silent.
    #[serde(default = "stall_ms")]
    pub stall_ms: u64,
    /// Whether less may be asked for after the last attempt.
    pub degrade: bool,
    /// The number of times an analyst may ask questions before the next step follows.
    pub max_question_rounds: u32,
    /// Whether an implementer may submit an empty change.
    pub allow_empty: bool,
    /// The required outputs, for the worker to read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// Whether the plan names the roles of each task; `slots` has the role for tasks that name
    /// none. Several roles work one after another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub assigned: bool,
    /// Values for the roles' prompts, which override those of the roles.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, serde_json::Value>,
    /// The part of the repository that the roles are shown.
    #[serde(default, skip_serializing_if = "ContextScope::is_all")]
    pub scope: ContextScope,
    /// The purpose of a scribe's text.
    #[serde(default, skip_serializing_if = "ScribeOutput::is_message")]
    pub writes: ScribeOutput,
}

impl RoleStep {
    /// Returns the roles that judge a change of the given size.
    pub fn roles_for(&self, size: Option<ChangeSize>) -> &[RoleName] {
        let usual = self.small_from.map_or(self.slots.len(), |n| n as usize);
        let (usual, small) = self.slots.split_at(usual.min(self.slots.len()));
        match size {
            Some(ChangeSize::Small) if !small.is_empty() => small,
            _ => usual,
        }
    }

    /// Creates a step in which one worker is asked for an opinion: nothing is retried and nothing
    /// is judged.
    pub fn for_task_choice(role: &RoleName) -> Self {
        Self {
            slots: vec![role.clone()],
            small_from: None,
            join: JoinRule::default(),
            on_reject: None,
            on_interface_change: None,
            retry: retry::RetryPolicy::default(),
            timeout_ms: CHOICE_TIMEOUT_MS,
            stall_ms: stall_ms(),
            degrade: false,
            max_question_rounds: 0,
            allow_empty: false,
            outputs: Vec::new(),
            assigned: false,
            config: BTreeMap::new(),
            scope: ContextScope::default(),
            writes: ScribeOutput::default(),
        }
    }
}

/// The time limit for a role that chooses which task comes first.
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
    /// What was contributed to the task, in brief, for those who depend on it.
    Digest,
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
    /// Adds a final step that delivers the run's commits.
    pub fn add_delivery_step(&mut self, how: DeliveryMethod) {
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

    /// Returns the step that delivers the run's commits, if there is one.
    pub fn delivery_step(&self) -> Option<&Step> {
        let mut steps = self.steps.values();
        steps.find(|step| matches!(step.kind, StepKind::Deliver { .. }))
    }
}

impl Step {
    /// Returns every target of this step, with the key that names it.
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
                let asks = role.on_interface_change.iter();
                exits.extend(asks.map(|s| ("on_interface_change", ExitTarget::Step(s.clone()))));
            }
            StepKind::Person { answers, .. } => {
                // Its `next` applies only if it is skipped.
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
            | StepKind::Lock
            | StepKind::Publish { .. }
            | StepKind::Deliver { .. } => {}
        }
        exits
    }
}
