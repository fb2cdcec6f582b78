//! An assignment as a session gets it.

use codeteam_core::assignment::{Assignment, assignment};
use codeteam_core::frame::Frame;
use codeteam_core::ids::AttemptId;
use codeteam_core::role::Kind;
use codeteam_core::session;
use codeteam_core::submission::Change;
use codeteam_engine::session::{Brief, brief, commits_since};
use serde_json::{Value, json};

use super::{View, design, requirements};
use crate::mcp::answer::Answer;
use crate::mcp::evidence::{self, Beside};

impl View<'_> {
    /// What the session is to do now.
    pub(super) fn assigned(&self, id: &AttemptId) -> Answer {
        let told = assignment(self.run, id);
        let frame = self.run.frames.get(&id.frame);
        let (Some(told), Some(frame)) = (told, frame) else {
            return self.checking(&[]);
        };
        let Brief {
            instructions,
            context,
        } = self.brief(&told);
        let judges = told.kind == Kind::Gatekeeper;
        let failure = if told.kind == Kind::Designer {
            failure(frame)
        } else {
            String::new()
        };
        let feedback = if judges {
            tries(&told)
        } else {
            feedback(&told)
        };
        let design = told.design.as_ref().map(design).unwrap_or_default();
        let evidence = if frame.change.is_some() && (judges || !feedback.is_empty()) {
            evidence::of(&told, &self.beside(frame))
        } else {
            Value::Null
        };
        let diff = format!(
            "git diff {} {}",
            short(&frame.base.commit.0),
            short(&told.tree.0)
        );
        let reviewing = told.claimed.as_ref().filter(|_| judges);
        let reviewing = reviewing.map(|change| claimed(change, &diff));
        let requirements = requirements(told.requirements.as_deref(), &told.answers);
        let answer = self
            .of_run(Answer::new("role_assignment", opening(&told, &feedback)))
            .with("assignment", json!(id.to_string()))
            .with("role", json!(told.role))
            .with("role_type", json!(told.kind))
            .always("iteration", json!(told.round))
            .with("instructions", json!(instructions))
            .always("rules", json!(told.rules))
            .always("context", json!(context))
            .with("task", json!(task(&told)))
            .with("requirements", json!(requirements))
            .with("failure_context", json!(failure))
            .with("design", json!(design))
            .with("feedback", json!(feedback))
            .with("reviewing", json!(reviewing))
            .with("evidence", evidence.clone())
            .with("expected_output", expected(&told));
        answer
            .part("Your role", &instructions)
            .list("Rules", told.rules.iter().map(String::as_str))
            .part("Task", &task(&told))
            .part("Requirements", &requirements)
            .part("What went wrong before", &failure)
            .part("Design", &design)
            .part("Feedback: deal with all of it", &feedback)
            .part(
                "What was submitted",
                &reviewing.as_ref().map(words).unwrap_or_default(),
            )
            .part(
                "What codeteam found itself",
                &evidence::words(&evidence, &feedback),
            )
            .list(READ, context.iter().map(String::as_str))
            .list(SUBMIT, forms(&told).iter().map(String::as_str))
    }

    /// What is known beside an assignment. What cannot be found out is not told.
    fn beside(&self, frame: &Frame) -> Beside<'_> {
        Beside {
            edited: self.history.edited(),
            commits: commits_since(self.engine, self.run).unwrap_or_default(),
            accepted: accepted(frame),
        }
    }

    /// Who the session is asked to be, and what to read. What cannot be told so is told as the role
    /// has it: an assignment is not held up by what stands beside it.
    fn brief(&self, told: &Assignment) -> Brief {
        brief(self.engine, self.run, told).unwrap_or_else(|_| Brief {
            instructions: told.prompt.trim().to_owned(),
            context: told.context.include.clone(),
        })
    }
}

/// The heading of what to read.
const READ: &str = "Read these first; they are named from the repository's top";

/// The heading of the forms of an answer.
pub(in crate::mcp) const SUBMIT: &str = "What to submit: one of these";

/// What to do now, in a few sentences.
fn opening(told: &Assignment, feedback: &str) -> String {
    let Assignment {
        role,
        kind,
        round,
        id,
        ..
    } = told;
    let how = match kind {
        Kind::Analyst => {
            "If something must be known from the user, submit `questions`; do not answer them yourself."
        }
        Kind::Designer | Kind::Planner | Kind::Scribe => "Change no files.",
        Kind::Implementer if !feedback.is_empty() => {
            "What was submitted was sent back; the feedback says why. Change the files in this checkout, \
             and commit nothing: codeteam takes the change from the checkout and runs the checks itself."
        }
        Kind::Implementer => {
            "Change the files in this checkout, and commit nothing: codeteam takes the change from the \
             checkout and runs the checks itself."
        }
        Kind::Gatekeeper => {
            "Judge by the evidence and by the files, not by what is claimed. Change no files: what is \
             edited now is not part of what is judged."
        }
    };
    format!(
        "You are now `{role}`, {}, in iteration {round}. Do what this role is for and nothing else. \
         {how} When you are done, call `submit` with `role`: `{role}`, `assignment`: `{id}` and your \
         `submission`.",
        kind.with_article()
    )
}

