//! Builds the answer that hands an assignment to a session.

use codeteam_core::assignment::{Assignment, build_assignment};
use codeteam_core::ids::AttemptId;
use codeteam_core::role::RoleKind;
use codeteam_core::submission::ClaimedChange;
use codeteam_engine::session::{SessionBrief, brief, commits_since};
use codeteam_report::view::SessionFrameView;
use serde_json::{Value, json};

use super::{SessionView, format_design};
use crate::evidence::{self, ChangeFacts};
use crate::tool_answer::ToolAnswer;
use crate::tools::MAX_TEXT;

impl SessionView<'_> {
    /// Returns the assignment that the session is to carry out now.
    pub(super) fn assignment_answer(&self, id: &AttemptId) -> ToolAnswer {
        let told = build_assignment(self.run.as_run(), id);
        let frame = self.run.session_frame(&id.frame);
        let (Some(told), Some(frame)) = (told, frame) else {
            return self.checking_answer(&[]);
        };
        let SessionBrief {
            instructions,
            context,
        } = self.session_brief(&told);
        let judges = told.kind == RoleKind::Gatekeeper;
        let failure = if told.kind == RoleKind::Designer {
            design_failure(&frame)
        } else {
            String::new()
        };
        let feedback = if judges {
            rejected_tries(&told)
        } else {
            feedback_text(&told)
        };
        let design = told
            .earlier
            .design
            .as_ref()
            .map(format_design)
            .unwrap_or_default();
        let evidence = if frame.changed_files.is_some() && (judges || !feedback.is_empty()) {
            evidence::collect_evidence(&told, &self.change_facts(&frame), &feedback)
        } else {
            Value::Null
        };
        let diff = format!(
            "git diff {} {}",
            short_id(&frame.base.0),
            short_id(&told.tree.0)
        );
        let reviewing = told.judged.claimed.as_ref().filter(|_| judges);
        let reviewing = reviewing.map(|change| claimed_change(change, &diff));
        let requirements = told.known_requirements();
        let overrule = self.overrule_hint(&told);
        let answer = self
            .with_run(ToolAnswer::new(
                "role_assignment",
                opening_text(&told, &feedback),
            ))
            .with("assignment", json!(id.to_string()))
            .with("role", json!(told.role))
            .with("role_type", json!(told.kind))
            .with_always("iteration", json!(told.place.round))
            .with("instructions", json!(instructions))
            .with_always("rules", json!(told.instructions.rules))
            .with_always("context", json!(context))
            .with("task", json!(task_text(&told)))
            .with("requirements", json!(requirements))
            .with("failure_context", json!(failure))
            .with("design", json!(design))
            .with("feedback", json!(feedback))
            .with("if_the_user_disagrees", json!(overrule))
            .with("reviewing", json!(reviewing))
            .with("evidence", evidence.clone())
            .with("expected_output", expected_output(&told));
        answer
            .with_section("Your role", &instructions)
            .with_list("Rules", told.instructions.rules.iter().map(String::as_str))
            .with_section("Task", &task_text(&told))
            .with_section("Requirements", &requirements)
            .with_section("What went wrong before", &failure)
            .with_section("Design", &design)
            .with_section("Feedback: deal with all of it", &feedback)
            .with_section("If the user disagrees with the feedback", &overrule)
            .with_section(
                "Reviewing: what was submitted",
                &reviewing.as_ref().map(format_claimed).unwrap_or_default(),
            )
            .with_section(
                "Evidence: what codeteam found itself",
                &evidence::format_evidence(&evidence),
            )
            .with_list(READ, context.iter().map(String::as_str))
            .with_list(SUBMIT, form_lines(&told).iter().map(String::as_str))
    }

    /// Collects the facts that accompany an assignment. Facts that cannot be determined are left
    /// out.
    fn change_facts(&self, frame: &SessionFrameView) -> ChangeFacts<'_> {
        ChangeFacts {
            edited: self.history.edited(),
            claims: self.history.claims(&frame.frame),
            edited_config: &self.run.edited_config,
            commits: commits_since(self.engine, self.run.as_run()).unwrap_or_default(),
            accepted: acceptance_note(frame),
        }
    }

    /// Returns a hint for the user where checks object to what they want. Only the user knows
    /// whether a change of tests, or of the checks' own configuration, was intended.
    fn overrule_hint(&self, told: &Assignment) -> String {
        let is_back =
            told.kind == RoleKind::Implementer && told.judged.checks.iter().any(|c| !c.passed);
        if !is_back {
            return String::new();
        }
        format!(
            "If the user wants the change exactly as it was submitted, they can accept it in a terminal of \
             their own: `{} approve {}`. Ask them only where the feedback contradicts what they asked for, \
             such as a change of tests that they want; then call `get_status`. You cannot accept it.",
            self.codeteam, self.run.id
        )
    }

    /// Returns the instructions and the reading list for the session. If they cannot be rendered,
    /// the role's plain prompt is used: an assignment must not fail because of its accompanying
    /// texts.
    fn session_brief(&self, told: &Assignment) -> SessionBrief {
        brief(self.engine, self.run.as_run(), told).unwrap_or_else(|_| SessionBrief {
            instructions: told.instructions.prompt.trim().to_owned(),
            context: told.shown.context.include.clone(),
        })
    }
}

/// The heading of the reading list.
const READ: &str = "Context: files to read first, named from the repository's top";

/// The heading of the answer forms.
pub(crate) const SUBMIT: &str = "Expected output: one of these as the `submission`";

