//! A workflow as a file says it. Field comments are what editors show.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Visitor};
use serde_json::Value;

use super::{
    ContextScope, EachItem, ExhaustionPolicy, JoinRule, Rebound, ScribeOutput, StepCondition,
};
use crate::findings::Severity;
use crate::retry;
use crate::role::{RoleFile, RoleKind};
pub(super) use crate::yaml::OrderedMap;
use crate::yaml::{Diagnostic, OneOrMany, ScalarOr, SourcePosition, WithPosition};

/// A workflow: a graph of steps, or a sequence of roles, or changes to another workflow.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct WorkflowFile {
    /// Its name, for people; the file's if it is not said.
    pub(super) name: String,
    /// What it is for, in a line.
    pub(super) description: String,
    /// The workflow this one changes.
    #[serde(alias = "template")]
    pub(super) extends: Option<String>,
    /// The first step; the first in the file if it is not said.
    #[serde(alias = "initial_step")]
    pub(super) start: Option<WithPosition<String>>,
    /// What may be used up by one frame.
    pub(super) limits: FileLimits,
    /// The same as `limits.max_rounds`; 5 in a sequence if left out.
    #[serde(alias = "max_rounds")]
    pub(super) max_iterations: Option<u32>,
    /// What happens then: `escalate` asks a person, `fail` fails. The same as `on_exhausted`.
    pub(super) on_max_iterations: Option<OnMaxIterations>,
    /// What happens when rounds, steps or tries are used up: `ask` a person, or `fail`. If left out,
    /// a sequence asks, and any other workflow fails.
    pub(super) on_exhausted: Option<ExhaustionPolicy>,
    /// Findings below this do not hold a change up; they become follow-ups. `major` if left out.
    pub(super) severity_floor: Severity,
    /// Switches: those that codeteam knows, and those that steps ask for by `when`.
    pub(super) settings: BTreeMap<String, WithPosition<bool>>,
    /// Roles of this workflow alone.
    pub(super) roles: BTreeMap<String, RoleFile>,
    /// The short form: roles in their order.
    pub(super) sequence: Vec<WithPosition<ScalarOr<SequenceEntry>>>,
    /// When to offer that the designer looks again: in a sequence after 3 rejections if left out.
    /// Beside `extends`, for every step that makes such an offer.
    pub(super) rebound: Option<FileRebound>,
    /// What is told to every role of this workflow, before the `rules` of the configuration. A sequence
    /// that says none has five.
    pub(super) rules: Option<Vec<String>>,
    /// The steps by name.
    pub(super) steps: OrderedMap<FileStep>,
    /// Checks by name, for gates and hooks.
    pub(super) checks: BTreeMap<String, ScalarOr<FileCheck>>,
    /// Named checks at fixed places: `pre_commit`, `pre_review`, `post_implement`, `pre_publish`.
    pub(super) hooks: OrderedMap<Vec<WithPosition<String>>>,
    /// Retry policies by name.
    pub(super) policies: BTreeMap<String, FileRetry>,
    /// Changes to steps of the workflow this one extends.
    pub(super) overrides: OrderedMap<FileStep>,
    /// Steps of the workflow this one extends that are left out.
    pub(super) disable: Vec<String>,
    /// The version of the format.
    pub(super) version: Option<f64>,
}

/// Bounds for one frame.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_field_names, reason = "they are keys of a file")]
pub(crate) struct FileLimits {
    /// How often a frame may enter steps, all together; `limits.workflow_max_steps` if left out.
    pub(super) max_steps: LimitValue,
    /// How many rejections a frame may take; no bound if left out.
    pub(super) max_rounds: LimitValue,
    /// How many rounds in a row may each find at least as much that is new as the one before. Then it
    /// is as if `max_rounds` were reached. If left out, 3 where there is no `max_rounds`, and no bound
    /// where there is one.
    pub(super) max_stagnant_rounds: LimitValue,
}

/// A number, or no bound at all.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LimitValue {
    /// Nothing is said.
    #[default]
    Unsaid,
    /// So many.
    Number(u32),
    /// As many as it takes.
    Unlimited,
}

impl LimitValue {
    pub(super) fn resolve(self, unsaid: Option<u32>) -> Option<u32> {
        match self {
            Self::Unsaid => unsaid,
            Self::Number(number) => Some(number),
            Self::Unlimited => None,
        }
    }
}

impl<'de> Deserialize<'de> for LimitValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LimitValueVisitor;
        impl Visitor<'_> for LimitValueVisitor {
            type Value = LimitValue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or `unlimited`")
            }

            fn visit_unit<E>(self) -> Result<LimitValue, E> {
                Ok(LimitValue::Unsaid)
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<LimitValue, E> {
                Ok(LimitValue::Number(
                    u32::try_from(number).unwrap_or(u32::MAX),
                ))
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<LimitValue, E> {
                match word {
                    "unlimited" => Ok(LimitValue::Unlimited),
                    _ => Err(E::unknown_variant(word, &["unlimited"])),
                }
            }
        }
        deserializer.deserialize_any(LimitValueVisitor)
    }
}

