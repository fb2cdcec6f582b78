//! The workflow `strict`: exactly what its agents are given and may answer, what is left behind, and
//! the layout of a project that is made for it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::project::{CommandResult, Project};

/// A goal in two tasks, as the design's example has it. `CODE`, `MORE` and `TELL` are what is answered
/// for the first, for the second, and about the tests.
const SCRIPT: &str = r#"
version: 1
plays:
  - match: { role: planner }
    do: [ { submit: PLAN } ]
  - match: { role: coder, task: T1 }
    do: [ { submit: CODE } ]
  - match: { role: coder, task: T2 }
    do: [ { submit: MORE } ]
  - match: { role: tester, task: T1 }
    do: [ { submit: TELL } ]
  - match: { role: tester }
    do: [ { submit: { task_id: "{{task.id}}", passed: true, report: all well } } ]
"#;

const PLAN: &str = r#"{"plan_id":"plan_0001","tasks":[{"id":"T1","title":"Implement get_user_stats","rationale":"Provide summary statistics for user data","acceptance":"get_user_stats(data) returns dict with count, mean","artifacts":["src/stats.py","hello.txt"]},{"id":"T2","title":"Test it","rationale":"It is shown","acceptance":"the test passes","artifacts":["tests/stats.sh"]}]}"#;
const CODE: &str =
    r#"{"edits":[{"path":"src/stats.py","content":"def get_user_stats(data):\n    return {}\n"}]}"#;
const MORE: &str =
    r#"{"edits":[{"path":"tests/stats.sh","content":"grep -q get_user_stats src/stats.py\n"}]}"#;
const TELL: &str = r#"{"task_id":"T1","passed":true,"report":""}"#;

fn script(with: &[(&str, &str)]) -> String {
    let usual = [
        ("PLAN", PLAN),
        ("CODE", CODE),
        ("MORE", MORE),
        ("TELL", TELL),
    ];
    let mut text = SCRIPT.to_owned();
    for (name, answer) in with.iter().chain(&usual) {
        text = text.replace(name, answer);
    }
    text
}

/// The project of the other tests, with a test that is there and prompts that are kept.
fn project() -> Project {
    let project = Project::new();
    let config = project.read(".codeteam/config.yml");
    let audited = "workflow: { extends: strict, settings: { audit_trail: true } }\n";
    project.config(&format!("{config}{audited}"));
    project.write("tests/old.sh", "echo checked\n");
    project.commit("a test");
    project
}

fn start(project: &Project, with: &[(&str, &str)]) -> CommandResult {
    let script = project.script(&script(with));
    project.run(&["run", "Statistics of users", "--script", &script])
}

/// The files that runs leave, by their names without the time.
fn left(folder: &Path) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).unwrap())
        })
        .filter(|(name, _)| name.ends_with(".log.jsonl") || name.starts_with("plan_"))
        .map(|(name, text)| match name.strip_suffix(".log.jsonl") {
            Some(stamp) => {
                assert!(stamp.starts_with("20") && stamp.ends_with('Z'), "{stamp}");
                ("TIME.log.jsonl".to_owned(), untimed(&text))
            }
            None => (name, text),
        })
        .collect();
    files.sort();
    files
}

/// A log without its times, which must be such.
fn untimed(log: &str) -> String {
    let line = |line: &str| {
        let rest = line.strip_prefix(r#"{"ts":""#).unwrap();
        let (ts, rest) = rest.split_once('"').unwrap();
        assert_eq!(ts.len(), "2025-10-02T11:00:00Z".len(), "{ts}");
        assert!(ts.ends_with('Z') && ts.contains('T'), "{ts}");
        format!("{{{}\n", rest.trim_start_matches(','))
    };
    log.lines().map(line).collect()
}

fn run_folder(project: &Project) -> PathBuf {
    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
    project.path(&format!(".codeteam/runs/{run}"))
}

/// The log of the newest run, without its times.
fn log(project: &Project) -> String {
    let files = left(&run_folder(project));
    let found = files.into_iter().find(|(name, _)| name.ends_with("jsonl"));
    found.unwrap().1
}

/// Returns the prompt of a step's worker: the text before the message, and the message.
fn told(project: &Project, step: &str, task: &str) -> (String, String) {
    let audit = run_folder(project).join("audit");
    let mut files = fs::read_dir(audit)
        .unwrap()
        .map(|file| file.unwrap().path());
    let file = files.find(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.contains(task) && name.contains(&format!("-{step}.")) && name.ends_with("prompt.md")
    });
    let text = fs::read_to_string(file.unwrap()).unwrap();
    let (system, user) = text.rsplit_once("\n\n---\n\n").unwrap();
    (system.to_owned(), user.to_owned())
}

