//! The form of a workflow file. Editors show the field comments as help.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use codeteam_core::findings::Severity;
use codeteam_core::retry;
use codeteam_core::role::RoleKind;
use codeteam_core::workflow::{
    Check, ContextScope, EachItem, ExhaustionPolicy, JoinRule, Rebound, ScribeOutput, StepCondition,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Visitor};
use serde_json::Value;

use crate::roles::RoleFile;
pub(super) use crate::yaml::OrderedMap;
use crate::yaml::{Diagnostic, OneOrMany, ScalarOr, SourcePosition, WithPosition};

/// A workflow: a graph of steps, or a sequence of roles, or changes to another workflow.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct WorkflowFile {
    /// Its name, for people; the file's if left out.
    pub(super) name: String,
    /// Its purpose, in a line.
    pub(super) description: String,
    /// The workflow this one changes.
    #[serde(alias = "template")]
    pub(super) extends: Option<String>,
    /// The first step; the first in the file if left out.
    #[serde(alias = "initial_step")]
    pub(super) start: Option<WithPosition<String>>,
    /// The limits of one frame.
    pub(super) limits: FileLimits,
    /// The same as `limits.max_rounds`; 5 in a sequence if left out.
    #[serde(alias = "max_rounds")]
    pub(super) max_iterations: Option<u32>,
    /// `escalate` asks a person then, `fail` fails. The same as `on_exhausted`.
    pub(super) on_max_iterations: Option<OnMaxIterations>,
    /// When rounds, steps or attempts are used up: `ask` a person, or `fail`. If left out, a
    /// sequence asks, and any other workflow fails.
    pub(super) on_exhausted: Option<ExhaustionPolicy>,
    /// Findings below this do not hold a change up; they become follow-ups. `major` if left out.
    pub(super) severity_floor: Severity,
    /// The lowest score, from 0 to 100, with which a result is good enough. If left out,
    /// `quality_threshold` of the configuration, or else 70. A role may have its own.
    pub(super) quality_threshold: Option<WithPosition<f64>>,
    /// The number of characters from which on the result of a task counts as long, for
    /// `when: { result: long }`; 500 if left out.
    pub(super) digest_from: Option<u32>,
    /// Switches: those that codeteam knows, and those that steps use in `when`.
    pub(super) settings: BTreeMap<String, WithPosition<bool>>,
    /// Roles of this workflow alone.
    pub(super) roles: BTreeMap<String, RoleFile>,
    /// The short form: roles in their order.
    pub(super) sequence: Vec<WithPosition<ScalarOr<SequenceEntry>>>,
    /// When to offer that the designer looks again: in a sequence after 3 rejections if left out.
    /// With `extends`, for every step that makes such an offer.
    pub(super) rebound: Option<FileRebound>,
    /// Rules for every role of this workflow, shown before the `rules` of the configuration. A
    /// sequence without any has five.
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

/// Bounds for one frame, and for one attempt of a worker.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_field_names, reason = "they are keys of a file")]
pub(crate) struct FileLimits {
    /// The most steps that a frame may enter, all together; `limits.workflow_max_steps` if left
    /// out.
    pub(super) max_steps: LimitValue,
    /// The most rejections that a frame may take; no limit if left out.
    pub(super) max_rounds: LimitValue,
    /// The most rounds in a row that may each find at least as many new problems as the one before.
    /// After them, the same happens as after `max_rounds`. If left out, 3 without `max_rounds`, and
    /// no limit with it.
    pub(super) max_stagnant_rounds: LimitValue,
    /// The most times that a worker may ask its model in one attempt, for roles without `max_turns`.
    /// `limits.max_turns` of the configuration replaces it.
    pub(super) max_turns: LimitValue,
}

/// A number, or no bound at all.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LimitValue {
    /// The file does not set the bound; the default applies.
    #[default]
    Unsaid,
    /// The bound is this number.
    Number(u32),
    /// The word `unlimited`: there is no bound.
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

/// The consequence of used-up rounds.
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
    /// Its kind, if it is to be stated; it must be the role's kind.
    #[serde(rename = "type", alias = "kind")]
    pub(super) kind: Option<RoleKind>,
}

/// When to offer another look by the designer.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileRebound {
    /// After this many rejections.
    #[serde(alias = "after")]
    pub(super) after_failures: u32,
}

impl FileRebound {
    /// Returns a diagnostic if the value makes no sense.
    pub(super) fn fault(self, place: SourcePosition) -> Option<Diagnostic> {
        let message =
            "`after_failures` is 0, so that the designer would be asked before anything failed";
        (self.after_failures == 0).then(|| Diagnostic::at(place, message).with_hint("at least 1"))
    }
}

