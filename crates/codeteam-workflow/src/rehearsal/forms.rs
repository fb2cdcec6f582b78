//! Composes the text that a scripted worker submits. A word of the script means the same under
//! every contract; of the wire forms for it, the first one that the role's contract accepts is
//! used.

use std::fmt::Write as _;

use codeteam_core::ids::FindingId;
use codeteam_core::plan::{Phase, Plan, Task};
use codeteam_core::role::{Contract, RoleKind};
use codeteam_core::submission::{self, AnswerForm, Submission, VerdictChoice};
use codeteam_core::team::Intervention;
use serde_json::{Value, json};

use super::answers::ScriptedAct;

/// The points of a result that is approved.
const GOOD: u8 = 90;
/// The points of a result that is rejected.
const POOR: u8 = 20;

/// The facts that an answer may depend on.
#[derive(Clone, Debug, Default)]
pub(super) struct AnswerInputs {
    /// The task, if the frame is for one.
    pub task: Option<String>,
    /// Whether a plan must have phases.
    pub by_phase: bool,
    /// The files that an implementer has written or removed.
    pub files: Vec<(String, Option<String>)>,
    /// The ids of the open findings.
    pub open: Vec<FindingId>,
    /// The number of the task's criteria.
    pub criteria: usize,
    /// The tasks that need a role.
    pub unassigned: Vec<String>,
    /// The role that they are assigned to, unless the script says otherwise.
    pub usual_role: String,
    /// The phase that a designer breaks down, if it does.
    pub phase: Option<PhaseInputs>,
    /// The outputs that the step declares.
    pub outputs: Vec<String>,
}

/// A phase that a designer works on.
#[derive(Clone, Debug, Default)]
pub(super) struct PhaseInputs {
    /// Its id.
    pub id: String,
    /// Whether it has tasks already.
    pub has_tasks: bool,
}

/// Returns the text that a worker answers with, or the reason why the contract accepts no such
/// answer.
pub(super) fn compose_answer(
    act: &ScriptedAct,
    form: AnswerForm,
    told: &AnswerInputs,
) -> Result<String, String> {
    let wires = wire_forms(act, form, told);
    let mut refused = Vec::new();
    for wire in &wires {
        let text = wire.to_string();
        match submission::parse(form, &text) {
            Ok(submission) if is_meant_submission(act, &submission) => return Ok(text),
            Ok(_) => {}
            Err(why) => refused.push(why),
        }
    }
    // Errors about another contract's keys do not explain what is wrong under this one.
    let foreign = |why: &String| why.contains("unknown field") || why.contains("missing field");
    let telling = refused.iter().position(|why| !foreign(why)).unwrap_or(0);
    let kind = form.kind.with_article();
    Err(match refused.get(telling) {
        Some(why) => why.clone(),
        None => format!("{kind} cannot say that"),
    })
}

/// Returns an act in every wire form that exists for it.
fn wire_forms(act: &ScriptedAct, form: AnswerForm, told: &AnswerInputs) -> Vec<Value> {
    match act {
        ScriptedAct::Says(value) => vec![value.clone()],
        ScriptedAct::Blocked(why) => vec![
            json!({"blocked": why}),
            json!({"status": "error", "reason": why}),
        ],
        ScriptedAct::Ask(questions) => vec![json!({"questions": questions})],
        ScriptedAct::Approve(why) => verdicts(VerdictChoice::Approve, why, told),
        ScriptedAct::Reject(why) => verdicts(VerdictChoice::Reject, why, told),
        ScriptedAct::Plan(plan) => {
            let mut wires = vec![json!({"plan": plan})];
            if let Ok(plan) = serde_json::from_value::<Plan>(plan.clone()) {
                wires.extend(plans(&plan));
            }
            wires
        }
        ScriptedAct::Change(_) | ScriptedAct::Empty => changes(told),
        ScriptedAct::Succeed => match form.kind {
            RoleKind::Planner => plans(&some_plan(told.by_phase)),
            RoleKind::Implementer => changes(told),
            RoleKind::Gatekeeper => {
                verdicts(VerdictChoice::Approve, "nothing is wrong with it", told)
            }
            RoleKind::Scribe if form.contract == Contract::Assembly => vec![assembly(told)],
            RoleKind::Designer if told.phase.is_some() || !told.outputs.is_empty() => designs(told),
            RoleKind::Analyst | RoleKind::Designer | RoleKind::Scribe => {
                vec![submission::example(form)]
            }
        },
        ScriptedAct::Score(points) => vec![score(*points, "it will do", told)],
        ScriptedAct::Wrong | ScriptedAct::Crash => Vec::new(),
    }
}

