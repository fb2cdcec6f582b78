//! Exit codes and machine-readable results: what scripts around codeteam rely on.

use rustix::process::Signal;
use serde_json::Value;

use crate::project::Project;
use crate::samples::{ONE_TASK, THREE_TASKS};

/// A script whose coder waits for a file before it does its work.
pub(crate) fn waiting_for(file: &str) -> String {
    let wait =
        format!("    do:\n      - text: waiting now\n      - wait_for: {{ path: {file} }}\n");
    let (before, coder) = ONE_TASK
        .rsplit_once("  - match: { role: coder }\n    do:\n")
        .unwrap();
    format!("{before}  - match: {{ role: coder }}\n{wait}{coder}")
}

#[test]
fn done_is_0_and_failed_is_1() {
    let project = Project::new();
    let script = project.script(ONE_TASK);
    project.run(&["run", "x", "--script", &script]).expect(0);
    let script =
        project.script("version: 1\nplays: [ { do: [ { submit: { blocked: No idea how } } ] } ]\n");
    let done = project.run(&["run", "x", "--script", &script]).expect(1);
    done.says(&[
        "not done:",
        "No idea how",
        "codeteam show",
        "codeteam retry",
    ]);
}

#[test]
fn a_limit_is_4_and_the_run_goes_on_with_a_higher_one() {
    let project = Project::new();
    let script = project.script(THREE_TASKS);
    let done = project
        .run(&["run", "x", "--script", &script, "--max-attempts", "3"])
        .expect(4)
        .says(&["limit reached:", "--max-attempts"]);
    assert_eq!(done.commands("go on").len(), 1);
    assert_eq!(project.shown_run()["status"], "limited");
    // Nobody could raise it while somebody waits for that.
    project.run(&["resume", "--wait"]).expect(4);
    project.run(&["resume", "--max-attempts", "5"]).expect(4);
    let run = project.json(&["resume", "--max-attempts", "100", "--json"]);
    assert_eq!(run["status"], "completed");
    assert_eq!(run["tasks"].as_array().unwrap().len(), 3);
}

#[test]
fn a_limit_on_money_counts_what_workers_say_they_spent() {
    let project = Project::new();
    let script = project.script(THREE_TASKS);
    let done = project
        .run(&["run", "x", "--script", &script, "--max-cost", "0.005"])
        .expect(4);
    done.says(&["limit reached:", "--max-cost"]);
    project.run(&["resume", "--max-cost", "5"]).expect(0);
}

/// Starts a run whose coder spends something and then waits, and ends it by a limit; a higher one
/// lets it go on to its end.
#[track_caller]
fn is_ended_while_it_works(limit: [&str; 2], reached: &str, higher: [&str; 2]) {
    let project = Project::new();
    let go = project.go();
    let waits = waiting_for(go.to_str().unwrap()).replace(
        "      - text: waiting now\n",
        "      - usage: { input_tokens: 9000, output_tokens: 5, cost_usd: 0.5 }\n      - text: waiting now\n",
    );
    let script = project.script(&waits);
    let begun = std::time::Instant::now();
    let run = ["run", "x", "--script", &script];
    let done = project.run(&[&run[..], &limit].concat()).expect(4);
    assert!(begun.elapsed() < std::time::Duration::from_mins(1));
    done.says(&["limit reached:", reached, limit[0]]);
    assert_eq!(project.survivors(), Vec::<String>::new());
    let spent = &project.shown_run()["cost"];
    assert!(spent["tokens"].as_u64() >= Some(9005), "{spent}");
    std::fs::write(&go, "").unwrap();
    project
        .run(&["resume", higher[0], higher[1]])
        .expect(0)
        .lacks(&["try 2"]);
}

#[test]
fn the_limit_of_time_ends_a_worker_under_way() {
    let higher = ["--max-minutes", "60"];
    is_ended_while_it_works(["--max-minutes", "0.1"], "time", higher);
}

#[test]
fn the_limit_of_tokens_ends_a_worker_under_way() {
    let higher = ["--max-tokens", "900000"];
    is_ended_while_it_works(["--max-tokens", "5000"], "tokens", higher);
}

#[test]
fn the_limit_of_money_ends_a_worker_under_way() {
    let higher = ["--max-cost", "50"];
    is_ended_while_it_works(["--max-cost", "0.2"], "money", higher);
}

#[test]
fn interrupted_is_130_and_nothing_is_left_running() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let project = Project::new();
        let go = project.go();
        let script = project.script(&waiting_for(go.to_str().unwrap()));
        let before = project.checkout();
        let mut run = project.start(&["-v", "run", "x", "--script", &script]);
        run.until("waiting now");
        run.signal(signal);
        let done = run.end().expect(130);
        let done = done.says(&["stopping:", "interrupted:"]);
        assert_eq!(project.survivors(), Vec::<String>::new());
        assert_eq!(project.checkout(), before);
        project
            .run(&["status"])
            .expect(0)
            .says(&["go on: codeteam resume"]);
        std::fs::write(&go, "").unwrap();
        project.paste(&done.commands("go on")[0]).expect(0);
        assert_eq!(project.committed_file("one.txt"), "done");
    }
}

