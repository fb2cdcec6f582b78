//! What a run offers next, and what a goal that needs no planner leaves behind.

use crate::built_in::{commits, merges_as_offered, say_yes, script, start};
use crate::project::Project;

/// The goal is the plan: no planner is asked, and the checks and one reviewer judge the change.
#[test]
fn codeteam_asks_no_planner_about_a_goal_that_names_its_file() {
    let first = "
  - match: { kind: planner }
    do: [ { submit: { questions: [By which greeting?] } } ]
  - match: { kind: implementer }
    do:
      - write: { path: hello.txt, content: \"hello, Ada\\n\" }
      - submit: { summary: Greets Ada }";
    let project = Project::new();
    project.config("worker: scripted\nworkflow: codeteam\nverification:\n  commands: [ { name: made, command: 'grep -rq Ada --include=*.txt .' } ]\n");
    project.commit("a check");
    let script = project.script(&script(first));
    let goal = "Let the one line of hello.txt greet Ada by name instead of everybody";
    let done = project.run(&["run", goal, "--script", &script]).expect(0);
    let done = done.says(&[
        "plan is skipped: the goal names `hello.txt`",
        "prompt is skipped: the task names 1 file and 1 criterion",
        "review by one reviewer",
    ]);
    let task = &project.shown_run()["tasks"][0];
    assert_eq!(
        (&task["id"], &task["title"]),
        (&"task-001".into(), &goal.into())
    );
    let plan = project.read(".codeteam/planning/feature-0001/plan.yml");
    assert!(plan.contains(goal), "{plan}");
    assert_eq!(commits(&project), [format!("task-001: {goal}")]);
    merges_as_offered(&project, &done);
    // Whoever wants to talk about the plan is asked about one.
    let with_talk = ["run", goal, "--talk", "--script", &script];
    project
        .run(&with_talk)
        .expect(3)
        .says(&["By which greeting?"]);
}

/// A run that needed no plan leaves no folder for one, and the next plan gets its number.
#[test]
fn solo_without_a_plan_reserves_none() {
    let project = Project::new();
    let script = project.script(&script(""));
    let args = [
        "run",
        "Improve hello.txt",
        "--workflow",
        "solo",
        "--script",
        &script,
    ];
    let done = project.run(&args).expect(0);
    let done = done.says(&["plan is skipped: the goal names `hello.txt`"]);
    let folders = || {
        std::fs::read_dir(project.path(".codeteam/planning"))
            .unwrap()
            .count()
    };
    assert_eq!(folders(), 0);
    merges_as_offered(&project, &done);
    start(&project, "plan", &self::script(""), 3);
    assert!(
        project
            .path(".codeteam/planning/feature-0001/plan.yml")
            .is_file()
    );
}

/// A run of `solo` codes: nothing offers it as a plan that somebody still has to accept.
#[test]
fn a_stopped_solo_run_is_resumed_and_not_planned() {
    let project = Project::new();
    let script = project.script(&script(""));
    let limit = ["--max-attempts", "1", "--script", &script];
    let stopped = project.run(&[&["run", "x", "--workflow", "solo"], &limit[..]].concat());
    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
    let resume = format!("codeteam resume {run} --max-attempts N");
    stopped.expect(4).says(&[&resume]);
    let status = project.run(&["status"]).expect(0);
    status.says(&[&resume]).lacks(&["is not accepted yet"]);
    let refused = project.run(&["plan"]).expect(2);
    refused.says(&["no plan is being made"]);
    let done = project.paste(&resume.replace('N', "9")).expect(0);
    merges_as_offered(&project, &done);
}

/// A run that only makes a plan offers to carry it out, and that works as it is printed.
#[test]
fn plan() {
    let project = Project::new();
    let planned = start(&project, "plan", &script(""), 3);
    planned.says(&["Is this the plan you want?"]);
    let done = say_yes(&project, "Is this the plan you want?", 0);
    assert_eq!(project.shown_run()["plans_only"], true);
    let code = done.commands("code");
    assert_eq!(code, ["codeteam run feature-0001"], "{}", done.stderr);
    let script = project.script(&script(""));
    let done = project
        .paste(&format!("{} --script {script}", code[0]))
        .expect(0);
    merges_as_offered(&project, &done);
}
