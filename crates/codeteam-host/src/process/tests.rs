//! The runner against a real shell. Nothing here waits by time: children that
//! would sleep for a minute are killed, and readiness is told by a line.

mod endings;

use std::fs;
use std::path::Path;

use super::*;

const LIMITS: CommandLimits = CommandLimits {
    wall: Duration::from_mins(1),
    line_bytes: 1024,
    total_bytes: 1024 * 1024,
    silence: None,
    grace: Duration::from_mins(1),
};

/// Longer than anything here takes, shorter than the limits that must not be
/// what ended it.
const PROMPT: Duration = Duration::from_secs(30);

fn sh(mark: &str, script: &str) -> CommandSpec {
    CommandSpec {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: "/".into(),
        env: vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            (MARK.into(), format!("{}/{mark}", this_test_run()).into()),
        ],
        view: HostView::default(),
        disk: None,
        brief: false,
    }
}

/// Marks must not meet those of another test run on the same machine.
fn this_test_run() -> String {
    format!("process-tests-{}", std::process::id())
}

fn go(
    spec: &CommandSpec,
    limits: &CommandLimits,
    cancel: &CancelToken,
) -> (CommandExit, Vec<String>) {
    let mut seen = Vec::new();
    let exit = run_command(
        &UnconfinedLauncher::default(),
        SandboxProfile::Executor,
        spec,
        limits,
        cancel,
        &mut |line| seen.push(line.text.into_owned()),
    )
    .unwrap();
    (exit, seen)
}

fn output(mark: &str, script: &str) -> Vec<String> {
    go(&sh(mark, script), &LIMITS, &CancelToken::new()).1
}

#[test]
fn lines_of_both_streams_come_in_order() {
    let mut seen = Vec::new();
    // The child goes on to the next stream only when the line was delivered. A pipe for each: one
    // that is still being closed would let it go on too early.
    let dir = tempfile::tempdir().unwrap();
    let mut spec = sh(
        "order",
        "mkfifo 1 2 3 4 5 6; echo out 1; read x <1; echo err 1 >&2; read x <2; echo out 2; read x <3; echo err 2 >&2; read x <4; echo out 3; read x <5; echo err 3 >&2; read x <6",
    );
    spec.cwd = dir.path().to_owned();
    let exit = run_command(
        &UnconfinedLauncher::default(),
        SandboxProfile::Worker,
        &spec,
        &LIMITS,
        &CancelToken::new(),
        &mut |line| {
            seen.push((line.stream, line.text.into_owned()));
            fs::write(dir.path().join(seen.len().to_string()), "\n").unwrap();
        },
    )
    .unwrap();
    assert_eq!(exit.status, ExitReason::Exited(0));
    let expected: Vec<_> = (1..=3)
        .flat_map(|n| {
            [
                (OutputStream::Stdout, format!("out {n}")),
                (OutputStream::Stderr, format!("err {n}")),
            ]
        })
        .collect();
    assert_eq!(seen, expected);
}

#[test]
fn the_exit_says_how_it_ended() {
    let status = |script| {
        go(&sh("status", script), &LIMITS, &CancelToken::new())
            .0
            .status
    };
    assert_eq!(status("exit 0"), ExitReason::Exited(0));
    assert_eq!(status("exit 7"), ExitReason::Exited(7));
    assert_eq!(status("kill -9 $$"), ExitReason::Signalled(9));
}

#[test]
fn bytes_are_counted_and_the_last_line_needs_no_newline() {
    let spec = sh("count", "printf 'ab\\ncd'; printf x >&2");
    let (exit, seen) = go(&spec, &LIMITS, &CancelToken::new());
    assert_eq!((exit.stdout_bytes, exit.stderr_bytes), (5, 1));
    assert_eq!(exit.dropped_bytes, 0);
    assert_eq!(seen.len(), 3);
}

