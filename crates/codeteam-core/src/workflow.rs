//! Workflows: graphs of steps, compiled from YAML and pinned into a run when it starts.
//!
//! **Architecture invariant:** the kernel runs any valid graph. Nothing here or in `decide` knows
//! a workflow or a role by its name.

mod check;
mod compile;
mod expand;
mod file;
mod glob;
mod graft;
pub mod graph;
mod shape;

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::compile::{Compiled, Surroundings, build, compile};
pub use self::expand::{SETTINGS, Setting};
pub use self::file::{FileRetry, OnFailure, WorkflowFile};
pub use self::glob::matches as glob_matches;
pub use self::shape::{Find, Shape, assemble};
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
    /// What happens when rounds, steps or tries are used up and the step has no way out.
    pub on_exhausted: Exhausted,
    /// Findings below this do not hold a change up; they become follow-ups.
    pub severity_floor: Severity,
    /// Switches that `when` can ask for.
    pub settings: BTreeMap<String, bool>,
}

/// The setting that lets a role say which task comes first.
pub const SITUATION: &str = "situation";
/// The setting without which a planner asks nobody.
pub const TALK: &str = "talk";

/// What happens at the end of patience.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Exhausted {
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
    pub when: Option<Condition>,
    /// Where to go when it succeeds.
    pub next: Target,
    /// Where to go when it fails; without one, the frame fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_fail: Option<Target>,
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
        answers: Vec<Answer>,
        /// Whether a change that gets nowhere comes here instead of being given up.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        exhausted: bool,
    },
    /// A sub-graph for every task or phase.
    Each {
        /// Over what.
        over: Over,
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
        how: Delivery,
    },
}

/// How a run's commits are handed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
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
pub enum AsksBefore {
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
    /// The role of each slot.
    pub slots: Vec<RoleName>,
    /// How the slots' verdicts are put together.
    pub join: Join,
    /// Where a rejection goes; without one it is a failure of the step.
    pub on_reject: Option<Target>,
    /// How failed attempts are tried again.
    pub retry: retry::Policy,
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
    #[serde(default, skip_serializing_if = "Scope::is_all")]
    pub scope: Scope,
    /// What a scribe's text is.
    #[serde(default, skip_serializing_if = "Writes::is_message")]
    pub writes: Writes,
}

impl RoleStep {
    /// One worker that is asked for an opinion: nothing is tried again and nothing is judged.
    pub(crate) fn of_a_choice(role: &RoleName) -> Self {
        Self {
            slots: vec![role.clone()],
            join: Join::default(),
            on_reject: None,
            retry: retry::Policy::default(),
            timeout_ms: CHOICE_TIMEOUT_MS,
            stall_ms: stall_ms(),
            degrade: false,
            max_question_rounds: 0,
            allow_empty: false,
            outputs: Vec::new(),
            config: BTreeMap::new(),
            scope: Scope::default(),
            writes: Writes::default(),
        }
    }
}

/// How long a role may think about which task comes first.
const CHOICE_TIMEOUT_MS: u64 = 10 * 60 * 1_000;

/// What a scribe's text is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Writes {
    /// What comes next: a commit message, a score, a note.
    #[default]
    Message,
    /// The brief that implementers of the frame are given, in every round.
    Brief,
    /// The log of the work so far, shortened.
    Log,
}

impl Writes {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
    fn is_message(&self) -> bool {
        *self == Self::Message
    }
}

/// How much of the repository a role is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The folders of the files that the task touches.
    ComponentOnly,
    /// The folders of the files that the tasks of its phase touch.
    Phase,
    /// All of it.
    #[default]
    Repository,
}

impl Scope {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
    fn is_all(&self) -> bool {
        *self == Self::Repository
    }
}

/// How the verdicts of slots are put together. A slot without a verdict abstains and never
/// approves; a tie rejects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Join {
    /// Every slot approves.
    #[default]
    All,
    /// One approval is enough.
    Any,
    /// More than half of the slots approve.
    Majority,
    /// More than half of the slots of every role approve.
    Roles,
}

impl Join {
    /// The verdict of a step from its slots: `Some(true)` approves, `None` abstained.
    pub fn approves(self, ballots: &[(&RoleName, Option<bool>)]) -> bool {
        let yes = ballots.iter().filter(|(_, b)| *b == Some(true)).count();
        match self {
            Self::All => yes == ballots.len() && yes > 0,
            Self::Any => yes > 0,
            Self::Majority => 2 * yes > ballots.len(),
            Self::Roles => {
                let mut roles: BTreeMap<&RoleName, (usize, usize)> = BTreeMap::new();
                for (role, ballot) in ballots {
                    let (yes, all) = roles.entry(role).or_default();
                    *yes += usize::from(*ballot == Some(true));
                    *all += 1;
                }
                yes > 0 && roles.values().all(|(yes, all)| 2 * yes > *all)
            }
        }
    }
}