#[test]
fn a_second_interrupt_ends_it_at_once_and_resume_finds_nothing_left() {
    let project = Project::new();
    let go = project.go();
    let script = waiting_for(go.to_str().unwrap());
    // A worker that does not go when it is asked to keeps the first one waiting.
    let script = script.replace(
        "- wait_for:",
        "- run: trap '' TERM; while [ ! -e {{goal}} ]; do sleep 0.01; done\n      - wait_for:",
    );
    let script = project.script(&script);
    let goal = go.to_str().unwrap();
    let mut run = project.start(&["-v", "run", goal, "--script", &script]);
    run.until("waiting now");
    run.signal(Signal::INT);
    run.until("stopping:");
    run.signal(Signal::INT);
    run.end().expect(130);
    std::fs::write(&go, "").unwrap();
    project.run(&["resume"]).expect(0);
    assert_eq!(project.survivors(), Vec::<String>::new());
}

/// The user's own git passes a file through a program that never ends.
#[test]
fn a_git_that_waits_for_a_filter_ends_with_the_first_interrupt() {
    for signal in [Signal::INT, Signal::TERM] {
        let project = Project::new();
        let script = project.script(ONE_TASK);
        project.write(".gitattributes", "*.txt filter=slow\n");
        project.commit("attributes");
        let pipe = project.home().join("waiting");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        let filter = format!("cd \"$HOME\"; echo x > {}; sleep 1000", pipe.display());
        project.git(&["config", "filter.slow.clean", &filter]);
        // Git has to compare it, because its time has changed.
        let text = project.read("hello.txt");
        project.write("hello.txt", &text);
        let run = project.start(&["run", "x", "--script", &script]);
        assert_eq!(std::fs::read_to_string(&pipe).unwrap(), "x\n");
        run.signal(signal);
        let _ = run.end();
        assert_eq!(project.survivors(), Vec::<String>::new());
    }
}

#[test]
fn a_check_under_way_is_ended_too() {
    let project = Project::new();
    let script = project.script(ONE_TASK);
    project.config(&format!("verification:\n  commands:\n    - {{ name: slow, command: 'echo checking now; while [ ! -e {} ]; do sleep 0.01; done' }}\n", project.go().display()));
    let mut run = project.start(&["-v", "run", "x", "--script", &script]);
    run.until("checking now");
    run.signal(Signal::INT);
    run.end().expect(130);
    assert_eq!(project.survivors(), Vec::<String>::new());
    std::fs::write(project.go(), "").unwrap();
    project.run(&["resume"]).expect(0);
}

#[test]
fn json_is_all_there_is_on_standard_output() {
    let project = Project::new();
    let script = project.script(ONE_TASK);
    let run = project.json(&["run", "x", "--script", &script, "--json"]);
    let id = run["run"].as_str().unwrap();
    for (args, key) in [
        (&["status", id][..], "tasks"),
        (&["show"], "branch"),
        (&["diff"], "diff"),
        (&["diff", "--task", "one"], "files"),
        (&["resume"], "status"),
        (&["prune"], "removed"),
        (&["merge"], "after"),
    ] {
        let value = project.json(&[args, &["--json"]].concat());
        assert!(!value[key].is_null(), "{args:?}: {value}");
    }
    for args in [
        &["status", "--json"][..],
        &["restore", "--json"],
        &["doctor", "--json"],
    ] {
        assert!(project.json(args).is_array(), "{args:?}");
    }
    assert_eq!(
        project.events().len() as u64,
        run["events"].as_u64().unwrap()
    );
    for args in [&["approve", "--json"][..], &["show", "nobody", "--json"]] {
        let done = project.run(args).expect(2);
        assert_eq!(done.stdout, "");
    }
}

#[test]
fn without_json_progress_is_no_result() {
    let project = Project::new();
    let script = project.script(THREE_TASKS);
    let done = project
        .run(&["-v", "run", "x", "--script", &script])
        .expect(0);
    assert_eq!(done.stdout, "");
    let shown = project.run(&["show"]).expect(0);
    assert_eq!(shown.stderr, "");
    for line in [
        "status    completed",
        "completed  two",
        "cost      ",
        "branch    codeteam/",
    ] {
        assert!(shown.stdout.contains(line), "{}", shown.stdout);
    }
}

#[test]
fn decisions_as_json() {
    let project = Project::new();
    let script = project.script("version: 1\nplays: [ { do: [ { submit: { blocked: No } } ] } ]\n");
    let plan = project.write_outside("plan.yml", "tasks: [ { id: a }, { id: b } ]\n");
    let args = ["run", "x", "--script", &script, "--plan", &plan, "--json"];
    let run: Value = project.run(&args).expect(1).value();
    assert_eq!(run["status"], "failed");
    let id = run["run"].as_str().unwrap();
    let skipped = project.json(&["skip", id, "a", "--json"]);
    assert_eq!(skipped["posted"]["decision"], "skip");
    assert_eq!(skipped["driven"], false);
    let retried = project.run(&["retry", "--json"]).expect(1).value();
    assert_eq!(retried["status"], "failed");
}
