//! Builds the complete status of a task.

use codeteam_core::ids::FramePath;
use codeteam_core::session::SessionTurn;
use codeteam_core::views::TaskState;
use codeteam_report::describe::first_line;
use codeteam_report::view::{LoadedRun, SessionFrameView};
use serde_json::json;

use super::next_expected::{SessionView, format_design as design_words};
use super::tool_answer::ToolAnswer;

/// Builds the complete status, including what is expected now.
pub(super) fn status_answer(view: &SessionView<'_>, expected: &ToolAnswer) -> ToolAnswer {
    let run = view.run;
    let frame = current_frame(run);
    let requirements = frame.as_ref().map(|frame| frame.requirements.as_str());
    let design = frame.as_ref().and_then(|frame| frame.design.as_ref());
    let design = design.map(design_words);
    let (entries, _) = view.history.filtered_entries(None, None);
    let state = run.state;
    // A status query requests nothing that could be refused.
    let now = expected.text();
    let now = now.strip_prefix("Refused: ").unwrap_or(now);
    let details = expected.details();
    let now = now.strip_suffix(details).unwrap_or(now);
    // The status already contains these fields, so they are not repeated in `next`.
    let mut next = expected.nested_fields();
    let told = [
        ("run", json!(run.id)),
        ("task", json!(run.goal)),
        ("requirements", json!(requirements)),
        ("design", json!(design)),
    ];
    if let Some(next) = next.as_object_mut() {
        next.retain(|key, value| !told.iter().any(|(name, told)| key == name && value == told));
    }
    let mut answer = ToolAnswer::new("task_status", now).with_section(
        "State",
        &format!("{} ({})", state.as_str(), first_line(&run.goal)),
    );
    answer.append(details);
    answer
        .with("run", json!(run.id))
        .with("task", json!(run.goal))
        .with("state", json!(state.as_str()))
        .with("current_role", json!(current_role(run, frame.as_ref())))
        .with_always(
            "iteration",
            json!(frame.as_ref().map_or(1, |frame| frame.round)),
        )
        .with_always("history", json!(entries))
        .with("confirmed_requirements", json!(requirements))
        .with("current_design", json!(design))
        .with("run_path", json!(view.run_folder()))
        .with("next", next)
}

/// Returns the frame that is being worked on, or the run's own.
fn current_frame(run: &LoadedRun) -> Option<SessionFrameView> {
    let path = match run.session_turn() {
        SessionTurn::Work(id) => Some(id.frame),
        SessionTurn::Ask(question) => Some(question.id.frame.clone()),
        _ => None,
    };
    run.session_frame(&path.unwrap_or_else(FramePath::root))
}

/// Returns the role whose turn it is, or whose turn it was before somebody else had to act.
fn current_role(run: &LoadedRun, frame: Option<&SessionFrameView>) -> Option<String> {
    if let SessionTurn::Work(id) = run.session_turn() {
        return run.attempt_role(&id).map(|role| role.0);
    }
    if matches!(run.state, TaskState::Complete | TaskState::Aborted) {
        return None;
    }
    frame?.role.as_ref().map(|role| role.0.clone())
}
