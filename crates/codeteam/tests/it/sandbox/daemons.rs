//! Everything that is started in a sandbox ends with it, however it hides: attack 25.

use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::json;

use super::{cast, coder, coder_of, reviewer, test_that_runs};
use crate::live::RunningCodeteam;
use crate::misbehaviour::ONE;
use crate::project::Project;

const PATIENCE: Timespec = Timespec {
    tv_sec: 20,
    tv_nsec: 0,
};

/// Returns a name that only the daemons of this project have on this machine.
fn name(project: &Project) -> String {
    let folder = project.root();
    let folder = folder.parent().unwrap().file_name().unwrap();
    format!("daemon-of-{}", folder.to_str().unwrap())
}

/// Starts processes that leave their group, their session, their folder, their environment and
/// their streams behind and are deaf to signals; goes on when both have said that they are what
/// they want to be. To count processes would not do: on the way there are more of them.
fn daemons(project: &Project) -> String {
    let name = name(project);
    format!(
        r#"
        rm -f /tmp/one /tmp/two
        perl -MPOSIX -e '
            exit if fork; setsid; exit if fork;
            chdir "/"; %ENV = (); $SIG{{$_}} = "IGNORE" for keys %SIG; POSIX::close($_) for 0..2;
            $0 = shift; open my $file, ">", "/tmp/one"; sleep 1 while 1' {name}
        setsid sh -c 'trap "" TERM INT HUP QUIT; : >/tmp/two; while :; do sleep 1; done' {name} >/dev/null 2>&1 &
        until test -e /tmp/one && test -e /tmp/two; do :; done"#
    )
}

/// The daemons that are there now.
fn running(project: &Project) -> Vec<Pid> {
    let name = name(project);
    let is_daemon = |pid: &str| {
        let command = std::fs::read(Path::new("/proc").join(pid).join("cmdline"));
        String::from_utf8_lossy(&command.unwrap_or_default()).contains(&name)
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|pid| is_daemon(pid))
        .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
        .collect()
}

#[track_caller]
fn all_gone(project: &Project) {
    assert_eq!(running(project), Vec::<Pid>::new());
    assert_eq!(project.survivors(), Vec::<String>::new());
}

/// Waits until nothing of the project is there any more. Nothing new can come while it ends.
fn ended(project: &Project) {
    let pid = |line: &String| Pid::from_raw(line.split(' ').next()?.parse().ok()?);
    loop {
        let mut left = running(project);
        left.extend(project.survivors().iter().filter_map(pid));
        let Some(process) = left.first() else {
            return;
        };
        // One that is gone by now need not be waited for.
        if let Ok(process) = pidfd_open(*process, PidfdFlags::empty()) {
            let mut fds = [PollFd::new(&process, PollFlags::IN)];
            assert_eq!(poll(&mut fds, Some(&PATIENCE)).unwrap(), 1, "it goes on");
        }
    }
}

fn start(project: &Project, workflow: &str, plays: &[serde_json::Value]) -> RunningCodeteam {
    let args = cast(project, workflow, plays);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    project.start(&args)
}

/// Says that it is here and waits until the test has looked.
fn stay(project: &Project, word: &str) -> String {
    let file = project.shown_folder().join(word);
    format!(
        "echo here: {word}; until test -e {}; do sleep 0.01; done",
        file.display()
    )
}

fn go_on(project: &Project, word: &str) {
    std::fs::write(project.shown_folder().join(word), "").unwrap();
}

#[test]
fn they_end_with_the_step_that_started_them() {
    let project = Project::new();
    let daemons = daemons(&project);
    let test = format!("{daemons}\n{}", stay(&project, "gate"));
    let plays = [
        coder(&format!(
            "{}\n{daemons}\n{}",
            test_that_runs(&test),
            stay(&project, "coder")
        )),
        reviewer(&stay(&project, "reviewer")),
    ];
    let mut run = start(&project, ONE, &plays);
    run.until(" | here: coder");
    assert!(running(&project).len() >= 2, "there is something to end");
    go_on(&project, "coder");
    run.until(" | here: gate");
    assert!(running(&project).len() >= 2, "the gate's");
    go_on(&project, "gate");
    run.until(" | here: reviewer");
    assert_eq!(running(&project), Vec::<Pid>::new());
    go_on(&project, "reviewer");
    run.end().expect(0);
    all_gone(&project);
}

#[test]
fn they_end_when_their_time_is_over() {
    let project = Project::new();
    let daemons = daemons(&project);
    let first = json!({ "role": "coder", "attempt": 1 });
    let plays = [
        coder_of(&first, &format!("{daemons}\necho here: coder; sleep 1000")),
        coder(&stay(&project, "again")),
        reviewer(""),
    ];
    let workflow = ONE.replace("timeout_seconds: 600", "timeout_seconds: 5");
    let mut run = start(&project, &workflow, &plays);
    run.until(" | here: coder");
    run.until(" | here: again");
    assert_eq!(running(&project), Vec::<Pid>::new());
    go_on(&project, "again");
    run.end().expect(0).says(&["it took longer than 5 s"]);
    all_gone(&project);
}

#[test]
fn they_end_with_an_abort() {
    let project = Project::new();
    let daemons = daemons(&project);
    let hang = format!("{daemons}\necho here: daemons; sleep 1000");
    let in_gate = test_that_runs(&hang);
    for plays in [
        [coder(&hang), reviewer("")],
        [coder(&in_gate), reviewer("")],
    ] {
        let mut run = start(&project, ONE, &plays);
        run.until(" | here: daemons");
        assert!(running(&project).len() >= 2);
        project.run(&["abort", "-m", "Enough"]).expect(0);
        run.end().expect(1);
        all_gone(&project);
    }
}

#[test]
fn they_end_when_codeteam_is_killed() {
    let project = Project::new();
    let daemons = daemons(&project);
    let hang = format!("{daemons}\necho here: daemons; sleep 1000");
    let in_gate = test_that_runs(&hang);
    for plays in [
        [coder(&hang), reviewer("")],
        [coder(&in_gate), reviewer("")],
    ] {
        let mut run = start(&project, ONE, &plays);
        run.until(" | here: daemons");
        assert!(running(&project).len() >= 2);
        run.kill();
        // Nobody resumes anything: they end by themselves.
        ended(&project);
        all_gone(&project);
    }
}