impl JsonSchema for LimitValue {
    fn schema_name() -> Cow<'static, str> {
        "Bound".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": "unlimited" }] })
    }
}

/// What happens when the rounds are used up.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OnMaxIterations {
    /// A person decides.
    Escalate,
    /// The frame fails.
    Fail,
}

/// A member of a sequence.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SequenceEntry {
    /// The role.
    pub(super) role: String,
    /// What it owes, if it is to be said; it must be what the role owes.
    #[serde(rename = "type", alias = "kind")]
    pub(super) kind: Option<RoleKind>,
}

/// When to offer that the designer looks again.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileRebound {
    /// After this many rejections.
    #[serde(alias = "after")]
    pub(super) after_failures: u32,
}

impl FileRebound {
    /// What is wrong with it, if anything is.
    pub(super) fn fault(self, place: SourcePosition) -> Option<Diagnostic> {
        let message =
            "`after_failures` is 0, so that the designer would be asked before anything failed";
        (self.after_failures == 0).then(|| Diagnostic::at(place, message).hint("at least 1"))
    }
}

/// A step: one of `role`, `roles`, `gate`, `person`, `each`, `commit`, `publish`, and where it leads.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "they are keys of a file")]
pub(crate) struct FileStep {
    /// The role a worker plays.
    pub(super) role: Option<WithPosition<String>>,
    /// The roles that workers play side by side.
    pub(super) roles: Vec<WithPosition<String>>,
    /// The roles that judge a change that is small by `verification.small_change`, in place of
    /// `roles`.
    pub(super) small_change: Vec<WithPosition<String>>,
    /// How many workers play each role; 1, or what `verifier_instances` says, if left out.
    pub(super) instances: Option<u32>,
    /// How the verdicts are put together; `all` if left out.
    pub(super) join: Option<JoinRule>,
    /// Whether several roles work side by side (`true`) or one after the other.
    pub(super) parallel: Option<bool>,
    /// Checks of the orchestrator: a list, the name of one, or the project's own: `project` for all of them,
    /// `project_commands` for its commands, `project_rules` for everything but them.
    pub(super) gate: Option<WithPosition<ScalarOr<Vec<ScalarOr<FileCheck>>>>>,
    /// `orchestrator_gate` runs `command`; `human_gate` asks a person.
    #[serde(rename = "type", alias = "gate_type")]
    pub(super) does: Option<WithPosition<String>>,
    /// The command of a gate.
    pub(super) command: Option<WithPosition<String>>,
    /// What the step is for; of a `human_gate`, what is asked.
    pub(super) description: Option<String>,
    /// What a person is asked.
    pub(super) person: Option<String>,
    /// What can be answered, and where each answer leads.
    pub(super) answers: OrderedMap<ScalarOr<FileAnswer>>,
    /// Whether a change that gets nowhere comes to this person instead of being given up.
    pub(super) exhausted: bool,
    /// A sub-graph for every `task` or `phase` of the plan.
    pub(super) each: Option<EachItem>,
    /// The first step of the sub-graph.
    pub(super) start: Option<String>,
    /// How many tasks at a time. `limits.max_parallel_tasks` of the configuration stands in its place,
    /// but for `cap: 1`, which means one after the other. 1 if nobody says.
    pub(super) cap: Option<usize>,
    /// The role that is asked which task comes first, where several could and the setting
    /// `situation` is on.
    pub(super) choose: Option<WithPosition<String>>,
    /// Whether the others go on when a task fails, or it all ends.
    pub(super) on_task_failure: OnTaskFailure,
    /// The steps of the sub-graph.
    pub(super) steps: OrderedMap<FileStep>,
    /// `branch`: the tree is integrated on the run's branch.
    pub(super) commit: Option<CommitTarget>,
    /// Who redoes a change that conflicts with what was integrated meanwhile.
    pub(super) on_conflict: Option<String>,
    /// A command on the host, after a decision: push, pull request.
    pub(super) publish: Option<String>,
    /// Left out unless this holds.
    pub(super) when: Option<StepCondition>,
    /// Where to go when it succeeds: a step, `done` or `fail`.
    pub(super) next: Option<String>,
    /// Where to go when it fails.
    pub(super) on_fail: Option<String>,
    /// Where a rejection goes.
    pub(super) on_reject: Option<String>,
    /// How failed attempts are tried again: the name of a policy, or one.
    #[serde(alias = "retry_policy")]
    pub(super) retry: Option<WithPosition<ScalarOr<FileRetry>>>,
    /// How often it may be tried again, or send the work back.
    pub(super) max_retries: Option<u32>,
    /// How long one attempt may take; `limits.step_timeout_seconds` if left out.
    pub(super) timeout_seconds: Option<u64>,
    /// How long a worker may say nothing; 900 if left out.
    pub(super) stall_seconds: Option<u64>,
    /// How often it may send the frame back.
    pub(super) max_rounds: Option<u32>,
    /// Where to go instead of back, after a number of rejections.
    pub(super) rebound: Option<Rebound>,
    /// Whether, after the last try, less may be asked for.
    pub(super) degrade: bool,
    /// How often an analyst may ask before the next step follows; once if left out. How often a
    /// planner may ask before it must plan; never if left out.
    pub(super) max_question_rounds: Option<u32>,
    /// Whether an implementer may change nothing.
    pub(super) allow_empty: bool,
    /// What a scribe's text is: the `message` of what comes next, the `brief` that implementers are
    /// given, or the `log` of the work, shortened. A message if left out.
    pub(super) writes: ScribeOutput,
    /// The same as `next: done`.
    pub(super) terminal: bool,
    /// Whether workflows that extend this one must keep it.
    pub(super) required: bool,
    /// Whether a person must approve: after a role or a gate, before a commit. A text is the question.
    pub(super) human_approval: Option<ScalarOr<()>>,
    /// What the step is to bring forth, in the worker's words.
    pub(super) outputs: Vec<String>,
    /// Values for the role's prompt, over those of the role.
    pub(super) config: BTreeMap<String, Value>,
    /// How much of the repository the role is shown.
    pub(super) context_scope: Option<ContextScope>,
    /// `after X` or `before X`: where a step is put into the workflow that is extended.
    pub(super) position: Option<String>,
}

