//! Everything a worker is told, gathered from the run.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::budget::{self, BudgetReservation};
use crate::event::CheckResult;
use crate::feedback::AttemptFailure;
use crate::findings::Finding;
use crate::frame::{
    Conversation, DemandLevel, Feedback, Frame, FrameChange, FrameItem, FrameStage, Slot, SlotWork,
};
use crate::ids::{AttemptId, RoleName, RunId, StepId, Tree, WorkerName};
use crate::log::WorkLog;
use crate::message::{self, CommitFacts};
use crate::plan::{Plan, Task};
use crate::requirements::{PartialAnalysis, known_requirements};
use crate::role::{self, Contract, ExecutionOptions, Role, RoleKind};
use crate::run::Run;
use crate::submission::{self, AnswerForm, ClaimedChange, Design};
use crate::workflow::{ContextScope, RoleStep, ScribeOutput, StepKind, TALK};

/// An assignment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// Names the attempt.
    pub id: AttemptId,
    /// The run.
    pub run: RunId,
    /// What the user asked for.
    pub goal: String,
    /// The role to play.
    pub role: RoleName,
    /// What it owes.
    pub kind: RoleKind,
    /// In which form.
    pub contract: Contract,
    /// Who the worker is asked to be, as a template.
    pub prompt: String,
    /// The attitude it is to take.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stance: String,
    /// What its prompt may refer to, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, serde_json::Value>,
    /// What the step is to bring forth.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// The template it is put into words by, if not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// What every role is told to keep to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// The plan's id; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plan_id: String,
    /// An example of the answer.
    pub example: serde_json::Value,
    /// The JSON Schema of the answer.
    #[serde(default)]
    pub schema: serde_json::Value,
    /// With what it is carried out.
    #[serde(default)]
    pub means: ExecutionOptions,
    /// The session it goes on in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Conversation>,
    /// What carries it out.
    pub worker: WorkerName,
    /// With which model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The step.
    pub step: StepId,
    /// The task, if the frame is for one.
    pub task: Option<Task>,
    /// The parallel member.
    pub slot: u32,
    /// The visit of the step, from 1.
    pub generation: u32,
    /// The try, from 1.
    pub attempt: u32,
    /// The round, from 1.
    pub round: u32,
    /// How much is asked.
    pub level: DemandLevel,
    /// The tree it starts from.
    pub tree: Tree,
    /// Whether it may change files.
    pub writable: bool,
    /// Files that it is not shown, as patterns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// How long it may take.
    pub timeout_ms: u64,
    /// How long it may say nothing.
    #[serde(default)]
    pub stall_ms: u64,
    /// What it may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_microusd: Option<u64>,
    /// How many tokens it may read and write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// What was wrong before.
    pub feedback: Vec<String>,
    /// Bodies that belong to the feedback.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<crate::ids::BodyId>,
    /// Findings that are open, by id.
    pub findings: Vec<Finding>,
    /// What is to be built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirements: Option<String>,
    /// Questions that were asked, and the person's answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<(Vec<String>, String)>,
    /// What was found out before those questions were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<PartialAnalysis>,
    /// How it is to be built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design: Option<Design>,
    /// The plan, for those who judge it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// The change to be judged: what the implementer says of it ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<ClaimedChange>,
    /// ... and what it really is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<FrameChange>,
    /// What the orchestrator's own checks found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckResult>,
    /// The last message of a scribe in this frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The brief that a scribe has written for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brief: Option<String>,
    /// What was done in this frame so far.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub log: String,
    /// Whether that log is to be shortened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shortens: bool,
    /// The tasks of which one is to be chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
    /// Whether a planner may ask a person first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// What it is shown of the project.
    #[serde(default)]
    pub context: role::RoleContext,
    /// The files that what it is shown keeps near to; all of the project if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
    /// The tree that was judged here before, if it was another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Tree>,
    /// The files that the plan names for the work at hand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
}

impl Assignment {
    /// What is known of the requirements.
    pub fn known_requirements(&self) -> String {
        let confirmed = self.requirements.as_deref();
        known_requirements(confirmed, self.analysis.as_ref(), &self.answers)
    }

    /// What its answer is about.
    pub fn about(&self) -> submission::SubmissionConstraints<'_> {
        let task = self.task.as_ref();
        submission::SubmissionConstraints {
            task: task.map(|task| &task.id),
            plan: Some(&self.plan_id),
            files: task.map(|task| task.files.as_slice()),
            passed: passed(&self.checks),
            root: self.means.root.as_deref(),
            max_chars: self.means.max_chars,
        }
    }
}

/// Whether everything passed that was checked, if anything was.
pub(crate) fn passed(checks: &[CheckResult]) -> Option<bool> {
    (!checks.is_empty()).then(|| checks.iter().all(|check| check.passed))
}

