//! Builds assignments: everything a worker needs to know, gathered from the run.

mod phase;
mod team;
mod upstream;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use self::phase::{PhaseContext, ToldInterface};
pub(crate) use self::phase::{builds_on_phase, phases_depended_on};
pub use self::team::{TaskSpending, TeamContext, WaitingTask};
pub use self::upstream::UpstreamResult;
use crate::budget::{self, BudgetReservation};
use crate::checks::CheckResult;
use crate::commit_message::writes_commit_message;
use crate::contribution::Contribution;
use crate::feedback::AttemptFailure;
use crate::feedback::Feedback;
use crate::findings::Finding;
use crate::frame::{
    Conversation, DemandLevel, Frame, FrameChange, FrameItem, FrameOutputs, FrameStage, Slot,
    SlotWork,
};
use crate::ids::{AttemptId, RoleName, RunId, StepId, Tree, WorkerName};
use crate::locks::{InterfaceLock, RequestedInterface};
use crate::message::CommitFacts;
use crate::plan::{Plan, Task};
use crate::requirements::{PartialAnalysis, known_requirements};
use crate::role::{self, Contract, ExecutionOptions, Role, RoleKind};
use crate::run::Run;
use crate::submission::{self, AnswerForm, ClaimedChange, Design};
use crate::work_log::WorkLog;
use crate::workflow::{ContextScope, RoleStep, ScribeOutput, StepKind, TALK};

/// Everything that one attempt of a worker is based on.
///
/// [`build_assignment`] gathers it from the run whenever the attempt is due; it is not stored in
/// the events. The engine renders it as a prompt, or hands it to a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// The attempt it is for.
    pub id: AttemptId,
    /// The run's id.
    pub run: RunId,
    /// The goal, as the user stated it.
    pub goal: String,
    /// The role to play.
    pub role: RoleName,
    /// The kind of role, which determines the answer that is due.
    pub kind: RoleKind,
    /// The answer that is due.
    #[serde(flatten)]
    pub expected: ExpectedAnswer,
    /// What the role is told to do, whatever the task.
    #[serde(flatten)]
    pub instructions: RoleInstructions,
    /// The plan's id; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plan_id: String,
    /// Tools, turns and other options for the execution.
    #[serde(default)]
    pub means: ExecutionOptions,
    /// The conversation that is continued, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Conversation>,
    /// The worker that carries it out.
    pub worker: WorkerName,
    /// The model, if not the worker's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where the attempt stands in the run.
    #[serde(flatten)]
    pub place: AttemptPlace,
    /// The task, if the frame is for one.
    pub task: Option<Task>,
    /// The tree it starts from.
    pub tree: Tree,
    /// Whether the worker may change files.
    pub writable: bool,
    /// The files of interfaces that it must not change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locked: Vec<InterfaceLock>,
    /// Which part of the project the worker is shown.
    #[serde(flatten)]
    pub shown: ShownProject,
    /// What the attempt may take and cost.
    #[serde(flatten)]
    pub limits: AttemptLimits,
    /// What was said about earlier attempts and about the change.
    #[serde(flatten)]
    pub feedback: AttemptFeedback,
    /// What other roles and people have contributed so far.
    #[serde(flatten)]
    pub earlier: EarlierResults,
    /// The change that is to be judged or continued.
    #[serde(flatten)]
    pub judged: JudgedWork,
    /// What it is told as a member of a team, or as its leader.
    #[serde(default)]
    pub team: TeamContext,
}

/// The answer that is due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpectedAnswer {
    /// The wire format of the answer.
    pub contract: Contract,
    /// The outputs that the step requires.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// An example of the answer.
    pub example: serde_json::Value,
    /// The JSON Schema of the answer.
    #[serde(default)]
    pub schema: serde_json::Value,
    /// Whether the worker has to shorten the log of the work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shortens: bool,
    /// The tasks to choose from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
    /// Whether a planner may ask a person first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// Whether an implementer may ask for a change of a locked interface.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requests: bool,
}