#[test]
fn agents_are_given_exactly_what_the_contract_says() {
    let project = project();
    start(&project, &[]).expect(0);
    let (system, input) = told(&project, "plan", "");
    assert_eq!(
        input,
        r#"{"goal":"Statistics of users","repo_summary":"hello.txt - txt, 1 line\ntests/old.sh - shell, 1 line","plan_id":"plan_0001"}"#
    );
    for said in [
        "You turn a goal into a short list of tasks",
        "no prose, no markdown, no code fence",
        r#"{"status":"error","reason":"<short reason>"}"#,
        "Role: planner\nStep: plan\n",
    ] {
        assert!(system.contains(said), "{said}: {system}");
    }
    assert!(
        !system.contains("Statistics of users") && !system.contains("blocked"),
        "{system}"
    );
    let (_, input) = told(&project, "code", "T1");
    assert_eq!(
        input,
        r#"{"task":{"id":"T1","title":"Implement get_user_stats","rationale":"Provide summary statistics for user data","acceptance":"get_user_stats(data) returns dict with count, mean","artifacts":["src/stats.py","hello.txt"]},"context_files":[{"path":"hello.txt","content":"hello\n"}]}"#
    );
    let (_, input) = told(&project, "report", "T1");
    assert_eq!(
        input,
        r#"{"task_id":"T1","pytest_exit_code":0,"pytest_output":"checked\n"}"#
    );
}

#[test]
fn what_passes_between_them_is_logged() {
    let project = project();
    start(&project, &[])
        .expect(0)
        .says(&["tester approves: checked", "2 of 2 tasks done"]);
    let plan: Value = serde_json::from_str(PLAN).unwrap();
    let expected = format!(
        "{{\"role\":\"planner\",\"type\":\"plan\",\"data\":{PLAN}}}\n{}",
        r#"{"role":"coder","type":"patch","data":{"task_id":"T1","files":["src/stats.py"]}}
{"role":"tester","type":"test_result","data":{"task_id":"T1","passed":true}}
{"role":"coder","type":"patch","data":{"task_id":"T2","files":["tests/stats.sh"]}}
{"role":"tester","type":"test_result","data":{"task_id":"T2","passed":true}}
"#
    );
    let files = left(&run_folder(&project));
    let snapshot = format!("{}\n", serde_json::to_string_pretty(&plan).unwrap());
    assert_eq!(
        files,
        [
            ("TIME.log.jsonl".to_owned(), expected),
            ("plan_0001.json".to_owned(), snapshot),
        ]
    );
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    // What the tester said of the tests is what they printed.
    let told =
        fs::read_to_string(run_folder(&project).join("iterations/T1_01_tester_review.md")).unwrap();
    assert!(told.contains("checked"), "{told}");
    // The next plan has the next number, and its planner is told so.
    start(
        &project,
        &[("PLAN", &PLAN.replace("plan_0001", "plan_0002"))],
    )
    .expect(0);
    assert_eq!(left(&run_folder(&project))[1].0, "plan_0002.json");
}