/// Returns a score with the same points for every criterion.
fn score(points: u8, why: &str, told: &AnswerInputs) -> Value {
    let criteria: Vec<Value> = (1..=told.criteria)
        .map(|number| json!({"criterion": number, "score": points}))
        .collect();
    json!({"overall_score": points, "criteria_scores": criteria, "issues": [why]})
}

/// Returns designs that have everything the step asks for, and break the phase down if there is one.
fn designs(told: &AnswerInputs) -> Vec<Value> {
    let asks = |names: &[&str]| told.outputs.iter().any(|one| names.contains(&one.as_str()));
    let (id, is_empty) = match &told.phase {
        Some(phase) => (phase.id.as_str(), !phase.has_tasks),
        None => ("part", asks(&["components", "dependency_graph"])),
    };
    let mut components = Vec::new();
    if is_empty {
        components.push(json!({"id": format!("{id}-task"), "title": "Do it",
            "files": [format!("{id}.txt")]}));
    }
    let mut interfaces = Vec::new();
    if asks(&["interfaces"]) {
        interfaces.push(json!({"name": id, "type": "text", "definition": "what is agreed"}));
    }
    let mut text = "as planned".to_owned();
    for section in &told.outputs {
        let _ = write!(text, "\n\n## {section}\n\nas planned");
    }
    vec![
        json!({"design": text, "components": components, "interfaces": interfaces}),
        json!({"components": components, "interfaces": interfaces}),
    ]
}

/// Returns an assembly that assigns every task to the usual role.
fn assembly(told: &AnswerInputs) -> Value {
    let one =
        |task: &String| json!({"task": task, "roles": [told.usual_role], "reason": "it fits"});
    let assignments: Vec<Value> = told.unassigned.iter().map(one).collect();
    json!({"assignments": assignments})
}

/// Returns true if a submission was parsed as what the script means, and not as something else in
/// the same words.
fn is_meant_submission(act: &ScriptedAct, submission: &Submission) -> bool {
    match (act, submission) {
        (ScriptedAct::Blocked(_), Submission::Blocked(_))
        | (ScriptedAct::Ask(_), Submission::Questions(_))
        | (ScriptedAct::Plan(_), Submission::Plan(_))
        | (ScriptedAct::Change(_) | ScriptedAct::Empty, Submission::Change(_))
        | (ScriptedAct::Score(_), Submission::Quality(_))
        | (ScriptedAct::Says(_), _) => true,
        (ScriptedAct::Succeed, submission) => !matches!(submission, Submission::Blocked(_)),
        (ScriptedAct::Approve(_), Submission::Verdict(v)) => v.verdict == VerdictChoice::Approve,
        (ScriptedAct::Reject(_), Submission::Verdict(v)) => v.verdict == VerdictChoice::Reject,
        (ScriptedAct::Approve(_), Submission::Quality(s)) => s.overall_score == GOOD,
        (ScriptedAct::Reject(_), Submission::Quality(s)) => s.overall_score == POOR,
        (ScriptedAct::Approve(_), Submission::Intervention(d)) => {
            d.intervention == Intervention::Continue
        }
        (ScriptedAct::Reject(_), Submission::Intervention(d)) => {
            d.intervention == Intervention::Retry
        }
        _ => false,
    }
}

