//! The diagnostic log: what it tells, what it must not tell, and that nobody notices it otherwise.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::misbehaviour::ONE;
use crate::project::{CommandResult, Project};
use crate::samples::ONE_TASK;

/// Like nobody's but the user's own.
const OWN: &str = "correct-horse-battery-staple";

/// A change, a person who judges it, and a commit.
const JUDGED: &str = "
name: judged
start: code
steps:
  code: { role: coder, next: judge }
  judge:
    person: Is it right?
    answers: { accept: commit, reject: { next: code, rejects: true } }
  commit: { commit: branch, next: done }
";

/// The log if no file is named.
fn usual_place(project: &Project) -> PathBuf {
    project.home().join(".local/state/codeteam/debug.log")
}

/// Runs codeteam with variables.
fn run(project: &Project, args: &[&str], variables: &[(&str, &str)]) -> CommandResult {
    let mut command = project.codeteam(args);
    command.envs(variables.iter().copied());
    CommandResult::from(command.output().unwrap())
}

/// The lines of a log, each of which begins with the time and the id of a process.
#[track_caller]
fn lines(log: &Path) -> Vec<String> {
    let text = fs::read_to_string(log).unwrap();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (time, pid, level) = (words.next(), words.next(), words.next());
        let is_time = time.is_some_and(|time| time.starts_with("20") && time.ends_with('Z'));
        let is_pid = pid.is_some_and(|pid| pid.parse::<u32>().is_ok());
        let levels = ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"];
        let is_level = level.is_some_and(|level| levels.contains(&level));
        assert!(is_time && is_pid && is_level, "{line}");
    }
    text.lines().map(str::to_owned).collect()
}

/// Asserts that one line has all of these.
#[track_caller]
fn has_line(lines: &[String], parts: &[&str]) {
    let found = |line: &&String| parts.iter().all(|part| line.contains(part));
    assert!(
        lines.iter().any(|line| found(&line)),
        "no line with {parts:?} in\n{}",
        lines.join("\n")
    );
}

