//! Workers that misbehave, each in its own way: the run deals with it, the user's checkout is as it
//! was, and nothing survives.

use std::fmt::Write as _;

use crate::project::{CommandResult, Project};

/// One coder, the project's checks, one reviewer, a commit; failures are tried again at once.
pub(crate) const ONE: &str = r"
start: code
limits: { max_rounds: 3 }
roles: { coder: { kind: implementer }, reviewer: { kind: gatekeeper } }
steps:
  code:
    role: coder
    next: verify
    timeout_seconds: 600
    retry: { max_attempts: 4, initial_delay_ms: 10, backoff_percent: 100, max_delay_ms: 20, jitter_percent: 0 }
  verify: { gate: project, next: review, on_fail: code }
  review: { role: reviewer, next: commit, on_reject: code }
  commit: { commit: branch, next: done }
";

/// The actions of a good coder.
const GOOD: &str = "
  - match: { role: coder }
    do:
      - write: { path: made.txt, content: \"made\\n\" }
      - submit: { summary: Made it }
  - match: { role: reviewer }
    do: [ { submit: { verdict: approve, reason: Good } } ]
";

/// A run in which the coder's first try is this; whatever comes of it, nothing else is disturbed.
fn first_try(workflow: &str, actions: &[&str]) -> (Project, CommandResult) {
    let mut play =
        "version: 1\nplays:\n  - match: { role: coder, attempt: 1 }\n    do:\n".to_owned();
    for action in actions {
        writeln!(play, "      - {action}").unwrap();
    }
    played(workflow, &format!("{play}{GOOD}"))
}

fn played(workflow: &str, script: &str) -> (Project, CommandResult) {
    let project = Project::new();
    project.write("untracked.txt", "mine\n");
    let (script, workflow) = (project.script(script), project.workflow(workflow));
    let before = project.checkout();
    let done = project.run(&[
        "-v",
        "run",
        "x",
        "--script",
        &script,
        "--workflow",
        &workflow,
    ]);
    assert_eq!(project.checkout(), before);
    assert_eq!(project.survivors(), Vec::<String>::new());
    project.git(&["fsck", "--strict"]);
    (project, done)
}

/// The first try fails for this reason and a later one makes it good.
#[track_caller]
fn is_mended(actions: &[&str], why: &str) -> Project {
    let (project, done) = first_try(ONE, actions);
    let done = done.expect(0).says(&["coder failed: ", why, "try 2"]);
    assert!(!done.stderr.contains("try 3"), "{}", done.stderr);
    assert_eq!(project.committed_files(), ["made.txt"]);
    assert_eq!(project.committed_file("made.txt"), "made");
    assert!(project.worktrees().is_empty());
    project
}

/// The first try is good enough.
#[track_caller]
fn is_borne(actions: &[&str]) -> Project {
    let (project, done) = first_try(ONE, actions);
    done.expect(0).lacks(&["try 2", "coder failed"]);
    assert_eq!(project.committed_file("made.txt"), "made");
    assert!(project.worktrees().is_empty());
    project
}

const WRITE: &str = "write: { path: made.txt, content: \"made\\n\" }";
const SUBMIT: &str = "submit: { summary: Made it }";

#[test]
fn answers_that_do_not_fit() {
    is_mended(&[WRITE, "submit: { summry: oops }"], "summry");
    is_mended(&[WRITE, "submit: [ not, an, object ]"], "one JSON object");
    is_mended(
        &[WRITE, "submit: { summary: '  ' }"],
        "`summary` must not be empty",
    );
    is_mended(
        &[
            WRITE,
            "duplicate_keys: '{\"summary\":\"a\",\"summary\":\"b\"}'",
        ],
        "summary",
    );
    is_mended(&[WRITE, "say_raw: APPROVED"], "without an answer");
    is_mended(&[WRITE], "without an answer");
    is_mended(&[WRITE, SUBMIT, SUBMIT], "more than once");
}

#[test]
fn changes_that_must_not_be() {
    is_mended(&[SUBMIT], "Nothing was changed");
    is_mended(
        &[
            WRITE,
            "run: { command: 'git init -q nested && cd nested && echo x > x', must: true }",
            SUBMIT,
        ],
        "nested",
    );
}

#[test]
fn a_crash() {
    is_mended(
        &["write: { path: half.txt, content: half }", "crash: true"],
        "",
    );
    is_mended(&[WRITE, "stderr: out of luck", "exit: 7"], "out of luck");
}

#[test]
fn a_hang_ends_with_its_time() {
    let workflow = ONE.replace("timeout_seconds: 600", "timeout_seconds: 1");
    for hang in ["hang: true", "hang: { ignore_term: true }"] {
        let (project, done) = first_try(&workflow, &[WRITE, hang]);
        done.expect(0)
            .says(&["coder failed: it took longer than 1 s", "try 2"]);
        assert_eq!(project.committed_file("made.txt"), "made");
    }
}

#[test]
fn a_check_that_hangs_fails() {
    let workflow = ONE.replace(
        "gate: project",
        "gate: [ { name: slow, command: 'test -e again.txt || sleep 1000', timeout_seconds: 1 } ]",
    );
    let again = "version: 1\nplays:\n  - match: { role: coder, round: 2 }\n    do: [ { write: { path: again.txt, content: x } }, { submit: { summary: Again } } ]";
    let (project, done) = played(&workflow, &format!("{again}{GOOD}"));
    done.expect(0)
        .says(&["check failed: slow (did not end within ", "back to code"]);
    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
    let report = project.read(&format!(".codeteam/runs/{run}/iterations/01_verify.md"));
    assert!(report.contains("did not end within 1 s"), "{report}");
}

#[test]
fn noise_is_borne() {
    is_borne(&["garbage: { bytes: 100000 }", WRITE, SUBMIT]);
    is_borne(&["slow: { lines: 5, every_ms: 5 }", WRITE, SUBMIT]);
    is_borne(&[
        "say_raw: '{\"type\":\"submission\"'",
        "say_raw: '{\"type\":\"riddle\"}'",
        WRITE,
        SUBMIT,
    ]);
}

#[test]
fn a_line_of_twenty_megabytes_is_borne_and_not_kept() {
    let project = is_borne(&["garbage: { bytes: 20000000 }", WRITE, SUBMIT]);
    let kept = project.git(&["-c", "alias.du=!du -sk .codeteam", "du"]);
    let kilobytes: u64 = kept.split_whitespace().next().unwrap().parse().unwrap();
    assert!(kilobytes < 8_000, "{kilobytes} kB are kept");
}

#[test]
fn an_overloaded_service_is_waited_for_and_uses_up_no_try() {
    let script = "version: 1\nplays:\n  - do: [ { error: { message: overloaded, status: 529 } }, { exit: 1 } ]\n";
    let project = Project::new();
    let (path, workflow) = (project.script(script), project.workflow(ONE));
    let mut run = project.start(&["-v", "run", "x", "--script", &path, "--workflow", &workflow]);
    run.until("the API of scripted does not answer (overloaded); it is asked again at ");
    // A script is read anew by every worker.
    project.script(&format!("version: 1\nplays:{GOOD}"));
    run.end().expect(0).lacks(&["try 2"]);
    assert_eq!(project.committed_file("made.txt"), "made");
}

#[test]
fn an_outage_that_lasts_stops_the_run_which_can_be_resumed() {
    let script = "version: 1\nplays:\n  - do: [ { error: { message: overloaded, status: 529 } }, { exit: 1 } ]\n";
    let project = Project::new();
    let (path, workflow) = (project.script(script), project.workflow(ONE));
    let args = ["run", "x", "--script", &path, "--workflow", &workflow];
    let limit = ["--max-outage-minutes", "0"];
    let done = project.run(&[&args[..], &limit].concat()).expect(4);
    let done = done.says(&["a model API has not answered for too long", "go on"]);
    assert_eq!(done.commands("go on").len(), 1);
    project.script(&format!("version: 1\nplays:{GOOD}"));
    project.run(&["resume"]).expect(0);
    assert_eq!(project.committed_file("made.txt"), "made");
}

#[test]
fn a_usage_limit_is_waited_for_and_uses_up_no_try() {
    let mut script = "version: 1\nplays:\n  - match: { role: coder }\n    do:\n".to_owned();
    // Nothing of an assignment tells the second try from the first: the limit used none up.
    script.push_str("      - run: { command: 'test -e $HOME/rested || { touch $HOME/rested; echo limited; }' }\n");
    script.push_str("      - rate_limit: { resets_in_ms: 30 }\n");
    let project = Project::new();
    let limited = script.clone() + &GOOD.replacen("role: coder", "role: nobody", 1);
    let (path, workflow) = (project.script(&limited), project.workflow(ONE));
    let mut run = project.start(&["-v", "run", "x", "--script", &path, "--workflow", &workflow]);
    run.until("rests until");
    // A script is read anew by every worker.
    project.script(&format!("version: 1\nplays:{GOOD}"));
    let done = run.end().expect(0);
    done.says(&["may be used again"]).lacks(&["try 2"]);
    assert_eq!(project.committed_file("made.txt"), "made");
}

#[test]
fn an_honest_blocked_ends_the_run_with_its_reason() {
    let (project, done) = first_try(ONE, &["submit: { blocked: The tests need a licence }"]);
    done.expect(1)
        .says(&["The tests need a licence", "codeteam retry"]);
    assert_eq!(project.shown_run()["status"], "failed");
    project.run(&["retry", "-m", "There is one now"]);
}

#[test]
fn writing_outside_is_refused() {
    for path in ["../outside.txt", "/tmp/../outside.txt"] {
        let action = format!("write: {{ path: {path}, content: x }}");
        let (project, done) = first_try(ONE, &[&action, SUBMIT]);
        done.expect(1).says(&["is not inside the worktree"]);
        assert_eq!(project.shown_run()["tip"], project.shown_run()["base"]);
    }
}

#[test]
fn codeteams_own_files_are_never_part_of_a_change() {
    let project = is_borne(&[
        WRITE,
        "write: { path: .codeteam/config.yml, content: \"verification: {}\\n\" }",
        "write: { path: .codeteam/more.txt, content: x }",
        SUBMIT,
    ]);
    assert_eq!(project.committed_files(), ["made.txt"]);
}

#[test]
fn what_a_worker_leaves_in_the_background_ends_with_it() {
    is_borne(&[
        "run: setsid sleep 1000 >/dev/null 2>&1 &",
        "run: (sleep 1000 >/dev/null 2>&1 &)",
        WRITE,
        SUBMIT,
    ]);
}

#[test]
fn a_worker_that_commits_and_switches_branches_changes_nothing_but_files() {
    let project = is_borne(&[
        WRITE,
        "run: git checkout -q -b elsewhere; git add -A; git -c user.name=w -c user.email=w@x commit -q -m mine; git config user.name w",
        SUBMIT,
    ]);
    assert_eq!(project.git(&["branch", "--list", "elsewhere"]), "");
    assert_eq!(project.committed_files(), ["made.txt"]);
}

#[test]
fn a_reviewer_cannot_edit() {
    let script = format!("version: 1\nplays:{GOOD}").replace(
        "    do: [ { submit: { verdict",
        "    do: [ { run: 'echo sneaky > made.txt || touch more.txt || git commit -qam x || echo read-only' }, { submit: { verdict",
    );
    let (project, done) = played(ONE, &script);
    done.expect(0);
    assert_eq!(project.committed_files(), ["made.txt"]);
    assert_eq!(project.committed_file("made.txt"), "made");
}

#[test]
fn a_script_without_a_part_for_a_role_says_so() {
    let (_, done) = played(ONE, "version: 1\nplays: []\n");
    done.expect(1).says(&["no play matches role `coder`"]);
}

#[test]
fn a_flood_of_output_is_kept_in_part_and_the_answer_counts() {
    let project = is_borne(&[
        WRITE,
        "run: head -c 48000000 /dev/zero | tr '\\0' x | fold -w 100000",
        SUBMIT,
    ]);
    let bodies = project.path(".codeteam/bodies");
    let sizes: Vec<u64> = walk(&bodies).iter().map(|(_, size)| *size).collect();
    let sum: u64 = sizes.iter().sum();
    assert!(sum < 40 << 20, "{sum}: {sizes:?}");
    let (largest, _) = walk(&bodies)
        .into_iter()
        .max_by_key(|(_, size)| *size)
        .unwrap();
    let transcript = std::fs::read_to_string(largest).unwrap();
    assert!(transcript.contains(" bytes are left out here]"));
    // The answer is the last thing it said.
    assert!(transcript.lines().next_back().unwrap().contains("Made it"));
}

/// The files below a folder, and how long each is.
fn walk(folder: &std::path::Path) -> Vec<(std::path::PathBuf, u64)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            found.extend(walk(&entry.path()));
        } else {
            found.push((entry.path(), entry.metadata().unwrap().len()));
        }
    }
    found
}