/// What the role is told to do, whatever the task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoleInstructions {
    /// The role's prompt, as a template.
    pub prompt: String,
    /// The attitude the worker should take.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stance: String,
    /// Values that the prompt may refer to by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, serde_json::Value>,
    /// The name of the prompt template, if not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Rules that every role must keep to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
}

/// Where the attempt stands in the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptPlace {
    /// The step's id.
    pub step: StepId,
    /// The slot of the step.
    pub slot: u32,
    /// The visit of the step, from 1.
    pub generation: u32,
    /// The attempt's number, from 1.
    pub attempt: u32,
    /// The round, from 1.
    pub round: u32,
    /// The demand level.
    pub level: DemandLevel,
}

/// Which part of the project the worker is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShownProject {
    /// Patterns of files that the worker is not shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// The role's configuration of the context it is shown.
    #[serde(default)]
    pub context: role::RoleContext,
    /// The files that the shown context stays close to; empty for the whole project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
    /// The files that the plan names for this work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
}

/// What the attempt may take and cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptLimits {
    /// The time limit.
    pub timeout_ms: u64,
    /// The longest time the worker may be silent.
    #[serde(default)]
    pub stall_ms: u64,
    /// The maximum cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_microusd: Option<u64>,
    /// The maximum number of tokens read and written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
}

/// What was said about earlier attempts and about the change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptFeedback {
    /// What is wrong, one message for each complaint.
    #[serde(rename = "feedback")]
    pub messages: Vec<String>,
    /// Bodies attached to the feedback.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<crate::ids::BodyId>,
    /// The open findings.
    pub findings: Vec<Finding>,
}

/// What other roles and people have contributed so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EarlierResults {
    /// The confirmed requirements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirements: Option<String>,
    /// Questions that were asked, and the person's answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<(Vec<String>, String)>,
    /// The analysis from before those questions were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<PartialAnalysis>,
    /// The design.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design: Option<Design>,
    /// The plan, for roles that work on all of it or on a whole phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// The phase, for roles that work on it as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<PhaseContext>,
    /// The interfaces to keep to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<ToldInterface>,
    /// The change of a locked interface that the task asks for, for those who decide about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested: Option<RequestedInterface>,
    /// The last message of a scribe in this frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The brief that a scribe has written for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brief: Option<String>,
    /// The log of the work in this frame so far.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub log: String,
    /// What the tasks have brought forth that this one depends on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upstream: Vec<UpstreamResult>,
    /// What others have contributed to the task so far, for whoever goes on with it; and all of it
    /// for whoever summarises it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contributions: Vec<Contribution>,
}

/// The change that is to be judged or continued.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedWork {
    /// The change to be judged: the implementer's own description ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<ClaimedChange>,
    /// ... and what it really is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<FrameChange>,
    /// The results of the orchestrator's own checks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckResult>,
    /// The tree that this step judged before, if it was another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Tree>,
}

impl Assignment {
    /// Returns the requirements as far as they are known.
    pub fn known_requirements(&self) -> String {
        let confirmed = self.earlier.requirements.as_deref();
        known_requirements(
            confirmed,
            self.earlier.analysis.as_ref(),
            &self.earlier.answers,
        )
    }

    /// Returns the facts that the answer has to agree with.
    pub fn submission_constraints(&self) -> submission::SubmissionConstraints<'_> {
        let task = self.task.as_ref();
        submission::SubmissionConstraints {
            task: task.map(|task| &task.id),
            plan: Some(&self.plan_id),
            files: task.map(|task| task.files.as_slice()),
            passed: all_checks_passed(&self.judged.checks),
            criteria: task.map(|task| task.acceptance.as_slice()),
            root: self.means.root.as_deref(),
            max_chars: self.means.max_chars,
        }
    }
}

/// Returns whether all checks passed, or `None` if there were none.
pub(crate) fn all_checks_passed(checks: &[CheckResult]) -> Option<bool> {
    (!checks.is_empty()).then(|| checks.iter().all(|check| check.passed))
}