/// The keys of a step that name another one.
pub(super) const EXIT_KEYS: [&str; 5] = [
    "next",
    "on_fail",
    "on_reject",
    "on_conflict",
    "on_interface_change",
];

/// A step: one of `role`, `roles`, `gate`, `person`, `each`, `lock`, `commit`, `publish`, and the
/// steps after it.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "they are keys of a file")]
pub(crate) struct FileStep {
    /// The role a worker plays; `assigned` for the roles that the plan names for each task, one after
    /// the other.
    pub(super) role: Option<WithPosition<String>>,
    /// With `role: assigned`, the role of tasks for which the plan names none.
    pub(super) default_role: Option<WithPosition<String>>,
    /// The roles that workers play in parallel.
    pub(super) roles: Vec<WithPosition<String>>,
    /// The roles that judge a change that is small by `verification.small_change`, in place of
    /// `roles`.
    pub(super) small_change: Vec<WithPosition<String>>,
    /// The number of workers that play each role; 1, or what `verifier_instances` says, if left
    /// out.
    pub(super) instances: Option<u32>,
    /// The rule that joins the verdicts into one; `all` if left out.
    pub(super) join: Option<JoinRule>,
    /// `true`: several roles work in parallel; `false`: one after the other.
    pub(super) parallel: Option<bool>,
    /// Checks of the orchestrator: a list, the name of one, or the project's own: `project` for all of them,
    /// `project_commands` for its commands, `project_rules` for everything but them, `project_interfaces`
    /// for its commands and the rules `gate_kept`, `tests_kept` and `secrets`, which interfaces must keep
    /// to.
    pub(super) gate: Option<WithPosition<ScalarOr<Vec<ScalarOr<FileCheck>>>>>,
    /// `orchestrator_gate` runs `command`; `human_gate` asks a person.
    #[serde(rename = "type", alias = "gate_type")]
    pub(super) does: Option<WithPosition<String>>,
    /// The command of a gate.
    pub(super) command: Option<WithPosition<String>>,
    /// The purpose of the step; for a `human_gate`, the question.
    pub(super) description: Option<String>,
    /// The question for a person.
    pub(super) person: Option<String>,
    /// The possible answers, and the step that each leads to.
    pub(super) answers: OrderedMap<ScalarOr<FileAnswer>>,
    /// `true`: this person is asked about a change that makes no progress, instead of giving it up.
    pub(super) exhausted: bool,
    /// A sub-graph for every `task` or `phase` of the plan.
    pub(super) each: Option<EachItem>,
    /// The first step of the sub-graph.
    pub(super) start: Option<String>,
    /// The most tasks at a time. `limits.max_parallel_tasks` of the configuration replaces it,
    /// except for `cap: 1`, which means one after the other. 1 if neither is set.
    pub(super) cap: Option<usize>,
    /// The role that is asked which task comes first, where several could and the setting
    /// `situation` is on.
    pub(super) choose: Option<WithPosition<String>>,
    /// If a task fails, the others continue, or everything ends.
    pub(super) on_task_failure: OnTaskFailure,
    /// The steps of the sub-graph.
    pub(super) steps: OrderedMap<FileStep>,
    /// `interfaces`: the interfaces of the phase are written to their files, which nobody else may
    /// change until the phase ends. In a task, the interface is written whose change the task asks
    /// for.
    pub(super) lock: Option<LockSubject>,
    /// `branch`: the tree is integrated on the run's branch.
    pub(super) commit: Option<CommitTarget>,
    /// The step that redoes a change which conflicts with what was integrated meanwhile.
    pub(super) on_conflict: Option<String>,
    /// A command on the host, after a decision: push, pull request.
    pub(super) publish: Option<String>,
    /// The step is skipped unless this condition is true.
    pub(super) when: Option<StepCondition>,
    /// The next step when it succeeds: a step, `done` or `fail`.
    pub(super) next: Option<String>,
    /// The next step when it fails.
    pub(super) on_fail: Option<String>,
    /// The next step after a rejection.
    pub(super) on_reject: Option<String>,
    /// The step that decides when the worker asks for a change of a locked interface. Without one, nobody
    /// does, and interfaces stay as they are until the phase ends.
    pub(super) on_interface_change: Option<String>,
    /// The policy for retrying failed attempts: its name, or a policy.
    #[serde(alias = "retry_policy")]
    pub(super) retry: Option<WithPosition<ScalarOr<FileRetry>>>,
    /// The most times that it may be retried, or may send the work back.
    pub(super) max_retries: Option<u32>,
    /// The longest time that one attempt may take; `limits.step_timeout_seconds` if left out.
    pub(super) timeout_seconds: Option<u64>,
    /// The longest time that a worker may print nothing; 900 if left out.
    pub(super) stall_seconds: Option<u64>,
    /// The most times that it may send the frame back.
    pub(super) max_rounds: Option<u32>,
    /// The step to go to instead of back, after a number of rejections.
    pub(super) rebound: Option<Rebound>,
    /// `true`: after the last attempt, the scope may be reduced.
    pub(super) degrade: bool,
    /// The most times that an analyst may ask before the next step follows; once if left out. The
    /// most times that a planner may ask before it must plan; never if left out.
    pub(super) max_question_rounds: Option<u32>,
    /// `true`: an implementer may change nothing.
    pub(super) allow_empty: bool,
    /// The use of a scribe's text: the `message` of what comes next, the `brief` for implementers,
    /// the shortened `log` of the work, or a `digest` of the result, for the tasks that depend on
    /// it. A message if left out.
    pub(super) writes: ScribeOutput,
    /// The same as `next: done`.
    pub(super) terminal: bool,
    /// `true`: workflows that extend this one must keep it.
    pub(super) required: bool,
    /// A person must approve: after a role or a gate, before a commit. A text is the question.
    pub(super) human_approval: Option<ScalarOr<()>>,
    /// The results that the step must produce. Those that codeteam can look for are, and an answer without
    /// one goes back: `interfaces`, `components` and any other single word, as a section, of a designer;
    /// `file_targets` of a planner; `code` or a path of an implementer. Others are words for the worker.
    pub(super) outputs: Vec<String>,
    /// Values for the role's prompt, over those of the role. The gate after the step also checks
    /// `coverage`, in percent of the changed lines, and `min_tests_per_component`.
    pub(super) config: BTreeMap<String, Value>,
    /// The part of the repository that the role is shown.
    pub(super) context_scope: Option<ContextScope>,
    /// `after X` or `before X`: where a step is put into the workflow that is extended.
    pub(super) position: Option<String>,
}