fn verdicts(choice: VerdictChoice, why: &str, told: &AnswerInputs) -> Vec<Value> {
    let yes = choice == VerdictChoice::Approve;
    // An approval resolves all open findings.
    let open = told.open.iter().filter(|_| yes);
    let resolved: Vec<Value> = open.map(|id| json!({"id": id, "state": "fixed"})).collect();
    let status = if yes { "APPROVED" } else { "CHANGES_REQUESTED" };
    let task = told.task.as_deref().unwrap_or("T1");
    let issues: &[&str] = if yes { &[] } else { &[why] };
    vec![
        json!({"verdict": choice, "reason": why, "resolved": resolved}),
        json!({"approved": yes, "reason": why, "issues": issues}),
        json!({"task_id": task, "passed": yes, "report": why}),
        json!({"status": status, "issues": [], "suggestions": [why]}),
        score(if yes { GOOD } else { POOR }, why, told),
        json!({"intervention": if yes { "continue" } else { "retry" }, "reason": why}),
    ]
}

fn changes(told: &AnswerInputs) -> Vec<Value> {
    let paths: Vec<&String> = told.files.iter().map(|(path, _)| path).collect();
    let edits: Vec<Value> = told
        .files
        .iter()
        .map(|(path, text)| match text {
            Some(text) => json!({"path": path, "content": text}),
            None => json!({"path": path, "delete": true}),
        })
        .collect();
    vec![
        json!({"summary": "it is done", "files": paths}),
        json!({"summary": "it is done", "edits": edits}),
        json!({"edits": edits}),
        json!({"status": "SUCCESS", "files_created": [], "files_modified": paths, "tests_written": []}),
    ]
}

/// Returns the text, or a placeholder where the form requires one.
fn non_empty_text(text: &str) -> &str {
    if text.is_empty() { "as planned" } else { text }
}

/// Returns a plan with one task.
fn some_plan(by_phase: bool) -> Plan {
    let phase = Phase {
        id: "phase-1".into(),
        sequence: 1,
        ..Phase::default()
    };
    let task = Task {
        id: "task-001".into(),
        title: "Do it".to_owned(),
        files: vec!["work.txt".to_owned()],
        phase: by_phase.then(|| phase.id.clone()),
        ..Task::default()
    };
    Plan {
        phases: by_phase.then_some(phase).into_iter().collect(),
        tasks: vec![task],
        ..Plan::default()
    }
}

fn plans(plan: &Plan) -> Vec<Value> {
    let in_turn: Vec<Value> = plan
        .tasks
        .iter()
        .zip(1..)
        .map(|(task, n)| {
            // This form numbers its tasks itself, so the plan's own ids are dropped.
            json!({"id": format!("T{n}"), "title": task.headline(),
                "rationale": non_empty_text(&task.description), "acceptance": non_empty_text(&task.acceptance.join("; ")),
                "artifacts": task.files})
        })
        .collect();
    let component = |task: &&Task| {
        json!({"id": task.id, "title": task.headline(), "description": task.description,
            "files": task.files, "depends_on": task.dependencies})
    };
    let of_phase = |phase: Option<&Phase>| {
        let id = phase.map(|p| &p.id);
        let tasks = plan.tasks.iter().filter(|t| t.phase.as_ref() == id);
        tasks.map(|task| component(&task)).collect::<Vec<Value>>()
    };
    let phases: Vec<Value> = if plan.phases.is_empty() {
        vec![json!({"id": "phase-1", "components": of_phase(None)})]
    } else {
        let phases = plan.phases.iter();
        let phase = |p: &Phase| json!({"id": p.id, "sequence": p.sequence, "components": of_phase(Some(p))});
        phases.map(phase).collect()
    };
    vec![
        json!({"plan": plan}),
        json!({"plan_id": "plan_0001", "tasks": in_turn}),
        json!({"status": "COMPLETE", "phases": phases, "dependencies": [],
            "estimated_components": plan.tasks.len()}),
    ]
}
