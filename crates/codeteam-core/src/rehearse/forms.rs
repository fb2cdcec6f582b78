//! What a scripted worker really says. A word of the script means the same under every contract;
//! of the wire forms there are for it, the first that the role's contract takes is said.

use serde_json::{Value, json};

use super::answers::ScriptedAct;
use crate::ids::FindingId;
use crate::plan::{Phase, Plan, Task};
use crate::role::RoleKind;
use crate::submission::{self, AnswerForm, Submission, VerdictChoice};

/// What an answer may depend on.
#[derive(Clone, Debug, Default)]
pub(super) struct AnswerInputs {
    /// The task, if the frame is for one.
    pub task: Option<String>,
    /// Whether a plan must have phases.
    pub by_phase: bool,
    /// The files an implementer has written, or removed.
    pub files: Vec<(String, Option<String>)>,
    /// Findings that are open.
    pub open: Vec<FindingId>,
}

/// The text a worker answers with; or why the contract takes nothing of the kind.
pub(super) fn answer(
    act: &ScriptedAct,
    form: AnswerForm,
    told: &AnswerInputs,
) -> Result<String, String> {
    let wires = wires(act, form, told);
    let mut refused = Vec::new();
    for wire in &wires {
        let text = wire.to_string();
        match submission::parse(form, &text) {
            Ok(submission) if means(act, &submission) => return Ok(text),
            Ok(_) => {}
            Err(why) => refused.push(why),
        }
    }
    // Another contract's keys say nothing of what is wrong under this one.
    let foreign = |why: &String| why.contains("unknown field") || why.contains("missing field");
    let telling = refused.iter().position(|why| !foreign(why)).unwrap_or(0);
    let kind = form.kind.with_article();
    Err(match refused.get(telling) {
        Some(why) => why.clone(),
        None => format!("{kind} cannot say that"),
    })
}

/// The same in every form there is.
fn wires(act: &ScriptedAct, form: AnswerForm, told: &AnswerInputs) -> Vec<Value> {
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
        ScriptedAct::Well => match form.kind {
            RoleKind::Planner => plans(&some_plan(told.by_phase)),
            RoleKind::Implementer => changes(told),
            RoleKind::Gatekeeper => {
                verdicts(VerdictChoice::Approve, "nothing is wrong with it", told)
            }
            RoleKind::Analyst | RoleKind::Designer | RoleKind::Scribe => {
                vec![submission::example(form)]
            }
        },
        ScriptedAct::Wrong | ScriptedAct::Crash => Vec::new(),
    }
}

/// Whether a submission is what the script means, and not something else in the same words.
fn means(act: &ScriptedAct, submission: &Submission) -> bool {
    match (act, submission) {
        (ScriptedAct::Blocked(_), Submission::Blocked(_))
        | (ScriptedAct::Ask(_), Submission::Questions(_))
        | (ScriptedAct::Plan(_), Submission::Plan(_))
        | (ScriptedAct::Change(_) | ScriptedAct::Empty, Submission::Change(_))
        | (ScriptedAct::Says(_), _) => true,
        (ScriptedAct::Well, submission) => !matches!(submission, Submission::Blocked(_)),
        (ScriptedAct::Approve(_), Submission::Verdict(v)) => v.verdict == VerdictChoice::Approve,
        (ScriptedAct::Reject(_), Submission::Verdict(v)) => v.verdict == VerdictChoice::Reject,
        _ => false,
    }
}

fn verdicts(choice: VerdictChoice, why: &str, told: &AnswerInputs) -> Vec<Value> {
    let yes = choice == VerdictChoice::Approve;
    // Who approves has nothing left against it.
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

/// A text, where one must be.
fn said(text: &str) -> &str {
    if text.is_empty() { "as planned" } else { text }
}

/// A plan of one task.
fn some_plan(by_phase: bool) -> Plan {
    let phase = Phase {
        id: "phase-1".into(),
        title: String::new(),
        sequence: 1,
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
            // Where ids are given by the form, those of the plan give way.
            json!({"id": format!("T{n}"), "title": task.headline(),
                "rationale": said(&task.description), "acceptance": said(&task.acceptance.join("; ")),
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
