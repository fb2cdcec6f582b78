//! An assignment as a session gets it.

use codeteam_core::assignment::{Assignment, assignment};
use codeteam_core::frame::Frame;
use codeteam_core::ids::AttemptId;
use codeteam_core::role::RoleKind;
use codeteam_core::session;
use codeteam_core::submission::ClaimedChange;
use codeteam_engine::session::{SessionBrief, brief, commits_since};
use serde_json::{Value, json};

use super::{SessionView, design};
use crate::mcp::answer::ToolAnswer;
use crate::mcp::evidence::{self, ChangeFacts};
use crate::mcp::tools::MAX_TEXT;

impl SessionView<'_> {
    /// What the session is to do now.
    pub(super) fn assigned(&self, id: &AttemptId) -> ToolAnswer {
        let told = assignment(self.run, id);
        let frame = self.run.frames.get(&id.frame);
        let (Some(told), Some(frame)) = (told, frame) else {
            return self.checking(&[]);
        };
        let SessionBrief {
            instructions,
            context,
        } = self.brief(&told);
        let judges = told.kind == RoleKind::Gatekeeper;
        let failure = if told.kind == RoleKind::Designer {
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
            evidence::of(&told, &self.beside(frame), &feedback)
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
        let requirements = told.known_requirements();
        let overrule = self.overrule(&told);
        let answer = self
            .of_run(ToolAnswer::new(
                "role_assignment",
                opening(&told, &feedback),
            ))
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
            .with("if_the_user_disagrees", json!(overrule))
            .with("reviewing", json!(reviewing))
            .with("evidence", evidence.clone())
            .with("expected_output", expected_output(&told));
        answer
            .part("Your role", &instructions)
            .list("Rules", told.rules.iter().map(String::as_str))
            .part("Task", &task(&told))
            .part("Requirements", &requirements)
            .part("What went wrong before", &failure)
            .part("Design", &design)
            .part("Feedback: deal with all of it", &feedback)
            .part("If the user disagrees with the feedback", &overrule)
            .part(
                "Reviewing: what was submitted",
                &reviewing.as_ref().map(words).unwrap_or_default(),
            )
            .part(
                "Evidence: what codeteam found itself",
                &evidence::words(&evidence),
            )
            .list(READ, context.iter().map(String::as_str))
            .list(SUBMIT, form_lines(&told).iter().map(String::as_str))
    }

    /// What is known beside an assignment. What cannot be found out is not told.
    fn beside(&self, frame: &Frame) -> ChangeFacts<'_> {
        ChangeFacts {
            edited: self.history.edited(),
            claims: self.history.claims(&frame.path),
            edited_config: &self.run.edited_config,
            commits: commits_since(self.engine, self.run).unwrap_or_default(),
            accepted: accepted(frame),
        }
    }

    /// What the user can do where checks are against what they want: only they know whether a change of
    /// tests, or of what checks go by, was meant.
    fn overrule(&self, told: &Assignment) -> String {
        let is_back = told.kind == RoleKind::Implementer && told.checks.iter().any(|c| !c.passed);
        if !is_back {
            return String::new();
        }
        format!(
            "If the user wants the change exactly as it was submitted, they can accept it in a terminal of \
             their own: `{} approve {}`. Ask them only where the feedback is against what they asked for, \
             such as a change of tests that they want; then call `get_status`. You cannot accept it.",
            self.codeteam, self.run.id
        )
    }

    /// Who the session is asked to be, and what to read. What cannot be told so is told as the role
    /// has it: an assignment is not held up by what stands beside it.
    fn brief(&self, told: &Assignment) -> SessionBrief {
        brief(self.engine, self.run, told).unwrap_or_else(|_| SessionBrief {
            instructions: told.prompt.trim().to_owned(),
            context: told.context.include.clone(),
        })
    }
}

/// The heading of what to read.
const READ: &str = "Context: files to read first, named from the repository's top";

/// The heading of the forms of an answer.
pub(in crate::mcp) const SUBMIT: &str = "Expected output: one of these as the `submission`";

/// As much of the user's own words as is told again with every assignment.
const TASK_BYTES: usize = MAX_TEXT;

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
        RoleKind::Analyst => {
            "Change no files. If something must be known from the user, submit `questions`, and with them \
             what you have understood (`context`) and which requirements are clear already (`partial_spec`): \
             you have no second turn, and later roles get nothing else from you. Do not answer the questions \
             yourself."
        }
        RoleKind::Designer | RoleKind::Planner | RoleKind::Scribe => "Change no files.",
        RoleKind::Implementer if !feedback.is_empty() => {
            "What was submitted was sent back: deal with everything under `feedback`. Change the files in \
             this checkout, and commit nothing: codeteam takes the change from the checkout and runs the \
             checks itself."
        }
        RoleKind::Implementer => {
            "Change the files in this checkout, and commit nothing: codeteam takes the change from the \
             checkout and runs the checks itself."
        }
        RoleKind::Gatekeeper => {
            "Judge by the `evidence` and by the files, not by what is claimed. Change no files: what is \
             edited now is not part of what is judged."
        }
    };
    format!(
        "You are now `{role}`, {}, in iteration {round}. Read what this answer says and the files under \
         `context`, then do what this role is for and nothing else. {how} When you are done, call `submit` \
         with `role`: `{role}`, `assignment`: `{id}` and a `submission` in one of the forms under \
         `expected_output`.",
        kind.with_article()
    )
}

/// What is to be accomplished: the goal, and the task of the plan if it is one of several.
fn task(told: &Assignment) -> String {
    match &told.task {
        None => shortened(&told.goal),
        Some(task) => {
            let goal = shortened(&told.goal);
            let mut text = format!("{goal}\n\nNow: {} {}", task.id, task.headline());
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

/// A text that is no longer than what a session may say: a task can come from elsewhere.
fn shortened(text: &str) -> String {
    let end = text.floor_char_boundary(TASK_BYTES.min(text.len()));
    match text.get(..end) {
        Some(start) if end < text.len() => format!("{start} …"),
        _ => text.to_owned(),
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
fn claimed(change: &ClaimedChange, diff: &str) -> Value {
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
fn forms(told: &Assignment) -> Vec<Value> {
    let mut forms = examples(told);
    if told.schema["properties"]["blocked"].is_object() {
        forms.push(json!({ "blocked": "only if you cannot go on: why" }));
    }
    forms
}

/// The same, a line each.
pub(in crate::mcp) fn form_lines(told: &Assignment) -> Vec<String> {
    forms(told).iter().map(Value::to_string).collect()
}

/// The same as a field.
pub(in crate::mcp) fn expected_output(told: &Assignment) -> Value {
    json!({ "one_of": forms(told) })
}

/// An example of each way to answer; a yes and a no are two.
fn examples(told: &Assignment) -> Vec<Value> {
    let knows = |key: &str| told.schema["properties"][key].is_object();
    let other = match told.kind {
        RoleKind::Analyst if knows("questions") => Some(json!({
            "questions": ["…"], "context": "what you understood", "partial_spec": "1. …",
        })),
        RoleKind::Gatekeeper if knows("approved") => {
            Some(json!({ "approved": true, "reason": "…", "issues": [] }))
        }
        _ => None,
    };
    other.into_iter().chain([told.example.clone()]).collect()
}
