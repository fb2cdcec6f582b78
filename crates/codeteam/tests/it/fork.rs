//! `codeteam fork` and `codeteam compare`: a new run from a moment of another one, and both beside
//! each other.

use crate::project::Project;
use crate::samples::THREE_TASKS;

/// A run of three tasks that is done.
fn done() -> Project {
    let project = Project::new();
    let script = project.script(THREE_TASKS);
    project
        .run(&["run", "Three things", "--script", &script])
        .expect(0);
    project
}

#[test]
fn a_fork_goes_on_from_a_task_and_leaves_the_other_run_alone() {
    let project = done();
    let first = project.shown_run();
    let (id, branch) = (
        first["run"].as_str().unwrap(),
        first["branch"].as_str().unwrap(),
    );
    let tip = project.git(&["rev-parse", branch]);
    let other = project.write_outside(
        "other.yml",
        &THREE_TASKS.replace("content: \"right\\n\"", "content: \"right too\\n\""),
    );
    let told = project
        .run(&["fork", id, "--at", "one", "--script", &other])
        .expect(0);
    told.says(&["forked from", "1 of 3 tasks are done already"]);
    let fork = project.shown_run();
    assert_ne!(fork["run"], first["run"]);
    assert_eq!(fork["forked_from"]["run"], first["run"]);
    assert_eq!(fork["goal"], first["goal"]);
    assert_eq!(fork["status"], "completed");
    assert_ne!(
        fork["plan"], first["plan"],
        "each run has a plan file of its own"
    );
    // It stands on the commit that the first task made, and the other run is as it was.
    let base = fork["base"].as_str().unwrap();
    assert_eq!(project.git(&["show", &format!("{base}:one.txt")]), "one");
    assert_eq!(project.git(&["rev-parse", branch]), tip);
    let own = fork["branch"].as_str().unwrap();
    assert_eq!(
        project.git(&["rev-list", "--count", &format!("{base}..{own}")]),
        "2"
    );
    assert_eq!(
        project.git(&["show", &format!("{own}:two.txt")]),
        "right too"
    );
    project
        .run(&["compare", id, id])
        .expect(2)
        .says(&["both names mean the run"]);
    let compared = project
        .run(&["compare", id, fork["run"].as_str().unwrap()])
        .expect(0);
    for text in ["files that differ: 1", "two.txt", "at ", "rounds"] {
        assert!(
            compared.stdout.contains(text),
            "lacks {text}:\n{}",
            compared.stdout
        );
    }
    let compared = project.json(&["compare", id, fork["run"].as_str().unwrap(), "--json"]);
    assert_eq!(compared["files"][0], "two.txt");
    assert_eq!(compared["comparison"]["runs"][1]["commits"], 2);
    assert_eq!(compared["comparison"]["roles"][0]["role"], "coder");
}

#[test]
fn a_fork_from_before_the_plan_plans_again() {
    let project = done();
    let before = project.shown_run();
    project
        .run(&["fork", "--at", "1"])
        .expect(0)
        .says(&["there was no plan yet"]);
    let fork = project.shown_run();
    assert_eq!(fork["base"], before["base"]);
    assert_eq!(
        fork["tree"], before["tree"],
        "the same script makes the same tree"
    );
    let compared = project.run(&[
        "compare",
        before["run"].as_str().unwrap(),
        fork["run"].as_str().unwrap(),
    ]);
    let compared = compared.expect(0);
    assert!(
        compared.stdout.contains("files: the same"),
        "{}",
        compared.stdout
    );
}

#[test]
fn what_cannot_be_forked_is_refused_before_anything_begins() {
    let project = done();
    let runs = project.json(&["status", "--json"]);
    project
        .run(&["fork", "--at", "99999"])
        .expect(2)
        .says(&["has no event 99999"]);
    project
        .run(&["fork", "--at", "nine"])
        .expect(2)
        .says(&["there is no task, phase or event"]);
    project.run(&["fork", "--workflow", "nothing"]).expect(2);
    assert_eq!(project.json(&["status", "--json"]), runs);
}

#[test]
fn a_fork_of_what_is_done_has_spent_nothing() {
    let project = done();
    project
        .run(&["fork"])
        .expect(0)
        .says(&["3 of 3 tasks are done already"]);
    let costs = project.run(&["show", "--cost"]).expect(0).stdout;
    assert_eq!(
        costs,
        "no worker has finished an attempt, so there is nothing to show\n"
    );
}