#[test]
fn a_huge_line_is_cut() {
    let script = "head -c 100000000 /dev/zero | tr '\\0' a; echo; echo next";
    let mut seen = Vec::new();
    let exit = run_command(
        &UnconfinedLauncher::default(),
        SandboxProfile::Executor,
        &sh("huge", script),
        &CommandLimits {
            total_bytes: u64::MAX,
            ..LIMITS
        },
        &CancelToken::new(),
        &mut |line| seen.push((line.raw.len(), line.truncated)),
    )
    .unwrap();
    assert_eq!(seen, [(1024, true), (4, false)]);
    assert_eq!(exit.stdout_bytes, 100_000_006);
    assert_eq!(exit.dropped_bytes, 100_000_000 - 1024);
}

#[test]
fn past_the_total_there_is_one_marker() {
    let limits = CommandLimits {
        total_bytes: 4,
        ..LIMITS
    };
    let mut seen = Vec::new();
    run_command(
        &UnconfinedLauncher::default(),
        SandboxProfile::Executor,
        &sh("total", "echo a; echo b; echo c; echo d"),
        &limits,
        &CancelToken::new(),
        &mut |line| seen.push((line.is_limit_marker(), line.text.into_owned())),
    )
    .unwrap();
    assert_eq!(
        seen,
        [
            (false, "a".to_owned()),
            (false, "b".to_owned()),
            (true, "[output past 4 bytes is not kept]".to_owned()),
        ]
    );
}

#[test]
fn text_is_plain_and_raw_is_not() {
    let mut seen = Vec::new();
    run_command(
        &UnconfinedLauncher::default(),
        SandboxProfile::Executor,
        &sh("plain", "printf '\\033[31mred\\033[0m\\377\\n'"),
        &LIMITS,
        &CancelToken::new(),
        &mut |line| seen.push((line.raw.to_vec(), line.text.into_owned())),
    )
    .unwrap();
    let raw = b"\x1b[31mred\x1b[0m\xff".to_vec();
    assert_eq!(seen, [(raw, "red\u{fffd}".to_owned())]);
}

#[test]
fn stdin_is_empty() {
    assert_eq!(output("stdin", "cat; echo end"), ["end"]);
}

#[test]
fn the_environment_is_what_was_given() {
    let mut spec = sh("env", "");
    spec.program = "/usr/bin/env".into();
    spec.args.clear();
    spec.env.push(("GREETING".into(), "hello world".into()));
    let (_, mut seen) = go(&spec, &LIMITS, &CancelToken::new());
    seen.sort();
    assert_eq!(
        seen,
        [
            format!("{MARK}={}/env", this_test_run()),
            "GREETING=hello world".to_owned(),
            "PATH=/usr/bin:/bin".to_owned(),
        ]
    );
}

#[test]
fn the_working_directory_is_what_was_given() {
    let dir = tempfile::tempdir().unwrap();
    let mut spec = sh("cwd", "pwd -P");
    spec.cwd = dir.path().to_owned();
    let (_, seen) = go(&spec, &LIMITS, &CancelToken::new());
    assert_eq!(Path::new(&seen[0]), dir.path().canonicalize().unwrap());
}

#[test]
fn errors_name_what_is_missing() {
    let fails = |spec: &CommandSpec| {
        run_command(
            &UnconfinedLauncher::default(),
            SandboxProfile::Worker,
            spec,
            &LIMITS,
            &CancelToken::new(),
            &mut |_| {},
        )
        .unwrap_err()
        .to_string()
    };
    let dir = tempfile::tempdir().unwrap();

    let mut spec = sh("errors", "true");
    spec.program = "no-such-program".into();
    assert_eq!(fails(&spec), "`no-such-program` was not found");

    let plain_file = dir.path().join("plain");
    fs::write(&plain_file, "text").unwrap();
    spec.program = plain_file.into_os_string();
    assert!(fails(&spec).ends_with("/plain` may not be executed"));

    let mut spec = sh("errors", "true");
    spec.cwd = dir.path().join("missing");
    assert!(fails(&spec).ends_with("/missing`: no such directory"));

    let mut spec = sh("errors", "true");
    spec.env.pop();
    assert_eq!(
        fails(&spec),
        "`sh` was given no `CODETEAM_MARK` in its environment"
    );
}

#[test]
fn no_confinement_is_said_plainly() {
    assert_eq!(
        UnconfinedLauncher::default().describe(),
        "not confined: workers and gates run with your own rights"
    );
}
