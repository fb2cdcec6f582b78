//! What goes wrong on the way to a model ends in the right category and action, and nothing is
//! lost. Each fault is shown with the CLI that is quickest about it; the recorded folds of the
//! dialects have the rest.

use codeteam_e2e::{Fault, Kind, Play, Scenario};

use super::project::Project;
use super::samples::{RIGHT, alone, writes, written};

/// A coder whose first attempt has this fault where it would hand in, and whose others do well.
fn once(fault: Fault) -> Scenario {
    Scenario::new()
        .play(Play::new().attempt(1).turn(written().fault(fault)))
        .play(writes(Play::new()))
}

/// What must hold in the end, whatever happened before.
#[track_caller]
fn is_made(project: &Project) {
    assert_eq!(project.made("add.sh"), RIGHT.trim_end());
    assert_eq!(project.commits(), 1);
}

/// A worker whose first attempt has this fault fails it so, and does well in the second one.
#[track_caller]
fn is_tried_again(worker: &str, fault: Fault, category: &str, action: &str) -> Project {
    let project = Project::new(once(fault));
    project.user_config("workers: { builtin: { protocol: openai, model: gpt-5.5 } }\n");
    project
        .goal(&alone("", ""), &["--worker", worker])
        .expect(0);
    is_made(&project);
    let failures = project.failures();
    let told: Vec<_> = failures
        .iter()
        .map(|(c, a, _)| (c.as_str(), a.as_str()))
        .collect();
    assert_eq!(told, [(category, action)], "{failures:?}");
    assert_eq!(project.workers(), [worker, worker]);
    project
}

#[test]
fn too_many_requests_are_tried_again() {
    let fault = Fault::new(Kind::RateLimit);
    is_tried_again("codex", fault, "network", "retry_same");
}

#[test]
fn an_error_of_the_server_is_tried_again() {
    let fault = Fault::new(Kind::ServerError);
    is_tried_again("codex", fault, "network", "retry_same");
}

#[test]
fn an_overloaded_server_is_tried_again() {
    let fault = Fault::new(Kind::Overloaded);
    let project = is_tried_again("claude", fault, "network", "retry_same");
    let failed = &project.events("attempt_failed")[0];
    assert_eq!(failed["facts"]["http_status"], 529);
}

#[test]
fn a_stream_that_is_cut_is_tried_again() {
    let fault = Fault::new(Kind::CutStream);
    is_tried_again("codex", fault, "network", "retry_same");
}