/// The size limit of the user's own words, which are repeated with every assignment.
const TASK_BYTES: usize = MAX_TEXT;

/// Says in a few sentences what to do now.
fn opening_text(told: &Assignment, feedback: &str) -> String {
    let Assignment { role, kind, id, .. } = told;
    let round = told.place.round;
    let how = match kind {
        RoleKind::Analyst => {
            "Change no files. If you need to know something from the user, submit `questions` together with \
             what you have understood (`context`) and the requirements that are clear already \
             (`partial_spec`): you get no second turn, and later roles get nothing else from you. Do not \
             answer the questions yourself."
        }
        RoleKind::Designer | RoleKind::Planner | RoleKind::Scribe => "Change no files.",
        RoleKind::Implementer if !feedback.is_empty() => {
            "Your submission was sent back: deal with everything under `feedback`. Change the files in this \
             checkout, and commit nothing: codeteam takes the change from the checkout and runs the checks \
             itself."
        }
        RoleKind::Implementer => {
            "Change the files in this checkout, and commit nothing: codeteam takes the change from the \
             checkout and runs the checks itself."
        }
        RoleKind::Gatekeeper => {
            "Judge by the `evidence` and by the files, not by what is claimed. Change no files: edits made \
             now are not part of what is judged."
        }
    };
    format!(
        "You are now `{role}`, {}, in iteration {round}. Read this answer and the files under `context`, \
         then do this role's work and nothing else. {how} When you are done, call `submit` with `role`: \
         `{role}`, `assignment`: `{id}` and a `submission` in one of the forms under `expected_output`.",
        kind.with_article()
    )
}

/// Returns what is to be accomplished: the goal, and the task of the plan if there are several.
fn task_text(told: &Assignment) -> String {
    match &told.task {
        None => truncate(&told.goal),
        Some(task) => {
            let goal = truncate(&told.goal);
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

/// Truncates a text to what a session may send, because a task can come from elsewhere.
fn truncate(text: &str) -> String {
    let end = text.floor_char_boundary(TASK_BYTES.min(text.len()));
    match text.get(..end) {
        Some(start) if end < text.len() => format!("{start} …"),
        _ => text.to_owned(),
    }
}

/// Describes why the previous design failed.
fn design_failure(frame: &SessionFrameView) -> String {
    let mut lines: Vec<String> = frame.common_failure.iter().cloned().collect();
    let rejections = frame.rejections.iter().rev().take(5).rev();
    for rejection in rejections {
        let why = rejection.why.join("; ");
        lines.push(format!(
            "iteration {} [{}]: {why}",
            rejection.round, rejection.step
        ));
    }
    lines.join("\n")
}

/// Describes a person's statement that the change is acceptable despite objections.
fn acceptance_note(frame: &SessionFrameView) -> Option<String> {
    let by = frame.accepted_by.as_ref()?;
    let decided = frame.acceptance.as_ref()?;
    let note = match decided.note.trim() {
        "" => String::new(),
        note => format!(": {note}"),
    };
    Some(format!(
        "{by} knows of {} and has accepted the change anyway{note}. Do not reject it for that.",
        decided.over.join(", ")
    ))
}

/// Returns what must be corrected: the feedback, and the findings that it does not mention.
fn feedback_text(told: &Assignment) -> String {
    let mut lines = told.feedback.messages.clone();
    for finding in &told.feedback.findings {
        let name = format!("{}:", finding.id);
        if !told
            .feedback
            .messages
            .iter()
            .any(|said| said.contains(&name))
        {
            lines.push(evidence::finding_line(finding));
        }
    }
    lines.join("\n")
}

/// Returns what was wrong with a gatekeeper's earlier answers.
fn rejected_tries(told: &Assignment) -> String {
    told.feedback.messages.join("\n")
}

/// Returns what an implementer claims about its change.
fn claimed_change(change: &ClaimedChange, diff: &str) -> Value {
    json!({
        "diff": diff,
        "summary": change.summary,
        "files_changed": change.files,
        "proof": change.proof,
        "concerns": change.concerns.join("\n"),
    })
}

fn format_claimed(claimed: &Value) -> String {
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

/// Returns as much of an object id as git needs to find the object.
fn short_id(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

/// Returns the forms that an answer may have, each as an example.
fn answer_forms(told: &Assignment) -> Vec<Value> {
    let mut forms = answer_examples(told);
    if told.expected.schema["properties"]["blocked"].is_object() {
        forms.push(json!({ "blocked": "only if you cannot go on: why" }));
    }
    forms
}

/// Returns the answer forms, one line each.
pub(crate) fn form_lines(told: &Assignment) -> Vec<String> {
    answer_forms(told).iter().map(Value::to_string).collect()
}

/// Returns the answer forms as a JSON field.
pub(crate) fn expected_output(told: &Assignment) -> Value {
    json!({ "one_of": answer_forms(told) })
}

/// Returns an example of each way to answer; approval and rejection are two.
fn answer_examples(told: &Assignment) -> Vec<Value> {
    let knows = |key: &str| told.expected.schema["properties"][key].is_object();
    let other = match told.kind {
        RoleKind::Analyst if knows("questions") => Some(json!({
            "questions": ["…"], "context": "what you understood", "partial_spec": "1. …",
        })),
        RoleKind::Gatekeeper if knows("approved") => {
            Some(json!({ "approved": true, "reason": "…", "issues": [] }))
        }
        _ => None,
    };
    other
        .into_iter()
        .chain([told.expected.example.clone()])
        .collect()
}