/// Over what an `each` step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// The tasks of the plan, or of the phase when inside one.
    Task,
    /// The phases of the plan.
    Phase,
}

/// One thing a gate checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Its name in reports.
    pub name: String,
    /// What it looks at.
    pub what: CheckKind,
    /// How long it may take.
    pub timeout_ms: u64,
}

/// What a check looks at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckKind {
    /// A shell command that must exit with 0.
    Command(String),
    /// A file that must exist.
    Exists(String),
    /// A file that must contain a text.
    Contains {
        /// The file.
        file: String,
        /// The text.
        text: String,
    },
    /// A file that must not contain a text.
    Lacks {
        /// The file.
        file: String,
        /// The text.
        text: String,
    },
    /// The frame's change touches a file that matches one of these patterns.
    Changed {
        /// The patterns.
        paths: Vec<String>,
    },
    /// Something counted in the files that the change touches stays within a limit. What was above
    /// it before may stay, and may not grow.
    Metric {
        /// What is counted.
        of: Metric,
        /// The limit.
        max: u64,
    },
    /// Tests that the change adds or changes fail without the rest of it, and pass with it.
    Proved(Proof),
    /// Nothing in the change gets round the checks or the task.
    Honest {
        /// What is looked for.
        rule: Rule,
        /// Whether it is only told and does not fail.
        told_only: bool,
    },
}

impl CheckKind {
    /// What kind of check it is, for reports.
    pub fn class(&self) -> Class {
        match self {
            Self::Command(_)
            | Self::Exists(_)
            | Self::Contains { .. }
            | Self::Lacks { .. }
            | Self::Changed { .. } => Class::Static,
            Self::Metric { .. } => Class::Metric,
            Self::Proved(_) => Class::Proof,
            Self::Honest { .. } => Class::Honesty,
        }
    }
}

/// What kind of check found something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// A command, a file, a text.
    #[default]
    Static,
    /// A number and its limit.
    Metric,
    /// Whether tests prove anything.
    Proof,
    /// Whether the change plays fair.
    Honesty,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Lines of each file.
    FileLines,
    /// Lines of each function.
    FunctionLines,
    /// Rings of files that import each other.
    ImportCycles,
}

/// How tests are proved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// The commands that run the tests; `{files}` in one stands for the test files that changed.
    pub commands: Vec<String>,
    /// Files of these patterns are tests.
    pub tests: Vec<String>,
    /// Whether tests that prove nothing are only told and do not fail.
    pub told_only: bool,
}

/// What a change must not do to get past the checks.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Touches only the files of its task.
    Scope,
    /// Leaves the tests that were there as they were: none gone, weakened or skipped.
    TestsKept,
    /// Leaves what the checks go by as it was: their configuration, scripts and programs.
    GateKept,
    /// Has no secret in it.
    Secrets,
    /// Has nothing that is left to be done.
    Stubs,
    /// Has no answer made for one test only.
    HardCoded,
    /// Is not another task's change.
    OwnWork,
    /// Has what its author says it has.
    Claims,
}

impl Rule {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 8] = [
        Self::Scope,
        Self::TestsKept,
        Self::GateKept,
        Self::Secrets,
        Self::Stubs,
        Self::HardCoded,
        Self::OwnWork,
        Self::Claims,
    ];

    /// Its name in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scope => "scope",
            Self::TestsKept => "tests_kept",
            Self::GateKept => "gate_kept",
            Self::Secrets => "secrets",
            Self::Stubs => "stubs",
            Self::HardCoded => "hard_coded",
            Self::OwnWork => "own_work",
            Self::Claims => "claims",
        }
    }
}

/// One thing a person can answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a thing of its own that an answer may do"
)]
pub struct Answer {
    /// The word.
    pub name: String,
    /// Where it leads.
    pub next: Target,
    /// Whether it sends the work back: what the person writes becomes feedback.
    pub rejects: bool,
    /// Whether counting starts anew: rounds, steps, what was seen.
    pub resets: bool,
    /// Whether it comes with a change that the person has made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edits: bool,
    /// Whether the change is undone: work starts again from the base.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reverts: bool,
}

/// Where to go instead of back, after a number of rejections in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rebound {
    /// After this many.
    #[serde(alias = "after_failures")]
    pub after: u32,
    /// To this step: a person's, as a rule.
    pub to: StepId,
}

