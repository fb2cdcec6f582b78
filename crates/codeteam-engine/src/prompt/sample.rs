//! Sample assignments: the first one of a role, and ones with everything and with nothing set, on
//! which templates are tested.

use codeteam_core::assembly::RoleSummary;
use codeteam_core::assignment::{
    Assignment, AttemptFeedback, AttemptLimits, AttemptPlace, EarlierResults, ExpectedAnswer,
    JudgedWork, PhaseContext, RoleInstructions, ShownProject, TaskSpending, TeamContext,
    ToldInterface, UpstreamResult, WaitingTask,
};
use codeteam_core::budget::Spending;
use codeteam_core::checks::CheckResult;
use codeteam_core::contribution::Contribution;
use codeteam_core::failure::FailureCategory;
use codeteam_core::findings::{Finding, FindingState, ReportedFinding};
use codeteam_core::frame::{Conversation, DemandLevel};
use codeteam_core::ids::{AttemptId, FramePath, RunId, StepId, Tree};
use codeteam_core::locks::RequestedInterface;
use codeteam_core::plan::{Interface, Phase, Plan, Task};
use codeteam_core::requirements::PartialAnalysis;
use codeteam_core::role::{Role, RoleKind};
use codeteam_core::submission::{self, ClaimedChange, Design};
use codeteam_core::team::{
    CriterionScore, Intervention, InterventionRecord, QualityScore, TaskQuality, WorkFailure,
};

use super::{ProjectDocument, PromptAttachments, ShownFile, ShownPart};

/// The content of a first assignment, apart from its role.
#[derive(Clone, Debug, Default)]
pub(crate) struct AssignmentRequest {
    /// The user's goal, in words.
    pub goal: String,
    /// The step at which the role is asked.
    pub step: StepId,
    /// The task, if the assignment is for one.
    pub task: Option<Task>,
    /// The plan, if there is one.
    pub plan: Option<Plan>,
    /// The rules that every role must follow.
    pub rules: Vec<String>,
    /// The tree from which the role starts.
    pub tree: Tree,
}

/// Builds the first assignment that a role would get.
pub(crate) fn first_assignment(role: &Role, asked: AssignmentRequest) -> Assignment {
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
        expected: ExpectedAnswer {
            contract: role.contract,
            outputs: Vec::new(),
            example: submission::example(role.answer_form()),
            schema: submission::answer_schema(role.answer_form()),
            shortens: false,
            candidates: Vec::new(),
            asks: false,
            requests: false,
        },
        instructions: RoleInstructions {
            prompt: role.prompt.clone(),
            stance: role.stance.clone(),
            config: role.config_with(&std::collections::BTreeMap::new()),
            template: role.template.clone(),
            rules: asked.rules,
        },
        plan_id: plan_id.unwrap_or_default(),
        means: role.means.clone(),
        session: None,
        worker: role.workers.first().cloned().unwrap_or_default(),
        model: role.model.clone(),
        place: AttemptPlace {
            step: asked.step,
            slot: 0,
            generation: 1,
            attempt: 1,
            round: 1,
            level: DemandLevel::Primary,
        },
        earlier: EarlierResults {
            // Only roles that work on the whole plan get it.
            plan: asked.plan.filter(|_| asked.task.is_none()),
            phase: None,
            interfaces: Vec::new(),
            requested: None,
            requirements: None,
            answers: Vec::new(),
            analysis: None,
            design: None,
            text: None,
            brief: None,
            log: String::new(),
            upstream: Vec::new(),
            contributions: Vec::new(),
        },
        task: asked.task,
        tree: asked.tree,
        writable: role.kind == RoleKind::Implementer,
        locked: Vec::new(),
        shown: ShownProject {
            exclude: role.exclude.clone(),
            context: role.context.clone(),
            scope: Vec::new(),
            targets,
        },
        limits: AttemptLimits {
            timeout_ms: 0,
            stall_ms: 0,
            max_cost_microusd: role.max_cost_microusd,
            max_tokens: None,
        },
        feedback: AttemptFeedback {
            messages: Vec::new(),
            attachments: Vec::new(),
            findings: Vec::new(),
        },
        judged: JudgedWork {
            claimed: None,
            change: None,
            checks: Vec::new(),
            before: None,
        },
        team: TeamContext::default(),
    }
}

/// Builds assignments with everything set, and with nothing set.
pub(super) fn sample_assignments(role: &Role) -> Vec<(Assignment, PromptAttachments)> {
    let nothing = (
        first_assignment(role, AssignmentRequest::default()),
        PromptAttachments::default(),
    );
    let mut session = everything(role);
    session.0.place.level = DemandLevel::Simplified;
    session.0.session = Some(Conversation {
        worker: "worker".into(),
        id: "session".to_owned(),
        turns: 1,
        usage: codeteam_core::budget::Usage::default(),
    });
    let mut minimal = everything(role);
    minimal.0.place.level = DemandLevel::Minimal;
    vec![nothing, everything(role), session, minimal]
}

