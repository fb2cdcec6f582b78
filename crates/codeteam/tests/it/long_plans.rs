//! A plan of many tasks is folded by phase where a person reads it.

use std::fmt::Write as _;

use crate::project::Project;

/// A plan of three phases with twenty tasks each, of which the first is begun.
fn begun() -> Project {
    let project = Project::new();
    let mut plan = String::from("plan_id: long\ndescription: Many things\nphases:\n");
    for phase in ["base", "middle", "top"] {
        let _ = writeln!(plan, "  - {{ id: {phase}, title: The {phase} }}");
    }
    plan.push_str("tasks:\n");
    for (at, phase) in ["base", "middle", "top"].into_iter().enumerate() {
        for number in 0..20 {
            let id = at * 20 + number;
            let _ = writeln!(
                plan,
                "  - {{ id: t{id}, title: Thing {id}, phase: {phase}, files: [f{id}.txt] }}"
            );
        }
    }
    let plan = project.write_outside("plan.yml", &plan);
    let script = project.script(
        "version: 1\nplays:\n  - match: { role: coder }\n    do:\n      - write: { path: x.txt, content: \"x\\n\" }\n      - submit: { summary: x }\n",
    );
    project
        .run(&[
            "run",
            "--plan",
            &plan,
            "--script",
            &script,
            "--max-attempts",
            "1",
            "--max-parallel",
            "1",
        ])
        .expect(4);
    project
}

#[test]
fn show_counts_the_tasks_of_each_phase_and_lists_what_is_under_way() {
    let project = begun();
    for command in [&["show"][..], &["status"]] {
        let shown = project.run(command);
        let lines = shown.stdout.lines().count();
        assert!(
            lines < 60,
            "{command:?} prints {lines} lines:\n{}",
            shown.stdout
        );
    }
    let shown = project.run(&["show"]).expect(0).stdout;
    for line in [
        "phase     base: running, 0 of 20 done, 1 running",
        "phase     top: pending, 0 of 20 done",
        "running    t0  Thing 0",
        "`codeteam show -v` lists all 60 tasks",
    ] {
        assert!(shown.contains(line), "lacks {line}:\n{shown}");
    }
    assert!(!shown.contains("Thing 41"), "{shown}");
    let whole = project.run(&["show", "-v"]).expect(0).stdout;
    assert!(
        whole.contains("Thing 41") && whole.contains("Thing 59"),
        "{whole}"
    );
    // Programs get everything.
    assert_eq!(project.shown_run()["tasks"].as_array().unwrap().len(), 60);
}