/// Where a frame goes next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Target {
    /// To a step.
    Step(StepId),
    /// The frame is done.
    Done,
    /// The frame fails.
    Fail,
}

impl Target {
    /// Whether it is this step.
    pub fn is(&self, id: &StepId) -> bool {
        matches!(self, Self::Step(step) if step == id)
    }
}

impl From<String> for Target {
    fn from(text: String) -> Self {
        match text.as_str() {
            "done" => Self::Done,
            "fail" => Self::Fail,
            _ => Self::Step(StepId(text)),
        }
    }
}

impl From<Target> for String {
    fn from(target: Target) -> Self {
        target.to_string()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Step(step) => step.as_str(),
            Self::Done => "done",
            Self::Fail => "fail",
        })
    }
}

/// When a step is not left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Condition {
    /// The run has a plan, or has none.
    Plan(Presence),
    /// A setting of the workflow is on.
    Setting(String),
    /// The frame's change touches a file that matches one of these patterns.
    Changed(Vec<String>),
    /// The run has committed something, or nothing.
    Committed(bool),
    /// The log of the frame's work is longer than its implementer may be given.
    Log(Length),
    /// A person gave this answer (`step: answer`) in this frame.
    Answered(BTreeMap<StepId, String>),
    /// The other way round.
    Not(Box<Condition>),
    /// All hold.
    All(Vec<Condition>),
    /// One holds.
    Any(Vec<Condition>),
}

/// How long something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Length {
    /// Too long.
    Long,
}

/// Whether something is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// It is.
    Present,
    /// It is not.
    Missing,
    /// It is, and the run began with it.
    Given,
}

impl Workflow {
    /// Puts a last step in, at which what was committed is handed over.
    pub fn deliver(&mut self, how: Delivery) {
        let mut id = StepId::from("deliver");
        while self.steps.contains_key(&id) {
            id.0.push('_');
        }
        let step = Step {
            id: id.clone(),
            scope: None,
            kind: StepKind::Deliver { how },
            when: None,
            next: Target::Done,
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
    pub fn exits(&self) -> Vec<(&'static str, Target)> {
        let mut exits = vec![("next", self.next.clone())];
        exits.extend(self.on_fail.iter().map(|t| ("on_fail", t.clone())));
        exits.extend(
            self.rebound
                .iter()
                .map(|r| ("rebound", Target::Step(r.to.clone()))),
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
                        .map(|s| ("on_conflict", Target::Step(s.clone()))),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What a join makes of `role vote` pairs: `+` for, `-` against, `?` without a verdict.
    fn approves(join: Join, ballots: &str) -> bool {
        let ballots: Vec<(RoleName, Option<bool>)> = ballots
            .split_whitespace()
            .map(|ballot| {
                let (role, vote) = ballot.split_at(ballot.len() - 1);
                let vote = match vote {
                    "+" => Some(true),
                    "-" => Some(false),
                    "?" => None,
                    other => panic!("what is `{other}`?"),
                };
                (RoleName::from(role), vote)
            })
            .collect();
        let ballots: Vec<_> = ballots.iter().map(|(role, vote)| (role, *vote)).collect();
        join.approves(&ballots)
    }

    #[test]
    fn a_slot_that_abstains_never_approves_and_a_tie_rejects() {
        assert!(approves(Join::All, "a+ b+"));
        assert!(!approves(Join::All, "a+ b?"));
        assert!(approves(Join::Any, "a- b+"));
        assert!(!approves(Join::Any, "a- b?"));
        assert!(approves(Join::Majority, "a+ b+ c-"));
        assert!(!approves(Join::Majority, "a+ b-"), "a tie rejects");
        assert!(!approves(Join::Majority, "a+ b?"), "half is no majority");
        for join in [Join::All, Join::Any, Join::Majority, Join::Roles] {
            assert!(!approves(join, ""), "{join:?} of nobody");
        }
    }

    #[test]
    fn every_role_needs_a_majority_of_its_own() {
        assert!(approves(Join::Roles, "a+ a+ a- b+"));
        assert!(approves(Join::Roles, "a+ b+ a- b? a+ b+"), "in any order");
        assert!(!approves(Join::Roles, "a+ a+ a+ b-"), "one role is against");
        assert!(!approves(Join::Roles, "a+ a- b+"), "a tie within a role");
        assert!(!approves(Join::Roles, "a+ a+ a+ b?"), "one role is silent");
        assert!(!approves(Join::Roles, "a+ a? b+"), "half of a role");
    }
}