fn analysis(text: String) -> PartialAnalysis {
    PartialAnalysis {
        context: text.clone(),
        partial_spec: text,
    }
}

fn sample_team(role: &Role) -> TeamContext {
    let text = || "text".to_owned();
    TeamContext {
        roles: vec![RoleSummary {
            name: role.name.clone(),
            description: text(),
            kind: role.kind,
            tools: vec![text()],
            strengths: vec![text()],
            workers: vec!["worker".into()],
            model: Some(text()),
            max_cost_microusd: Some(1_000_000),
            price: Some(text()),
        }],
        unassigned: vec!["task-001".into()],
        next_roles: vec![role.name.clone()],
        quality: Some(TaskQuality {
            score: QualityScore {
                overall_score: 60,
                criteria_scores: vec![CriterionScore {
                    criterion: 1,
                    score: 60,
                    reason: text(),
                }],
                issues: vec![text()],
                suggestions: vec![text()],
            },
            threshold: 70,
            patch: None,
        }),
        failure: Some(WorkFailure {
            step: "step".into(),
            category: FailureCategory::Logic,
            message: text(),
        }),
        interventions: vec![InterventionRecord {
            intervention: Intervention::Retry,
            reason: text(),
            by_rule: true,
            round: 1,
        }],
        interventions_left: vec![(Intervention::Retry, 2)],
        unscored: Some(text()),
        dropped_criteria: vec![text()],
        waiting: vec![WaitingTask {
            task: "task-002".into(),
            title: text(),
        }],
        spent: Some(TaskSpending {
            task: Spending::default(),
            run: Spending::default(),
            limit_microusd: Some(1_000_000),
        }),
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
        ..Task::default()
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
    let mut assignment = first_assignment(role, asked);
    assignment.feedback.messages = vec![text()];
    assignment.feedback.findings = vec![Finding {
        id: "F1".into(),
        report: ReportedFinding::default(),
        step: "step".into(),
        slot: 0,
        round: 1,
        state: FindingState::Open,
    }];
    assignment.earlier = EarlierResults {
        requirements: Some(text()),
        answers: vec![(vec![text()], text())],
        analysis: Some(analysis(text())),
        design: Some(Design {
            design: text(),
            patterns: vec![text()],
            warnings: vec![text()],
            interfaces: vec![text().into()],
            components: Vec::new(),
        }),
        phase: Some(PhaseContext {
            phase: Phase {
                id: "phase-1".into(),
                title: text(),
                description: text(),
                interfaces: vec![sample_interface()],
                ..Phase::default()
            },
            place: 1,
            of: 2,
            tasks: plan.tasks.clone(),
            done: plan.tasks.iter().map(|task| task.id.clone()).collect(),
        }),
        interfaces: vec![ToldInterface {
            phase: "phase-1".into(),
            file: text(),
            interface: sample_interface(),
            locked: true,
        }],
        requested: Some(RequestedInterface {
            step: "code".into(),
            phase: "phase-1".into(),
            before: sample_interface(),
            definition: text(),
            reason: text(),
        }),
        plan: Some(plan),
        text: Some(text()),
        brief: Some(text()),
        log: text(),
        upstream: vec![UpstreamResult {
            task: "task-000".into(),
            title: text(),
            roles: vec![role.name.clone()],
            summary: text(),
            shortened: true,
            notes: vec![text()],
            files: vec![text()],
            full_text: Some(text()),
            full_text_file: Some(text()),
        }],
        contributions: vec![Contribution {
            role: role.name.clone(),
            summary: text(),
            notes: vec![text()],
            files: vec![text()],
            transcript: None,
        }],
    };
    assignment.judged.claimed = Some(ClaimedChange {
        summary: text(),
        files: vec![text()],
        proof: text(),
        concerns: vec![text()],
        notes: vec![text()],
        edits: Vec::new(),
    });
    assignment.judged.checks = vec![CheckResult {
        name: text(),
        passed: true,
        summary: text(),
        ..CheckResult::default()
    }];
    assignment.team = sample_team(role);
    assignment.expected.candidates = vec![text()];
    assignment.expected.asks = true;
    assignment.expected.requests = true;
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
        plans_first: true,
    };
    (assignment, attached)
}

fn sample_interface() -> Interface {
    let text = || "text".to_owned();
    Interface {
        name: text(),
        notation: text(),
        file: None,
        definition: text(),
    }
}