/// Collects what other roles and people have contributed. What a task's frame does not know itself
/// comes from the run's.
fn earlier_results(run: &Run, frame: &Frame, role: &Role, writes: ScribeOutput) -> EarlierResults {
    let shortens = writes == ScribeOutput::Log;
    let root = run.frames.get(&crate::ids::FramePath::root());
    let own = &frame.outputs;
    let asked_in = &frame_with_answers(run, frame).outputs;
    let implements = role.kind == RoleKind::Implementer;
    EarlierResults {
        requirements: own
            .requirements
            .clone()
            .or_else(|| root?.outputs.requirements.clone()),
        answers: asked_in.answers.clone(),
        analysis: asked_in.analysis.clone(),
        design: phase::told_design(run, frame),
        plan: run
            .plan
            .as_deref()
            .filter(|_| !matches!(frame.item, FrameItem::Task(_)))
            .cloned(),
        phase: phase::phase_context(run, frame),
        interfaces: phase::told_interfaces(run, frame, role),
        requested: frame.interface_request.as_deref().cloned(),
        text: own.text.clone(),
        brief: own.brief.clone().filter(|_| implements),
        log: Some(&frame.work_log)
            .filter(|_| shortens || implements)
            .map(WorkLog::text)
            .unwrap_or_default(),
        upstream: upstream::upstream_results(run, frame, role),
        contributions: match writes {
            ScribeOutput::Digest => own.contributions.clone(),
            _ if implements => others_contributions(own, role),
            _ => Vec::new(),
        },
    }
}

/// Returns what other roles have contributed to the same task, for the one that goes on with it.
fn others_contributions(own: &FrameOutputs, role: &Role) -> Vec<Contribution> {
    let all = own.contributions.iter();
    all.filter(|one| one.role != role.name).cloned().collect()
}

/// Builds the assignment of an attempt that is due.
pub fn build_assignment(run: &Run, id: &AttemptId) -> Option<Assignment> {
    let frame = run.frames.get(&id.frame)?;
    let slot = frame.slot(id)?;
    let SlotWork::Role(name) = &slot.work else {
        return None;
    };
    let role = run.roles.get(name)?;
    let chooses;
    let step = match &run.frame_step(frame)?.kind {
        StepKind::Role(step) => &**step,
        StepKind::Each { .. } => {
            chooses = RoleStep::for_task_choice(name);
            &chooses
        }
        _ => return None,
    };
    let form = answer_form(run, frame, role);
    let shortens = step.writes == ScribeOutput::Log;
    let judges = role.kind == RoleKind::Gatekeeper;
    Some(Assignment {
        id: id.clone(),
        run: run.id.clone(),
        goal: run.goal.clone(),
        role: name.clone(),
        kind: role.kind,
        expected: ExpectedAnswer {
            contract: role.contract,
            outputs: outputs(run, frame, id, step),
            example: submission::example(form),
            schema: submission::answer_schema(form),
            shortens,
            candidates: candidates(frame),
            asks: form.asks,
            requests: form.requests,
        },
        instructions: RoleInstructions {
            prompt: role.prompt.clone(),
            stance: role.stance.clone(),
            config: role.config_with(&step.config),
            template: role.template.clone(),
            rules: run.rules.to_vec(),
        },
        plan_id: plan_id(run).to_owned(),
        means: role.means.clone(),
        session: frame.conversation(role, slot).cloned(),
        worker: slot.worker.clone().unwrap_or_default(),
        // The configured model belongs to the first worker; its replacements have their own.
        model: role
            .model
            .clone()
            .filter(|_| slot.worker.as_ref() == role.workers.first()),
        place: AttemptPlace {
            step: id.step.clone(),
            slot: id.slot,
            generation: id.generation,
            attempt: id.attempt,
            round: match role.contract {
                Contract::Intervention => frame.led_round(),
                _ => frame.round,
            },
            level: frame.demand.level,
        },
        task: team::told_task(run, frame, role),
        tree: frame.tree.clone(),
        writable: role.kind == RoleKind::Implementer,
        locked: run.interface_locks(),
        limits: AttemptLimits {
            timeout_ms: step.timeout_ms,
            stall_ms: step.stall_ms,
            max_cost_microusd: max_cost(run, frame, role.max_cost_microusd),
            max_tokens: max_tokens(run, frame),
        },
        shown: ShownProject {
            exclude: role.exclude.clone(),
            context: role.context.clone(),
            scope: scope_files(run, frame, step.scope),
            targets: targets(run, frame, role.kind),
        },
        feedback: AttemptFeedback {
            messages: feedback(frame, slot, judges),
            attachments: frame.attachments().cloned().collect(),
            findings: open_findings(run, frame, Some(&id.step).filter(|_| judges)),
        },
        earlier: earlier_results(run, frame, role, step.writes),
        judged: JudgedWork {
            claimed: frame.outputs.change.clone(),
            change: frame.change.clone(),
            checks: frame.outputs.checks.clone(),
            before: previously_judged_tree(frame, &id.step).filter(|_| judges),
        },
        team: TeamContext::for_role(run, frame, role),
    })
}