/// One check.
#[derive(Clone, PartialEq, Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FileCheck {
    /// Its name in reports.
    pub(super) name: Option<String>,
    /// A shell command that must exit with 0.
    pub(super) command: Option<String>,
    /// A file that must exist.
    pub(super) exists: Option<String>,
    /// A file to check.
    pub(super) file: Option<String>,
    /// A text it must contain.
    pub(super) contains: Option<String>,
    /// A text it must not contain.
    pub(super) lacks: Option<String>,
    /// Patterns, of which the change must touch a file.
    pub(super) changed: OneOrMany<String>,
    /// The longest time that it may take; 600 if left out.
    pub(super) timeout_seconds: Option<u64>,
    /// A validator of a role, which is a check already.
    #[serde(skip)]
    pub(super) validator: Option<Check>,
}

/// The consequence of an answer.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "they are keys of a file")]
pub(crate) struct FileAnswer {
    /// A step, `done` or `fail`.
    pub(super) next: String,
    /// `true`: it sends the work back, and what the person writes becomes feedback.
    #[serde(default)]
    pub(super) rejects: bool,
    /// `true`: counting starts over.
    #[serde(default)]
    pub(super) resets: bool,
    /// `true`: it comes with a change that the person has made to the work tree.
    #[serde(default)]
    pub(super) edits: bool,
    /// `true`: the change is undone, and work starts again from the base. It is kept if left out.
    #[serde(default)]
    pub(super) reverts: bool,
}

/// A policy for retrying failed attempts.
#[derive(Clone, Debug, Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct FileRetry {
    /// Attempts in total, including the first one.
    pub max_attempts: Option<u32>,
    /// The wait before the second attempt.
    pub initial_delay_seconds: Option<f64>,
    /// The factor by which each wait is longer than the one before.
    pub backoff_multiplier: Option<f64>,
    /// No wait is longer than this.
    pub max_delay_seconds: Option<f64>,
    /// The share of it by which a wait may be shorter or longer.
    pub jitter: Option<f64>,
    /// The wait before the second attempt, in milliseconds.
    pub initial_delay_ms: Option<u64>,
    /// By how many percent each wait is longer than the one before.
    pub backoff_percent: Option<u64>,
    /// No wait is longer than this, in milliseconds.
    pub max_delay_ms: Option<u64>,
    /// By how many percent a wait may be shorter or longer.
    pub jitter_percent: Option<u64>,
    /// After the last attempt: `ask_human` asks a person, `fail` fails.
    pub on_failure: Option<OnFailure>,
}

/// The consequence of a failed last try.
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
    /// Returns the policy, with missing values taken from `below`.
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

/// The effect of a task's failure on the others.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OnTaskFailure {
    /// They continue.
    #[default]
    Continue,
    /// Everything ends.
    Halt,
}

/// What a step locks.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LockSubject {
    /// The interfaces of the phase.
    Interfaces,
}

/// The branch into which a tree is integrated.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CommitTarget {
    /// On the run's branch.
    Branch,
}