#[test]
fn a_run_tells_of_its_frames_attempts_commands_and_messages() {
    let project = Project::new();
    let script = project.script(ONE_TASK);
    let workflow = project.workflow(JUDGED);
    let log = [("CODETEAM_LOG", "debug")];
    let args = ["run", "x", "--script", &script, "--workflow", &workflow];
    run(&project, &args, &log).expect(3);
    run(&project, &["approve"], &log).expect(0);
    run(&project, &["resume"], &log).expect(0);

    let place = usual_place(&project);
    let mode = fs::metadata(&place).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let lines = lines(&place);
    let attempt = ["run{id=", "frame{path=run}", "attempt{step=code "];
    let inside = |parts: &[&'static str]| [&attempt[..], parts].concat();
    for parts in [
        inside(&["effect started: worker", "in_flight=1"]),
        inside(&["effect finished", "in_flight=0", "failed=false"]),
        inside(&["codeteam_host::git", "git diff", "exit status: 0", " ms"]),
        inside(&["codeteam_host::process", "started ", "agent --assignment"]),
        inside(&["codeteam_host::process", "ended ", "Exited(0)"]),
        // The worker is in a sandbox and does not see the file, but its lines are here.
        inside(&["codeteam_agent", "performing Submit"]),
        vec!["attempt{step=commit ", "effect started: integrate"],
        vec!["attempt{step=commit ", "git update-ref"],
        vec!["run{id=", "took the lease", "token=1"],
        vec!["run{id=", "took the lease", "token=2"],
        vec!["run{id=", "giving the lease back"],
        vec!["run{id=", "event submission_received"],
        vec!["posted a decision to the inbox"],
        vec!["run{id=", "took a message from the inbox"],
        vec!["run{id=", "stopped driving: Ended(Completed)"],
        vec!["ends with Waiting"],
    ] {
        has_line(&lines, &parts);
    }
    // Nothing of it is left in what the run itself keeps of its workers.
    let run = project.run(&["log", "-v"]).expect(0);
    assert!(!run.stdout.contains("performing"), "{}", run.stdout);
}

#[test]
fn what_was_asked_of_the_network_and_how_a_worker_ended_is_told() {
    let project = Project::new();
    let script = project.script(
        "version: 1\nplays:\n  - match: { role: coder }\n    do:\n      - run: \"curl -s http://example.org/ || wget -q http://example.org/ || \
         python3 -c \\\"import urllib.request as u; u.urlopen('http://example.org/')\\\" || true\"\n      - hang: { ignore_term: false }\n",
    );
    let flow = ONE.replace("timeout_seconds: 600", "timeout_seconds: 6");
    let flow = flow.replace("max_attempts: 4", "max_attempts: 1");
    let workflow = project.workflow(&flow);
    let file = project.home().join("log");
    let args = ["run", "x", "--script", &script, "--workflow", &workflow];
    let args = [&args[..], &["--log-file", file.to_str().unwrap()]].concat();
    run(&project, &args, &[]).expect(1);
    let lines = lines(&file);
    let attempt = "attempt{step=code ";
    has_line(&lines, &[attempt, "egress to example.org:80: Denied"]);
    has_line(&lines, &[attempt, "ended ", "TimedOut"]);
}

#[test]
fn no_secret_is_in_it() {
    let project = Project::new();
    let key = ["sk-ant-", "api03-", &"Ab3dE7gH1jK5mN9p".repeat(5)].concat();
    let server =
        "mcp_servers: { tickets: { command: x, env: { TICKETS_PASSWORD: hunter-two-hunter } } }\n";
    project.user_config(&format!("workflow: lean\n{server}"));
    project.config(&format!(
        "worker: scripted\nverification:\n  commands: [{{ name: leak, command: 'echo {OWN} {key} hunter-two-hunter' }}]\n"
    ));
    project.commit("a check that leaks");
    let script = project.script(ONE_TASK);
    let goal = format!("use {OWN} and {key}");
    let log = [("CODETEAM_LOG", "trace"), ("MY_API_KEY", OWN)];
    run(&project, &["run", &goal, "--script", &script], &log).expect(0);
    let lines = lines(&usual_place(&project));
    // They would be in the command line of codeteam and in those of the check.
    has_line(&lines, &["started as", "[redacted: "]);
    has_line(&lines, &["started ", "echo [redacted: "]);
    let text = lines.join("\n");
    for secret in [OWN, &key, "hunter-two-hunter"] {
        assert!(!text.contains(secret), "{secret}");
    }
}

/// A text without whatever differs from run to run: words with digits, and the project's folder.
fn alike(text: &str, project: &Project) -> String {
    let text = text.replace(project.root().parent().unwrap().to_str().unwrap(), "");
    let mask = |word: &str| {
        let differs = word.contains(|c: char| c.is_ascii_digit());
        if differs { "#" } else { word }.to_owned()
    };
    let words = |line: &str| line.split(' ').map(mask).collect::<Vec<_>>().join(" ");
    text.lines().map(words).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_printed_is_the_same_with_and_without_it() {
    let (plain, logged) = (Project::new(), Project::new());
    let log = [("CODETEAM_LOG", "trace")];
    for project in [&plain, &logged] {
        project.script(ONE_TASK);
    }
    let script = |project: &Project| project.home().join("script.yml").display().to_string();
    let run_one = |project: &Project, variables: &[(&str, &str)]| {
        run(
            project,
            &["-v", "run", "x", "--script", &script(project)],
            variables,
        )
        .expect(0)
    };
    let (without, with) = (run_one(&plain, &[]), run_one(&logged, &log));
    assert_eq!(alike(&with.stderr, &logged), alike(&without.stderr, &plain));
    assert_eq!(with.stdout, without.stdout);
    // The same project twice: to the byte.
    for args in [
        &["status"][..],
        &["status", "--json"],
        &["show", "--json"],
        &["log", "--json"],
        &["report"],
        &["config", "show"],
        &["map"],
        &["status", "no-such-run"],
    ] {
        let (without, with) = (run(&logged, args, &[]), run(&logged, args, &log));
        assert_eq!(with.code, without.code, "{args:?}");
        assert_eq!(with.stdout, without.stdout, "{args:?}");
        assert_eq!(with.stderr, without.stderr, "{args:?}");
    }
    assert!(usual_place(&logged).exists() && !usual_place(&plain).exists());
}

#[test]
fn several_processes_share_a_file() {
    let project = Project::new();
    let file = project.home().join("log");
    let start = |_| {
        let mut command = project.codeteam(&["--log-file", file.to_str().unwrap(), "status"]);
        command
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        command.spawn().unwrap()
    };
    let children: Vec<_> = (0..4).map(start).collect();
    let pids: Vec<String> = children
        .iter()
        .map(|child| child.id().to_string())
        .collect();
    for mut child in children {
        child.wait().unwrap();
    }
    let lines = lines(&file);
    for pid in &pids {
        let own = lines
            .iter()
            .filter(|line| line.split(' ').nth(1) == Some(pid));
        let own: Vec<String> = own.cloned().collect();
        has_line(&own, &["started as"]);
        has_line(&own, &["git ", " rev-parse "]);
        has_line(&own, &["ends with"]);
    }
}

#[test]
fn directives_choose_lines_and_a_log_that_cannot_be_is_an_error() {
    let project = Project::new();
    let file = project.home().join("log");
    let path = file.to_str().unwrap();
    let status = ["status", "--log-file", path];
    let log = |directives: &'static str| [("CODETEAM_LOG", directives)];
    run(&project, &status, &log("codeteam_host::git=debug,warn")).expect(0);
    let told = lines(&file);
    assert!(!told.is_empty() && told.iter().all(|line| line.contains("codeteam_host::git")));
    fs::remove_file(&file).unwrap();
    run(&project, &status, &log("off")).expect(0);
    assert!(!file.exists());
    run(&project, &["status"], &log("")).expect(0);
    assert!(!usual_place(&project).exists());

    let done = run(&project, &["status"], &log("codeteam_host=loud")).expect(2);
    assert_eq!(
        done.stderr,
        "error: `codeteam_host=loud` does not say what to log: what is after `=` is not a level\n  \
         hint: set `CODETEAM_LOG` to `error`, `warn`, `info`, `debug`, `trace` or `off`, or to levels \
         for some modules, such as `codeteam_host::git=debug,info`\n"
    );
    let missing = project.home().join("missing/log");
    let args = ["status", "--log-file", missing.to_str().unwrap()];
    let done = run(&project, &args, &[]).expect(1);
    let done = done.says(&[
        "could not open the log",
        "missing/log",
        "No such file or directory",
    ]);
    done.says(&["hint: name a file that you may write with `--log-file`"]);
    fs::create_dir_all(usual_place(&project)).unwrap();
    run(&project, &["status"], &log("info")).expect(1).says(&[
        "could not open the log",
        "debug.log",
        "Is a directory",
    ]);
}