/// Returns the tree that a step judged last, if the frame has another one now.
fn previously_judged_tree(frame: &Frame, step: &StepId) -> Option<Tree> {
    let judged = frame.verdicts.get(step)?;
    (judged.tree != frame.tree).then(|| judged.tree.clone())
}

/// Returns the frame whose questions and answers apply to a frame. What an analyst asked for the
/// whole run applies to its tasks; what a planner asked is contained in its plan.
fn frame_with_answers<'a>(run: &'a Run, frame: &'a Frame) -> &'a Frame {
    let mut roles = run.roles.values();
    let is_analysed = roles.any(|role| role.kind == RoleKind::Analyst);
    let root = run.frames.get(&crate::ids::FramePath::root());
    let root = root.filter(|_| is_analysed && frame.outputs.answers.is_empty());
    root.unwrap_or(frame)
}

/// Returns the files of the task; where the run carries out the plan as a whole, those of all its
/// tasks, for whoever makes or judges the change.
fn targets(run: &Run, frame: &Frame, kind: RoleKind) -> Vec<String> {
    let is_about_a_change = kind == RoleKind::Implementer || frame.change.is_some();
    match run.frame_task(frame) {
        Some(task) => task.files.clone(),
        None if is_about_a_change => run.planned_files(frame),
        None => Vec::new(),
    }
}

/// Lists what the step has to produce: its own outputs, and the form of a commit message.
fn outputs(run: &Run, frame: &Frame, id: &AttemptId, step: &RoleStep) -> Vec<String> {
    let mut outputs = step.outputs.clone();
    if !run.message_format.is_free() && writes_commit_message(run, &id.step) {
        outputs.extend(
            run.message_format
                .worker_instructions(&CommitFacts::for_frame(run, frame)),
        );
    }
    outputs
}

/// Collects the feedback: on the frame's change, for those who can repair it, and on earlier
/// attempts.
fn feedback(frame: &Frame, slot: &Slot, judges: bool) -> Vec<String> {
    let of_change = frame
        .feedback
        .iter()
        .filter(|_| !judges)
        .map(format_feedback);
    let of_tries = slot.feedback.iter().map(AttemptFailure::feedback_text);
    let notices = frame.notices.iter().filter(|_| !judges);
    of_change
        .chain(notices.map(format_feedback))
        .chain(of_tries)
        .collect()
}

/// Returns the open findings. A judge sees those of its own step, which it answers for, and those
/// of checks that are left to a reviewer.
fn open_findings(run: &Run, frame: &Frame, judging: Option<&StepId>) -> Vec<Finding> {
    let is_of_checks = |step: &StepId| {
        let kind = run.step(step).map(|step| &step.kind);
        matches!(kind, Some(StepKind::Gate { .. }))
    };
    let open = frame.findings.open();
    let shown =
        open.filter(|f| judging.is_none_or(|step| f.step == *step || is_of_checks(&f.step)));
    shown.cloned().collect()
}

/// Returns the tasks to choose from.
fn candidates(frame: &Frame) -> Vec<String> {
    let children = frame.children.as_ref();
    let Some(children) = children.filter(|_| frame.stage == FrameStage::Each) else {
        return Vec::new();
    };
    let able = children.schedule.candidates();
    able.filter_map(|i| children.names.get(i).cloned())
        .collect()
}

