//! Where a task stands, as a whole.

use codeteam_core::Run;
use codeteam_core::frame::{Frame, Work};
use codeteam_core::ids::FramePath;
use codeteam_core::session::{self, Turn};
use codeteam_core::views::{self, Seven};
use serde_json::{Value, json};

use super::answer::Answer;
use super::expected::{View, requirements};
use super::history;

/// The first paragraph of an answer: what to do.
pub(super) fn opening(answer: &Answer) -> &str {
    let text = answer.text();
    text.split_once("\n\n").map_or(text, |(first, _)| first)
}

/// The whole status, with what is expected now in it.
pub(super) fn status(view: &View<'_>, expected: &Answer) -> Answer {
    let run = view.run;
    let frame = current(run);
    let outputs = frame.map(|f| &f.outputs);
    let requirements =
        outputs.map(|outputs| requirements(outputs.requirements.as_deref(), &outputs.answers));
    let design = frame.and_then(|f| f.outputs.whole_design());
    let (entries, _) = view.history.told(None, None);
    let state = views::seven(run);
    // Nothing was asked for that could be refused.
    let now = expected.text();
    let now = now.strip_prefix("Refused: ").unwrap_or(now);
    let text = format!("Task: {}\nState: {}\n\n{now}", run.goal, state.as_str());
    Answer::new("task_status", text)
        .with("run", json!(run.id))
        .with("task", json!(run.goal))
        .with("state", json!(state.as_str()))
        .with("current_role", json!(role(run, state)))
        .always("iteration", json!(frame.map_or(1, |f| f.round)))
        .always("history", json!(entries))
        .with("confirmed_requirements", json!(requirements))
        .with("current_design", json!(design.map(|d| d.design)))
        .with("run_path", json!(view.path()))
        .with("expected", json!(opening(expected)))
        .with("next", Value::Object(expected.fields().clone()))
}

/// The frame that is worked on, or the run's own.
fn current(run: &Run) -> Option<&Frame> {
    let path = match session::turn(run) {
        Turn::Work(id) => Some(id.frame),
        Turn::Ask(question) => Some(question.id.frame.clone()),
        _ => None,
    };
    let path = path.unwrap_or_else(FramePath::root);
    run.frames.get(&path).or_else(|| run.failed.get(&path))
}

/// The role whose turn it is, or was when somebody else had to do something.
fn role(run: &Run, state: Seven) -> Option<String> {
    if let Turn::Work(id) = session::turn(run) {
        let role = history::role_of(run.frames.get(&id.frame)?, &id);
        return role.map(str::to_owned);
    }
    if matches!(state, Seven::Complete | Seven::Aborted) {
        return None;
    }
    let slots = &current(run)?.slots;
    slots.iter().find_map(|slot| match &slot.work {
        Work::Role(name) => Some(name.0.clone()),
        _ => None,
    })
}
