//! Where a task stands, as a whole.

use codeteam_core::Run;
use codeteam_core::frame::{Frame, SlotWork};
use codeteam_core::ids::FramePath;
use codeteam_core::session::{self, SessionTurn};
use codeteam_core::views::{self, TaskState};
use codeteam_engine::tell::first_line;
use serde_json::json;

use super::answer::ToolAnswer;
use super::expected::{SessionView, design as design_words};
use super::history;

/// The whole status, with what is expected now in it.
pub(super) fn status(view: &SessionView<'_>, expected: &ToolAnswer) -> ToolAnswer {
    let run = view.run;
    let frame = current(run);
    let requirements = frame.map(|f| f.outputs.known_requirements());
    let design = frame.and_then(|f| f.outputs.whole_design());
    let design = design.as_ref().map(design_words);
    let (entries, _) = view.history.told(None, None);
    let state = views::seven(run);
    // Nothing was asked for that could be refused.
    let now = expected.text();
    let now = now.strip_prefix("Refused: ").unwrap_or(now);
    let details = expected.details();
    let now = now.strip_suffix(details).unwrap_or(now);
    // What the status says itself is not said again in what is next.
    let mut next = expected.as_part();
    let told = [
        ("run", json!(run.id)),
        ("task", json!(run.goal)),
        ("requirements", json!(requirements)),
        ("design", json!(design)),
    ];
    if let Some(next) = next.as_object_mut() {
        next.retain(|key, value| !told.iter().any(|(name, told)| key == name && value == told));
    }
    let mut answer = ToolAnswer::new("task_status", now).part(
        "State",
        &format!("{} ({})", state.as_str(), first_line(&run.goal)),
    );
    answer.append(details);
    answer
        .with("run", json!(run.id))
        .with("task", json!(run.goal))
        .with("state", json!(state.as_str()))
        .with("current_role", json!(role(run, state)))
        .always("iteration", json!(frame.map_or(1, |f| f.round)))
        .always("history", json!(entries))
        .with("confirmed_requirements", json!(requirements))
        .with("current_design", json!(design))
        .with("run_path", json!(view.path()))
        .with("next", next)
}

/// The frame that is worked on, or the run's own.
fn current(run: &Run) -> Option<&Frame> {
    let path = match session::turn(run) {
        SessionTurn::Work(id) => Some(id.frame),
        SessionTurn::Ask(question) => Some(question.id.frame.clone()),
        _ => None,
    };
    let path = path.unwrap_or_else(FramePath::root);
    run.frames.get(&path).or_else(|| run.failed.get(&path))
}

/// The role whose turn it is, or was when somebody else had to do something.
fn role(run: &Run, state: TaskState) -> Option<String> {
    if let SessionTurn::Work(id) = session::turn(run) {
        let role = history::role_of(run.frames.get(&id.frame)?, &id);
        return role.map(str::to_owned);
    }
    if matches!(state, TaskState::Complete | TaskState::Aborted) {
        return None;
    }
    let slots = &current(run)?.slots;
    slots.iter().find_map(|slot| match &slot.work {
        SlotWork::Role(name) => Some(name.0.clone()),
        _ => None,
    })
}