/// Returns the form that a role's answer must have, in the frame's current state.
pub(crate) fn answer_form(run: &Run, frame: &Frame, role: &Role) -> AnswerForm {
    let mut form = role.answer_form();
    let step = run.frame_step(frame).map(|step| &step.kind);
    if let (RoleKind::Planner, Contract::Native, Some(StepKind::Role(step))) =
        (role.kind, role.contract, step)
    {
        form.asks = !frame.outputs.settled && may_ask(run, frame, step);
    }
    if let (RoleKind::Implementer, Some(StepKind::Role(step))) = (role.kind, step) {
        let is_decided = step.on_interface_change.is_some() && role.contract != Contract::Strict;
        form.requests = is_decided && !run.interface_locks().is_empty();
    }
    form
}

/// Returns the form that is accepted from an attempt. A planner that was told to plan and asks
/// anyway is told so once; if it asks again, the person who wanted the plan is asked what the
/// planner needs. That also applies where nobody was available for questions: the run then waits
/// for an answer, which is better than giving up.
pub(crate) fn accepted_form(run: &Run, frame: &Frame, role: &Role, attempt: u32) -> AnswerForm {
    let mut form = answer_form(run, frame, role);
    let step = run.frame_step(frame).map(|step| &step.kind);
    if let (RoleKind::Planner, Contract::Native, Some(StepKind::Role(step))) =
        (role.kind, role.contract, step)
        && attempt > 1
    {
        form.asks = has_question_rounds(frame, step);
    }
    form
}

/// Returns true if somebody is available whom a planner may still ask.
fn may_ask(run: &Run, frame: &Frame, step: &RoleStep) -> bool {
    let silent = run.workflow.settings.get(TALK) == Some(&false);
    !silent && has_question_rounds(frame, step)
}

/// Returns true if the workflow lets a planner ask once more.
fn has_question_rounds(frame: &Frame, step: &RoleStep) -> bool {
    frame.answers.question_rounds < step.max_question_rounds
}

/// Returns the plan's id, or the one that a plan made in this run will get.
fn plan_id(run: &Run) -> &str {
    let plan = run.plan.as_ref().map(|plan| plan.plan_id.as_str());
    plan.filter(|id| !id.is_empty()).unwrap_or(&run.plan_id)
}

/// Returns the files of the task, or of all tasks of its phase.
fn scope_files(run: &Run, frame: &Frame, scope: ContextScope) -> Vec<String> {
    let Some(task) = run.frame_task(frame) else {
        return Vec::new();
    };
    match scope {
        ContextScope::Repository => Vec::new(),
        ContextScope::ComponentOnly => task.files.clone(),
        ContextScope::Phase => {
            let tasks = run.plan.iter().flat_map(|plan| &plan.tasks);
            let near = tasks.filter(|other| other.phase == task.phase);
            let files: BTreeSet<&String> = near.flat_map(|task| &task.files).collect();
            files.into_iter().cloned().collect()
        }
    }
}

/// Returns the maximum cost of an attempt: what its role allows, and no more than is left for it.
fn max_cost(run: &Run, frame: &Frame, own: Option<u64>) -> Option<u64> {
    let reserved = BudgetReservation {
        money_microusd: own.unwrap_or(0),
        tokens: 0,
    };
    let for_task = left_for_task(run, frame, budget::LimitKind::Money);
    let for_run = run.budget.remaining_money(reserved, run.in_flight_usage());
    [own, for_run, for_task].into_iter().flatten().min()
}

/// Returns how many tokens are left for an attempt.
fn max_tokens(run: &Run, frame: &Frame) -> Option<u64> {
    let for_task = left_for_task(run, frame, budget::LimitKind::Tokens);
    let for_run = run.budget.remaining_tokens(run.in_flight_usage());
    [for_run, for_task].into_iter().flatten().min()
}

fn left_for_task(run: &Run, frame: &Frame, kind: budget::LimitKind) -> Option<u64> {
    let is_task = matches!(frame.item, FrameItem::Task(_));
    let left = frame.counts.spent.remaining(&run.budget.limits, kind);
    left.filter(|_| is_task)
}

fn format_feedback(feedback: &Feedback) -> String {
    format!("[{}] {}", feedback.from, feedback.text)
}