/// The assignment of an attempt that is due.
pub fn assignment(run: &Run, id: &AttemptId) -> Option<Assignment> {
    let frame = run.frames.get(&id.frame)?;
    let slot = frame.slot(id)?;
    let SlotWork::Role(name) = &slot.work else {
        return None;
    };
    let role = run.roles.get(name)?;
    let chooses;
    let step = match &run.step_of(frame)?.kind {
        StepKind::Role(step) => &**step,
        StepKind::Each { .. } => {
            chooses = RoleStep::of_a_choice(name);
            &chooses
        }
        _ => return None,
    };
    let form = form(run, frame, role);
    let shortens = step.writes == ScribeOutput::Log;
    let root = run.frames.get(&crate::ids::FramePath::root());
    let judges = role.kind == RoleKind::Gatekeeper;
    let inherited =
        |own: Option<String>, of: fn(&Frame) -> Option<String>| own.or_else(|| root.and_then(of));
    let asked_in = asked_in(run, frame);
    Some(Assignment {
        id: id.clone(),
        run: run.id.clone(),
        goal: run.goal.clone(),
        role: name.clone(),
        kind: role.kind,
        contract: role.contract,
        prompt: role.prompt.clone(),
        stance: role.stance.clone(),
        config: role.config_with(&step.config),
        outputs: outputs(run, frame, id, step),
        template: role.template.clone(),
        rules: run.rules.to_vec(),
        plan_id: plan_id(run).to_owned(),
        example: submission::example(form),
        schema: submission::schema(form),
        means: role.means.clone(),
        session: frame.session(role, slot).cloned(),
        worker: slot.worker.clone().unwrap_or_default(),
        // A model is the first worker's; those who stand in have their own.
        model: role
            .model
            .clone()
            .filter(|_| slot.worker.as_ref() == role.workers.first()),
        step: id.step.clone(),
        task: run.task_of(frame).cloned(),
        slot: id.slot,
        generation: id.generation,
        attempt: id.attempt,
        round: frame.round,
        level: frame.level,
        tree: frame.tree.clone(),
        writable: role.kind == RoleKind::Implementer,
        timeout_ms: step.timeout_ms,
        stall_ms: step.stall_ms,
        exclude: role.exclude.clone(),
        max_cost_microusd: max_cost(run, frame, role.max_cost_microusd),
        max_tokens: max_tokens(run, frame),
        feedback: feedback(frame, slot, judges),
        attachments: frame.attachments().cloned().collect(),
        findings: open_findings(run, frame, Some(&id.step).filter(|_| judges)),
        requirements: inherited(frame.outputs.requirements.clone(), |f| {
            f.outputs.requirements.clone()
        }),
        answers: asked_in.outputs.answers.clone(),
        analysis: asked_in.outputs.analysis.clone(),
        design: frame
            .outputs
            .whole_design()
            .or_else(|| root?.outputs.whole_design()),
        plan: run
            .plan
            .as_deref()
            .filter(|_| frame.path.is_root())
            .cloned(),
        claimed: frame.outputs.change.clone(),
        change: frame.change.clone(),
        checks: frame.outputs.checks.clone(),
        text: frame.outputs.text.clone(),
        brief: frame
            .outputs
            .brief
            .clone()
            .filter(|_| role.kind == RoleKind::Implementer),
        log: Some(&frame.log)
            .filter(|_| shortens || role.kind == RoleKind::Implementer)
            .map(WorkLog::text)
            .unwrap_or_default(),
        shortens,
        candidates: candidates(frame),
        asks: form.asks,
        context: role.context.clone(),
        scope: scope(run, frame, step.scope),
        before: judged_before(frame, &id.step).filter(|_| judges),
        targets: targets(run, frame, role.kind),
    })
}

/// The tree that a step judged last, if the frame has another one now.
fn judged_before(frame: &Frame, step: &StepId) -> Option<Tree> {
    let judged = frame.verdicts.get(step)?;
    (judged.tree != frame.tree).then(|| judged.tree.clone())
}

/// The frame whose questions and answers hold for a frame. What an analyst asked for the whole run holds
/// for its tasks; what a planner asked is in its plan.
fn asked_in<'a>(run: &'a Run, frame: &'a Frame) -> &'a Frame {
    let mut roles = run.roles.values();
    let is_analysed = roles.any(|role| role.kind == RoleKind::Analyst);
    let root = run.frames.get(&crate::ids::FramePath::root());
    let root = root.filter(|_| is_analysed && frame.outputs.answers.is_empty());
    root.unwrap_or(frame)
}

