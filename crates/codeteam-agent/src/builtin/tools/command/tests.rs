//! Commands that end, and commands that do not.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use serde_json::json;

use super::*;

fn run_in(root: &Path, command: &str, seconds: u64) -> Result<String, String> {
    let input = json!({"command": command, "timeout_seconds": seconds});
    let input = serde_json::from_value(input).unwrap();
    RunCommand::new(root).call(input).map(|output| output.text)
}

fn run(command: &str) -> Result<String, String> {
    run_in(Path::new("."), command, 60)
}

#[test]
fn the_exit_code_and_both_streams_are_told() {
    assert_eq!(
        run("echo out; echo err >&2").unwrap(),
        "exit code 0\nout\nerr"
    );
    assert_eq!(run("true").unwrap(), "exit code 0, no output");
    assert_eq!(run("echo no; exit 3").unwrap_err(), "exit code 3\nno");
    assert_eq!(
        run("kill -9 $$").unwrap_err(),
        "ended by signal 9, no output"
    );
    assert_eq!(
        run("cat").unwrap(),
        "exit code 0, no output",
        "there is no input"
    );
    assert_eq!(run("printf '\\377'").unwrap(), "exit code 0\n\u{fffd}");
}

#[test]
fn a_command_runs_in_the_work_tree() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("here"), "").unwrap();
    assert_eq!(run_in(dir.path(), "ls", 60).unwrap(), "exit code 0\nhere");
}

#[test]
fn long_output_keeps_its_beginning_and_its_end() {
    let text = run("echo first; yes | head -c 1000000; echo last").unwrap();
    assert!(text.starts_with("exit code 0\nfirst\ny\n"));
    assert!(text.ends_with("y\nlast"));
    assert!(text.len() < RESULT_CHARS + 200, "{}", text.len());
}

#[test]
fn a_command_that_takes_too_long_is_killed() {
    let error = run_in(Path::new("."), "sleep 1000", 1).unwrap_err();
    assert_eq!(error, "killed after 1 s, no output");
}

/// Returns true once nobody holds the other end of a pipe any more; gives up after a while.
fn is_closed(pipe: &File) -> bool {
    let patience = Timespec::try_from(Duration::from_secs(20)).unwrap();
    let mut fds = [PollFd::new(pipe, PollFlags::empty())];
    poll(&mut fds, Some(&patience)).unwrap() == 1
}

#[test]
fn a_command_is_killed_with_its_children() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    // The grandchild holds the pipe open for as long as it lives.
    let command = "(sh -c 'exec 3>pipe; echo there >&3; sleep 1000') & wait";
    let spawn = || process::spawn_shell(command, dir.path(), ProcessGroup::Own);
    let (child, output, killed) = interrupt::spawn_group(spawn).unwrap();
    let mut reader = BufReader::new(File::open(pipe).unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert_eq!(line, "there\n");
    let ended = wait_with_timeout(child, output, &killed, Duration::ZERO).unwrap();
    assert_eq!(ended.status, None);
    assert!(is_closed(reader.get_ref()), "it is gone");
}

#[test]
fn what_is_left_in_the_background_does_not_hold_the_loop_up() {
    let started = Instant::now();
    let text = run("sleep 1000 & echo $!").unwrap();
    assert!(started.elapsed() < Duration::from_secs(30));
    let pid = text.strip_prefix("exit code 0\n").unwrap().parse().unwrap();
    let pid = Pid::from_raw(pid).unwrap();
    // It was left alone.
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
}
