//! Assignments as they would be: the first one of a role, and ones with everything and with nothing
//! to try templates on.

use codeteam_core::assignment::Assignment;
use codeteam_core::event::CheckResult;
use codeteam_core::findings::{Finding, FindingState, ReportedFinding};
use codeteam_core::frame::{Conversation, DemandLevel};
use codeteam_core::ids::{AttemptId, FramePath, RunId, StepId, Tree};
use codeteam_core::plan::{Phase, Plan, Task};
use codeteam_core::requirements::PartialAnalysis;
use codeteam_core::role::{Role, RoleKind};
use codeteam_core::submission::{self, ClaimedChange, Design};

use super::{ProjectDocument, PromptAttachments, ShownFile, ShownPart};

/// What a first assignment is made of, beside its role.
#[derive(Clone, Debug, Default)]
pub struct AssignmentRequest {
    /// What the user wants.
    pub goal: String,
    /// The step that the role is asked at.
    pub step: StepId,
    /// The task, if it is for one.
    pub task: Option<Task>,
    /// The plan, if there is one.
    pub plan: Option<Plan>,
    /// What every role is told to keep to.
    pub rules: Vec<String>,
    /// The tree it starts from.
    pub tree: Tree,
}

/// The first assignment that a role would get.
pub fn first(role: &Role, asked: AssignmentRequest) -> Assignment {
    let root = FramePath::root();
    let frame = asked.task.as_ref().map(|task| root.child(task.id.as_str()));
    let plan_id = asked.plan.as_ref().map(|plan| plan.plan_id.clone());
    let planned = asked.plan.iter().flat_map(|plan| &plan.tasks);
    let targets = match &asked.task {
        Some(task) => task.files.clone(),
        None if role.kind == RoleKind::Implementer => {
            planned.flat_map(|task| task.files.clone()).collect()
        }
        None => Vec::new(),
    };
    Assignment {
        id: AttemptId {
            frame: frame.unwrap_or(root),
            step: asked.step.clone(),
            generation: 1,
            slot: 0,
            attempt: 1,
            fence: 1,
        },
        run: RunId::default(),
        goal: asked.goal,
        role: role.name.clone(),
        kind: role.kind,
        contract: role.contract,
        prompt: role.prompt.clone(),
        stance: role.stance.clone(),
        config: role.config_with(&std::collections::BTreeMap::new()),
        outputs: Vec::new(),
        template: role.template.clone(),
        rules: asked.rules,
        plan_id: plan_id.unwrap_or_default(),
        example: submission::example(role.form()),
        schema: submission::schema(role.form()),
        means: role.means.clone(),
        session: None,
        worker: role.workers.first().cloned().unwrap_or_default(),
        model: role.model.clone(),
        step: asked.step,
        // The plan as a whole is for those who work on all of it.
        plan: asked.plan.filter(|_| asked.task.is_none()),
        task: asked.task,
        slot: 0,
        generation: 1,
        attempt: 1,
        round: 1,
        level: DemandLevel::Primary,
        tree: asked.tree,
        writable: role.kind == RoleKind::Implementer,
        exclude: role.exclude.clone(),
        timeout_ms: 0,
        stall_ms: 0,
        max_cost_microusd: role.max_cost_microusd,
        max_tokens: None,
        feedback: Vec::new(),
        attachments: Vec::new(),
        findings: Vec::new(),
        requirements: None,
        answers: Vec::new(),
        analysis: None,
        design: None,
        claimed: None,
        change: None,
        checks: Vec::new(),
        text: None,
        brief: None,
        log: String::new(),
        shortens: false,
        candidates: Vec::new(),
        asks: false,
        context: role.context.clone(),
        scope: Vec::new(),
        before: None,
        targets,
    }
}

/// Assignments with everything there can be, and with nothing.
pub(super) fn all(role: &Role) -> Vec<(Assignment, PromptAttachments)> {
    let nothing = (
        first(role, AssignmentRequest::default()),
        PromptAttachments::default(),
    );
    let mut session = everything(role);
    session.0.level = DemandLevel::Simplified;
    session.0.session = Some(Conversation {
        worker: "worker".into(),
        id: "session".to_owned(),
        turns: 1,
        usage: codeteam_core::budget::Usage::default(),
    });
    let mut minimal = everything(role);
    minimal.0.level = DemandLevel::Minimal;
    vec![nothing, everything(role), session, minimal]
}

fn analysis(text: String) -> PartialAnalysis {
    PartialAnalysis {
        context: text.clone(),
        partial_spec: text,
    }
}

#[expect(clippy::too_many_lines, reason = "a table: a value for every field")]
fn everything(role: &Role) -> (Assignment, PromptAttachments) {
    let text = || "text".to_owned();
    let file = || (text(), Some(text()));
    let task = Task {
        id: "task-001".into(),
        title: text(),
        description: text(),
        dependencies: vec!["task-000".into()],
        files: vec![text()],
        acceptance: vec![text()],
        phase: Some("phase".into()),
    };
    let plan = Plan {
        plan_id: text(),
        description: text(),
        phases: vec![Phase::default()],
        tasks: vec![task.clone()],
        ..Plan::default()
    };
    let asked = AssignmentRequest {
        goal: text(),
        step: "step".into(),
        task: Some(task),
        plan: None,
        rules: vec![text()],
        tree: Tree::default(),
    };
    let assignment = Assignment {
        plan: Some(plan),
        feedback: vec![text()],
        findings: vec![Finding {
            id: "F1".into(),
            report: ReportedFinding::default(),
            step: "step".into(),
            slot: 0,
            round: 1,
            state: FindingState::Open,
        }],
        requirements: Some(text()),
        answers: vec![(vec![text()], text())],
        analysis: Some(analysis(text())),
        design: Some(Design {
            design: text(),
            patterns: vec![text()],
            warnings: vec![text()],
            interfaces: vec![text().into()],
        }),
        claimed: Some(ClaimedChange {
            summary: text(),
            files: vec![text()],
            proof: text(),
            concerns: vec![text()],
            edits: Vec::new(),
        }),
        checks: vec![CheckResult {
            name: text(),
            passed: true,
            summary: text(),
            ..CheckResult::default()
        }],
        text: Some(text()),
        brief: Some(text()),
        log: text(),
        candidates: vec![text()],
        asks: true,
        ..first(role, asked)
    };
    let shown = ShownFile {
        path: text(),
        content: Some(text()),
        shortened: true,
    };
    let attached = PromptAttachments {
        diff: Some(text()),
        feedback: vec![text()],
        changes: Some(text()),
        context: vec![
            ShownPart {
                name: "map".to_owned(),
                text: text(),
                files: Vec::new(),
            },
            ShownPart {
                name: "target".to_owned(),
                text: String::new(),
                files: vec![ShownFile::default(), shown],
            },
        ],
        squeezed: vec![(text(), vec![text(); 60])],
        left_out: vec![(text(), vec![text()])],
        documents: vec![ProjectDocument {
            path: text(),
            text: text(),
            left_out: 1,
        }],
        unshown: vec![text()],
        repo_map: text(),
        relevant: vec![file()],
        input: Some(text()),
        schema_given: false,
    };
    (assignment, attached)
}