/// What is to be accomplished: the goal, and the task of the plan if it is one of several.
fn task(told: &Assignment) -> String {
    match &told.task {
        None => told.goal.clone(),
        Some(task) => {
            let mut text = format!("{}\n\nNow: {} {}", told.goal, task.id, task.headline());
            if task.description != task.headline() {
                text.push('\n');
                text.push_str(&task.description);
            }
            for criterion in &task.acceptance {
                text.push_str("\n- ");
                text.push_str(criterion);
            }
            text
        }
    }
}

/// What went wrong with the design before.
fn failure(frame: &Frame) -> String {
    let mut lines: Vec<String> = session::pattern(frame).into_iter().collect();
    let rejections = frame.record.rejections.iter().rev().take(5).rev();
    for rejection in rejections {
        let why = rejection.why.join("; ");
        lines.push(format!(
            "iteration {} [{}]: {why}",
            rejection.round, rejection.step
        ));
    }
    lines.join("\n")
}

/// A person's word that the change will do, whatever is against it.
fn accepted(frame: &Frame) -> Option<String> {
    let patch = &frame.change.as_ref()?.patch;
    let by = frame.accepted_by.as_ref()?;
    let decided = frame.record.decided.as_ref()?;
    if decided.patch.as_ref() != Some(patch) || decided.over.is_empty() {
        return None;
    }
    let note = match decided.note.trim() {
        "" => String::new(),
        note => format!(": {note}"),
    };
    Some(format!(
        "{by} knows of {} and has accepted the change all the same{note}. Do not reject it for that.",
        decided.over.join(", ")
    ))
}

/// What must be mended: what was said, and the findings that it does not name already.
fn feedback(told: &Assignment) -> String {
    let mut lines = told.feedback.clone();
    for finding in &told.findings {
        let name = format!("{}:", finding.id);
        if !told.feedback.iter().any(|said| said.contains(&name)) {
            lines.push(evidence::finding(finding));
        }
    }
    lines.join("\n")
}

/// What was wrong with what a gatekeeper said before.
fn tries(told: &Assignment) -> String {
    told.feedback.join("\n")
}

/// What an implementer says of its change.
fn claimed(change: &Change, diff: &str) -> Value {
    json!({
        "diff": diff,
        "summary": change.summary,
        "files_changed": change.files,
        "proof": change.proof,
        "concerns": change.concerns.join("\n"),
    })
}

fn words(claimed: &Value) -> String {
    let files = claimed["files_changed"].as_array().into_iter().flatten();
    let files: Vec<&str> = files.filter_map(Value::as_str).collect();
    let text = |name: &str| claimed[name].as_str().unwrap_or("");
    let parts = [
        ("", text("summary")),
        ("Exactly what is judged: ", &format!("`{}`", text("diff"))),
        ("Files, as claimed: ", &files.join(", ")),
        ("Proof, as claimed:\n", text("proof")),
        ("Concerns: ", text("concerns")),
    ];
    let said = parts.iter().filter(|(_, text)| !text.is_empty());
    let said: Vec<String> = said.map(|(name, text)| format!("{name}{text}")).collect();
    said.join("\n\n")
}

/// As much of an object's name as git needs to find it.
fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

/// The forms an answer may have, each as an example.
pub(in crate::mcp) fn forms(told: &Assignment) -> Vec<String> {
    let mut forms = examples(told);
    if told.schema["properties"]["blocked"].is_object() {
        forms.push(json!({ "blocked": "only if you cannot go on: why" }));
    }
    forms.iter().map(Value::to_string).collect()
}

/// An example of each way to answer; a yes and a no are two.
fn examples(told: &Assignment) -> Vec<Value> {
    let knows = |key: &str| told.schema["properties"][key].is_object();
    let other = match told.kind {
        Kind::Analyst if knows("questions") => Some(json!({ "questions": ["…"] })),
        Kind::Gatekeeper if knows("approved") => {
            Some(json!({ "approved": true, "reason": "…", "issues": [] }))
        }
        _ => None,
    };
    other.into_iter().chain([told.example.clone()]).collect()
}

/// The schema of the answer, with examples.
fn expected(told: &Assignment) -> Value {
    let mut schema = told.schema.clone();
    if let Value::Object(fields) = &mut schema {
        fields.insert("examples".to_owned(), json!(examples(told)));
    }
    schema
}