/// The files of the task; where the run carries the plan out as a whole, those of all its tasks, for
/// whoever makes or judges the change.
fn targets(run: &Run, frame: &Frame, kind: RoleKind) -> Vec<String> {
    let is_about_a_change = kind == RoleKind::Implementer || frame.change.is_some();
    match run.task_of(frame) {
        Some(task) => task.files.clone(),
        None if is_about_a_change => run.planned_files(frame),
        None => Vec::new(),
    }
}

/// What the step is to bring forth: what it says itself, and the form of a commit's message.
fn outputs(run: &Run, frame: &Frame, id: &AttemptId, step: &RoleStep) -> Vec<String> {
    let mut outputs = step.outputs.clone();
    if !run.message.is_free() && message::is_written_by(run, &id.step) {
        outputs.extend(run.message.words(&CommitFacts::of(run, frame)));
    }
    outputs
}

/// What was wrong before: with the frame's change, for those who can mend it, and with earlier tries.
fn feedback(frame: &Frame, slot: &Slot, judges: bool) -> Vec<String> {
    let of_change = frame.feedback.iter().filter(|_| !judges).map(said);
    let of_tries = slot.feedback.iter().map(AttemptFailure::words);
    of_change.chain(of_tries).collect()
}

/// The findings that are open. Whoever judges sees those of its own step, which it answers for, and
/// what checks found that is for a reviewer to judge.
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

/// The tasks of which one is to be chosen.
fn candidates(frame: &Frame) -> Vec<String> {
    let children = frame.children.as_ref();
    let Some(children) = children.filter(|_| frame.stage == FrameStage::Each) else {
        return Vec::new();
    };
    let able = children.schedule.candidates();
    able.filter_map(|i| children.names.get(i).cloned())
        .collect()
}

/// What a role's answer must be, in a frame as it stands.
pub(crate) fn form(run: &Run, frame: &Frame, role: &Role) -> AnswerForm {
    let mut form = role.form();
    let step = run.step_of(frame).map(|step| &step.kind);
    if let (RoleKind::Planner, Contract::Native, Some(StepKind::Role(step))) =
        (role.kind, role.contract, step)
    {
        form.asks = !frame.outputs.settled && may_ask(run, frame, step);
    }
    form
}

/// What is taken from an attempt. A planner that was told to plan and asks all the same is told so
/// once; if it asks again, the person who wanted the plan hears what it lacks.
pub(crate) fn taken(run: &Run, frame: &Frame, role: &Role, attempt: u32) -> AnswerForm {
    let mut form = form(run, frame, role);
    let step = run.step_of(frame).map(|step| &step.kind);
    if let (RoleKind::Planner, Contract::Native, Some(StepKind::Role(step))) =
        (role.kind, role.contract, step)
        && attempt > 1
    {
        form.asks = may_ask(run, frame, step);
    }
    form
}

/// Whether somebody is there whom a planner may still ask.
fn may_ask(run: &Run, frame: &Frame, step: &RoleStep) -> bool {
    let silent = run.workflow.settings.get(TALK) == Some(&false);
    !silent && frame.question_rounds < step.max_question_rounds
}

/// What the plan is called, or what one made in this run will be.
fn plan_id(run: &Run) -> &str {
    let plan = run.plan.as_ref().map(|plan| plan.plan_id.as_str());
    plan.filter(|id| !id.is_empty()).unwrap_or(&run.plan_id)
}

/// The files of the task, or of all tasks of its phase.
fn scope(run: &Run, frame: &Frame, scope: ContextScope) -> Vec<String> {
    let Some(task) = run.task_of(frame) else {
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

/// What an attempt may cost: what its role says, and no more than is left for it.
fn max_cost(run: &Run, frame: &Frame, own: Option<u64>) -> Option<u64> {
    let reserved = BudgetReservation {
        money_microusd: own.unwrap_or(0),
        tokens: 0,
    };
    let for_task = left_for_task(run, frame, budget::LimitKind::Money);
    let for_run = run.budget.left_for(reserved, run.under_way());
    [own, for_run, for_task].into_iter().flatten().min()
}

/// How many tokens are left for an attempt.
fn max_tokens(run: &Run, frame: &Frame) -> Option<u64> {
    let for_task = left_for_task(run, frame, budget::LimitKind::Tokens);
    let for_run = run.budget.tokens_left(run.under_way());
    [for_run, for_task].into_iter().flatten().min()
}

fn left_for_task(run: &Run, frame: &Frame, kind: budget::LimitKind) -> Option<u64> {
    let is_task = matches!(frame.item, FrameItem::Task(_));
    let left = frame.spent.left(&run.budget.limits, kind);
    left.filter(|_| is_task)
}

fn said(feedback: &Feedback) -> String {
    format!("[{}] {}", feedback.from, feedback.text)
}