/// One check.
#[derive(Clone, Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FileCheck {
    /// Its name in reports.
    pub(super) name: Option<String>,
    /// A shell command that must exit with 0.
    pub(super) command: Option<String>,
    /// A file that must exist.
    pub(super) exists: Option<String>,
    /// A file that is looked at.
    pub(super) file: Option<String>,
    /// A text it must contain.
    pub(super) contains: Option<String>,
    /// A text it must not contain.
    pub(super) lacks: Option<String>,
    /// Patterns, of which the change must touch a file.
    pub(super) changed: OneOrMany<String>,
    /// How long it may take; 600 if left out.
    pub(super) timeout_seconds: Option<u64>,
}

/// Where an answer leads.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "they are keys of a file")]
pub(crate) struct FileAnswer {
    /// A step, `done` or `fail`.
    pub(super) next: String,
    /// Whether it sends the work back: what the person writes becomes feedback.
    #[serde(default)]
    pub(super) rejects: bool,
    /// Whether counting starts anew.
    #[serde(default)]
    pub(super) resets: bool,
    /// Whether it comes with a change that the person has made to the work tree.
    #[serde(default)]
    pub(super) edits: bool,
    /// Whether the change is undone: work starts again from the base. It is kept if left out.
    #[serde(default)]
    pub(super) reverts: bool,
}

/// How failed attempts are tried again.
#[derive(Clone, Debug, Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct FileRetry {
    /// Tries in all, the first one included.
    pub max_attempts: Option<u32>,
    /// The wait before the second try.
    pub initial_delay_seconds: Option<f64>,
    /// How many times longer each wait is than the one before.
    pub backoff_multiplier: Option<f64>,
    /// No wait is longer than this.
    pub max_delay_seconds: Option<f64>,
    /// By what share of it a wait may be shorter or longer.
    pub jitter: Option<f64>,
    /// The wait before the second try, in milliseconds.
    pub initial_delay_ms: Option<u64>,
    /// By how many percent each wait is longer than the one before.
    pub backoff_percent: Option<u64>,
    /// No wait is longer than this, in milliseconds.
    pub max_delay_ms: Option<u64>,
    /// By how many percent a wait may be shorter or longer.
    pub jitter_percent: Option<u64>,
    /// What happens after the last try: `ask_human` asks a person, `fail` fails.
    pub on_failure: Option<OnFailure>,
}

/// What happens after the last try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// A person decides.
    #[serde(alias = "ask")]
    AskHuman,
    /// The step fails.
    Fail,
}

impl FileRetry {
    /// The policy, over another.
    pub fn policy(&self, below: &retry::RetryPolicy) -> retry::RetryPolicy {
        let ms = |seconds: Option<f64>| seconds.map(|s| whole(s * 1_000.0));
        let percent = |share: Option<f64>| share.map(|s| whole(s * 100.0));
        retry::RetryPolicy {
            max_attempts: self.max_attempts.unwrap_or(below.max_attempts).max(1),
            initial_delay_ms: self
                .initial_delay_ms
                .or(ms(self.initial_delay_seconds))
                .unwrap_or(below.initial_delay_ms),
            backoff_percent: self
                .backoff_percent
                .or(percent(self.backoff_multiplier))
                .unwrap_or(below.backoff_percent),
            max_delay_ms: self
                .max_delay_ms
                .or(ms(self.max_delay_seconds))
                .unwrap_or(below.max_delay_ms),
            jitter_percent: self
                .jitter_percent
                .or(percent(self.jitter))
                .unwrap_or(below.jitter_percent)
                .min(100),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is clamped to what fits"
)]
fn whole(number: f64) -> u64 {
    number.clamp(0.0, 1e12).round() as u64
}

/// What the failure of a task means for the others.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OnTaskFailure {
    /// They go on.
    #[default]
    Continue,
    /// It all ends.
    Halt,
}

/// Where a tree is integrated.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CommitTarget {
    /// On the run's branch.
    Branch,
}