#[test]
fn what_codeteam_finds_wrong_is_not_told_as_a_test() {
    let project = project();
    let code = r#"{"edits":[{"path":"src/stats.py","content":"def get_user_stats(data):\n    raise NotImplementedError\n"}]}"#;
    let done = start(&project, &[("CODE", code)]).expect(1);
    // The tests pass, the tester says so, and the task ends all the same, by its own name.
    let (_, input) = told(&project, "report", "T1");
    assert_eq!(
        input,
        r#"{"task_id":"T1","pytest_exit_code":0,"pytest_output":"checked\n"}"#
    );
    done.says(&[
        "tester approves: checked",
        "check failed: stubs",
        "`rules` rejected it",
    ])
    .lacks(&["the tests failed", "the tests did not end with 0"]);
    let log = &left(&run_folder(&project))[0].1;
    let last = log.lines().last().unwrap();
    assert!(
        last.contains(r#""role":"orchestrator","type":"error""#),
        "{log}"
    );
    assert!(last.contains("`stubs` did not pass"), "{log}");
}

#[test]
fn the_first_failing_test_halts_the_run_for_a_person() {
    let project = project();
    let bad = CODE.replace("return {}", "return None");
    let gate = "grep -rq None src && { echo found None; exit 3; } || true\n";
    project.write("tests/old.sh", gate);
    project.commit("a test that looks");
    let failed = r#"{"task_id":"T1","passed":false,"report":"found None\n"}"#;
    let done = start(&project, &[("CODE", &bad), ("TELL", failed)]).expect(1);
    done.says(&[
        "failed: `report` rejected it: the tests failed: found None",
        // The last lines say why, too.
        "  T1      `report` rejected it: the tests failed: found None",
        "  log     .codeteam/runs/",
        ".log.jsonl",
    ])
    .lacks(&["T2           begun"]);
    assert_eq!(project.count("committed"), 0);
    let (_, input) = told(&project, "report", "T1");
    assert_eq!(
        input,
        r#"{"task_id":"T1","pytest_exit_code":1,"pytest_output":"found None\n"}"#
    );
    let before = log(&project);
    assert!(before.ends_with(
        "{\"role\":\"tester\",\"type\":\"test_result\",\"data\":{\"task_id\":\"T1\",\"passed\":false}}\n"
    ));
    // Once it is mended, the coder has another go, and is told what was wrong.
    project.script(&script(&[]));
    let done = project.run(&["retry", "-m", "No None, please"]).expect(0);
    done.says(&["2 of 2 tasks done"]);
    let after = log(&project);
    assert!(after.starts_with(&before), "{after}");
    assert_eq!(after.lines().count(), before.lines().count() + 4);
    let audit = run_folder(&project).join("audit");
    let prompts = fs::read_dir(audit)
        .unwrap()
        .map(|file| file.unwrap().path());
    let prompts = prompts.filter(|path| path.to_string_lossy().ends_with("prompt.md"));
    let texts = prompts.map(|path| fs::read_to_string(path).unwrap());
    let again: Vec<String> = texts
        .filter(|text| text.contains("No None, please"))
        .collect();
    assert_eq!(again.len(), 1, "the coder");
    let (system, user) = again[0].rsplit_once("\n\n---\n\n").unwrap();
    assert!(system.contains("found None") && user.starts_with(r#"{"task":{"#));
}

/// Whatever an agent does that it must not ends the run, and the log says why.
#[test]
fn whoever_does_not_keep_to_the_contract_halts_the_run() {
    let long = "x".repeat(4_001);
    let cases: Vec<(&str, String, &str, &str)> = vec![
        (
            "PLAN",
            r#"{"status":"error","reason":"the goal is open"}"#.to_owned(),
            "planner",
            "the goal is open",
        ),
        (
            "PLAN",
            PLAN.replace("T2", "T3"),
            "planner",
            "at `tasks[1].id`: it must be `T2`, not `T3`",
        ),
        (
            "PLAN",
            PLAN.replace("It is shown", &long),
            "planner",
            "at `tasks[1].rationale`: 4001 characters are too many",
        ),
        (
            "CODE",
            CODE.replace("src/stats.py", "src/other.py"),
            "coder",
            "`src/other.py` is not one of the task's artifacts: src/stats.py, hello.txt",
        ),
        (
            "CODE",
            CODE.replace(r#""edits""#, r#""notes":"x","edits""#),
            "coder",
            "unknown field `notes`",
        ),
        (
            "CODE",
            r#"{"status":"error","reason":"src/users.py is needed"}"#.to_owned(),
            "coder",
            "src/users.py is needed",
        ),
        (
            "TELL",
            TELL.replace("true", "false"),
            "tester",
            "at `passed`: it must be `true`, because the tests ended with 0",
        ),
        (
            "TELL",
            r#"{"passed":true,"task_id":"T1","report":"x"}"#.to_owned(),
            "tester",
            "the keys must be in this order: `task_id`, `passed`, `report`",
        ),
        (
            "TELL",
            TELL.replace("T1", "T2"),
            "tester",
            "at `task_id`: `T1` is to be judged, not `T2`",
        ),
    ];
    for (which, answer, who, why) in cases {
        let project = project();
        start(&project, &[(which, &answer)]).expect(1).says(&[why]);
        assert_eq!(project.count("committed"), 0, "{why}");
        assert_eq!(
            project.count("attempt_failed"),
            1,
            "nobody is tried twice: {why}"
        );
        let all = log(&project);
        let entry = all.lines().next_back().unwrap();
        let last: Value = serde_json::from_str(entry).unwrap();
        assert_eq!(last["role"], who);
        assert_eq!(last["type"], "error");
        let reason = last["data"]["reason"].as_str().unwrap();
        assert!(reason.starts_with(why), "{reason}");
    }
}

/// Tests that are there stay as they are, even if a task lists them; new ones are welcome.
#[test]
fn tests_are_not_touched() {
    let project = project();
    let plan = PLAN.replace("tests/stats.sh", r#"tests/stats.sh","tests/old.sh"#);
    let old = MORE.replace("tests/stats.sh", "tests/old.sh");
    let done = start(&project, &[("PLAN", &plan), ("MORE", &old)]).expect(1);
    done.says(&["`tests/old.sh` is a test that is there already, and is not changed"]);
    assert_eq!(project.committed_files(), ["src/stats.py"]);
    project.script(&script(&[]));
    project.run(&["retry"]).expect(0);
    assert_eq!(
        project.committed_files(),
        ["src/stats.py", "tests/stats.sh"]
    );
}

#[test]
fn edits_in_another_order_are_taken_in_that_of_their_paths() {
    let project = project();
    let both = CODE.replace("]}", r#",{"path":"hello.txt","content":"bye\n"}]}"#);
    let script = project.script(&script(&[("CODE", &both)]));
    let args = ["run", "Statistics of users", "--script", &script, "-v"];
    let note = "the edits are not in the order of their paths; they are taken in it";
    project.run(&args).expect(0).says(&[note]);
    assert!(log(&project).contains(r#""files":["hello.txt","src/stats.py"]"#));
}

#[test]
fn without_tests_there_is_no_such_run() {
    let project = Project::new();
    project.config("worker: scripted\nworkflow: strict\n");
    start(&project, &[]).expect(2).says(&[
        "the workflow `strict` depends on the result of tests, but no command runs any",
        "hint: name the command under `verification",
    ]);
    assert!(!project.path(".codeteam/state.db").exists());
}

/// Two runs on the same answers leave the same, but for when it was.
#[test]
fn the_same_answers_leave_the_same_files() {
    let all = || {
        let project = project();
        start(&project, &[]).expect(0);
        let branch = project.shown_run()["branch"].as_str().unwrap().to_owned();
        let messages = project.git(&["log", "--format=%s", &format!("main..{branch}")]);
        (
            left(&run_folder(&project)),
            project.trees(&branch),
            messages,
        )
    };
    assert_eq!(all(), all());
}

/// However often codeteam is killed, the log has everything once.
#[test]
fn the_log_is_whole_after_any_crash() {
    let expected = {
        let project = project();
        start(&project, &[]).expect(0);
        (
            left(&run_folder(&project)),
            project.shown_run()["events"].as_u64().unwrap(),
        )
    };
    for n in (2..=expected.1).step_by(3) {
        let project = project();
        let script = project.script(&script(&[]));
        let args = ["run", "Statistics of users", "--script", &script];
        let mut command = project.codeteam(&args);
        let output = command
            .env("CODETEAM_FAILPOINT", format!("appended:{n}"))
            .output();
        assert_eq!(
            output.unwrap().status.code(),
            None,
            "event {n} was not reached"
        );
        // And what was being written is cut off.
        let folder = run_folder(&project);
        let logs = fs::read_dir(&folder)
            .unwrap()
            .map(|file| file.unwrap().path());
        for log in logs.filter(|path| path.to_string_lossy().ends_with(".log.jsonl")) {
            let text = fs::read_to_string(&log).unwrap();
            fs::write(&log, &text[..text.len() - text.len().min(20)]).unwrap();
        }
        project.run(&["resume"]).expect(0);
        assert_eq!(left(&folder), expected.0, "killed after event {n}");
    }
}

mod laid_out;
