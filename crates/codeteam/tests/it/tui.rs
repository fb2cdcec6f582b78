//! The screen at a real terminal: it shows runs that others drive, takes decisions, and gives the
//! terminal back however it ends. The screens themselves are tested in codeteam-tui, as text.

use std::os::unix::process::CommandExt as _;

use rustix::process::Signal;

use crate::project::Project;
use crate::pty::Terminal;

/// A task that a person judges.
const TEAM: &str = r#"
version: 1
plays:
  - match: { role: coder }
    do:
      - text: Writing greet.sh
      - write: { path: greet.sh, content: "echo round {{round}}\n" }
      - submit: { summary: "Wrote round {{round}}", files_changed: [greet.sh], proof: Ran it }
  - match: { kind: scribe }
    do: [ { submit: { message: Write greet.sh. } } ]
"#;

const JUDGED: &str = r"
start: code
roles: { coder: { kind: implementer } }
steps:
  code: { role: coder, next: judge }
  judge:
    person: Acceptable?
    answers:
      accept: commit
      reject: { next: code, rejects: true }
  commit: { commit: branch, next: done }
";

/// What takes the terminal over, and what gives it back.
const ENTERS: &str = "\u{1b}[?1049h";
const LEAVES: &str = "\u{1b}[?1049l";

/// A project with a run that waits for a person, and that nobody drives.
fn waiting_project() -> Project {
    let project = Project::new();
    let (script, flow) = (project.script(TEAM), project.workflow(JUDGED));
    let args = ["run", "Greet", "--script", &script, "--workflow", &flow];
    project.run(&args).expect(3);
    project
}

/// Starts a run that the screen shows and drives.
fn on_screen(project: &Project) -> Terminal {
    let (script, flow) = (project.script(TEAM), project.workflow(JUDGED));
    let args = [
        "run",
        "Greet",
        "--tui",
        "--script",
        &script,
        "--workflow",
        &flow,
    ];
    project.terminal(&args)
}

#[test]
fn a_run_that_nobody_drives_is_shown_and_decided() {
    let project = waiting_project();
    let mut screen = project.terminal(&["tui"]);
    screen.sees("inbox(1)");
    screen.sees("Acceptable?");
    assert!(!screen.is_whole());
    screen.keys("\r");
    screen.sees("[A]pprove");
    screen.keys("d");
    screen.sees("+echo");
    screen.keys("\u{1b}");
    screen.sees("[A]pprove");
    screen.keys("A");
    // Nobody drives the run, and the screen says so as the command does.
    screen.sees("kept:");
    screen.keys("q");
    screen.until_raw(LEAVES);
    // The modes of the terminal are given back after its screen.
    screen.wait();
    assert!(screen.is_whole());
    screen.end(0);
    let kept = &project.shown_run()["kept_decisions"][0]["decision"];
    assert_eq!(kept["answer"], "accept", "{kept}");
}

#[test]
fn a_run_is_driven_and_decided_on_the_screen() {
    let project = Project::new();
    let mut screen = on_screen(&project);
    screen.sees("Acceptable?");
    screen.keys("\r");
    screen.sees("[A]pprove");
    screen.keys("r");
    screen.sees("wrong?");
    screen.keys("Say hello\r");
    screen.sees("code, visit 2");
    // The second round asks again, and is opened from the tree.
    screen.sees("Acceptable?");
    screen.keys("\r");
    screen.sees("[A]pprove");
    screen.keys("a");
    screen.sees("it has ended");
    screen.keys("q");
    let text = screen.end(0);
    assert!(text.contains("codeteam merge"), "{text}");
    let answers = project.events();
    let answers = answers.iter().filter(|e| e["event"]["type"] == "answered");
    let answers: Vec<_> = answers.map(|e| e["event"]["answer"].clone()).collect();
    assert_eq!(answers, ["reject", "accept"]);
    assert_eq!(project.committed_file("greet.sh").trim(), "echo round 2");
}

#[test]
fn of_two_who_decide_one_is_told_that_it_is_decided() {
    let project = Project::new();
    let mut screen = on_screen(&project);
    screen.sees("Acceptable?");
    screen.keys("\r");
    screen.sees("[A]pprove");
    // Somebody else is faster, in another terminal.
    project.run(&["reject", "-m", "Say hello"]).expect(0);
    screen.sees("longer");
    screen.keys("a");
    screen.sees("nothing");
    // The question of the next round is another one.
    screen.keys("\u{1b}");
    screen.sees("code, visit 2");
    screen.sees("Acceptable?");
    screen.keys("\r");
    screen.sees("[A]pprove");
    screen.keys("a");
    screen.sees("it has ended");
    screen.keys("q");
    screen.end(0);
    assert_eq!(project.count("answered"), 2);
    assert_eq!(project.committed_file("greet.sh").trim(), "echo round 2");
}

#[test]
fn two_screens_that_decide_at_once_decide_once() {
    const LATE: &str = "no longer open";
    const ENDED: &str = "it has ended";
    let project = Project::new();
    let mut driving = on_screen(&project);
    driving.sees("Acceptable?");
    let mut other = project.terminal(&["tui"]);
    other.sees("inbox(1)");
    for screen in [&mut driving, &mut other] {
        screen.keys("\r");
        screen.sees("[A]pprove");
    }
    driving.keys("a");
    other.keys("a");
    // Whoever is too late is told so, and their panel stays with what they have noted. The run ends on
    // the first screen whoever decided, and leaving before that would ask.
    if driving.sees_one_of(&[ENDED, "done > question"]) != ENDED {
        driving.sees_one_of(&[ENDED, LATE]);
    }
    if other.sees_one_of(&["nothing needs you", LATE]) == LATE {
        other.keys("\x1b");
        other.sees("nothing needs you");
    }
    other.keys("q");
    other.end(0);
    driving.keys("q");
    driving.end(0);
    assert_eq!(project.count("answered"), 1);
    assert_eq!(project.count("committed"), 1);
}

#[test]
fn the_question_that_is_named_is_the_one_that_is_answered() {
    let project = waiting_project();
    let stale = "run:judge.1.0.1#99";
    for verb in [&["approve"][..], &["reject"][..]] {
        let mut args = verb.to_vec();
        let named = format!("--question={stale}");
        args.push(&named);
        project
            .run(&args)
            .expect(2)
            .says(&["the question `run:judge.1.0.1#99` is no longer open"]);
    }
    let asked = &project.shown_run()["questions"][0]["id"];
    let part = |key: &str| asked[key].to_string().replace('"', "");
    let id = format!(
        "{}:{}.{}.{}.{}#{}",
        part("frame"),
        part("step"),
        part("generation"),
        part("slot"),
        part("attempt"),
        part("fence")
    );
    project
        .run(&["answer", &format!("--question={id}"), "accept"])
        .expect(0);
    assert_eq!(
        project.shown_run()["kept_decisions"][0]["decision"]["answer"],
        "accept"
    );
}

#[test]
fn leaving_stops_a_run_that_is_driven_here() {
    let project = Project::new();
    let mut screen = on_screen(&project);
    screen.sees("Acceptable?");
    screen.keys("q");
    screen.sees("driven");
    screen.keys("y");
    screen.until_raw(LEAVES);
    let text = screen.end(3);
    assert!(text.contains("codeteam resume"), "{text}");
}

#[test]
fn without_a_terminal_it_says_what_shows_the_same() {
    let project = waiting_project();
    for args in [&["tui"][..], &["run", "Greet", "--tui"][..]] {
        project
            .run(args)
            .expect(2)
            .says(&["the screen needs a terminal", "codeteam status"]);
    }
    let mut dumb = project.codeteam(&["tui"]);
    dumb.env_remove("TERM");
    let screen = Terminal::start(dumb, &[("TERM", "dumb")]);
    let text = screen.end(2);
    assert!(text.contains("cannot move its cursor"), "{text}");
}

#[test]
fn the_terminal_is_whole_again_after_a_signal() {
    let project = waiting_project();
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let mut screen = project.terminal(&["tui"]);
        screen.sees("inbox(1)");
        assert!(!screen.is_whole());
        screen.signal(signal);
        screen.until_raw(LEAVES);
        screen.wait();
        assert!(screen.is_whole(), "{signal:?}");
    }
    // A run that is driven here is stopped first.
    let project = Project::new();
    let mut screen = on_screen(&project);
    screen.sees("Acceptable?");
    screen.signal(Signal::TERM);
    screen.until_raw(LEAVES);
    screen.until("stopping");
    screen.wait();
    assert!(screen.is_whole());
    let status = project.run(&["status"]).expect(0).stdout;
    assert!(status.starts_with("waiting"), "{status}");
}

#[test]
fn the_terminal_is_whole_again_after_a_panic() {
    let project = waiting_project();
    // The first frame is drawn before anything was read, and the second one once the runs were.
    for drawn in ["drawn:1", "drawn:2"] {
        let env = [("CODETEAM_FAILPOINT", drawn)];
        let mut screen = project.terminal_with(&["tui"], &env);
        screen.until_raw(ENTERS);
        screen.until_raw(LEAVES);
        // What has happened can be read, on the terminal's own screen.
        screen.until("a test wants the screen to fail here");
        screen.wait();
        assert!(screen.is_whole(), "{drawn}");
        screen.end(101);
    }
}

#[test]
fn no_key_waits_for_another_one_if_the_terminal_changes_meanwhile() {
    let project = waiting_project();
    let mut screen = project.terminal(&["tui"]);
    screen.sees("inbox(1)");
    screen.keys(":");
    let mut typed = String::from(":");
    for n in 0..60_u8 {
        let key = char::from(b'a' + n % 26).to_string();
        screen.resize(if n % 2 == 0 { 90 } else { 100 });
        screen.keys(&key);
        typed.push_str(&key);
        // No other key is pressed before this one is seen.
        screen.sees(&typed);
    }
    screen.keys("\u{1b}");
    screen.sees("? keys");
    screen.keys("q");
    screen.end(0);
}

#[test]
fn commands_are_completed_as_the_program_knows_them() {
    let project = waiting_project();
    let mut screen = project.terminal(&["tui"]);
    screen.sees("inbox(1)");
    screen.keys(":dele\t--to\t");
    screen.sees(":delegate --to");
    screen.keys("\u{1b}");
    screen.sees("? keys");
    screen.keys("q");
    screen.end(0);
}

/// A coder that prints so many lines, of which one is another one.
fn talkative_team(lines: usize) -> String {
    let run = format!("seq 1 {lines}; echo nee''dle in the hay; seq 1 200");
    TEAM.replace("text: Writing greet.sh", &format!("run: \"{run}\""))
}

#[test]
fn a_long_output_is_searched_in_the_real_program() {
    let project = Project::new();
    let script = project.script(&talkative_team(20_000));
    let flow = project.workflow(JUDGED);
    let args = ["run", "Greet", "--script", &script, "--workflow", &flow];
    project.run(&args).expect(3);
    let mut screen = project.terminal(&["tui"]);
    screen.sees("inbox(1)");
    // The tree, the first attempt in it, and its output.
    screen.keys("3");
    screen.sees("[3 run]");
    screen.sees("driver");
    screen.keys("gjL");
    screen.sees("output of run coder");
    screen.keys("g");
    // The beginning is there: what is searched before that is the end, which had been loaded first.
    screen.sees("seq 1 20000");
    screen.keys("/needle\r");
    screen.sees("needle in the hay");
    screen.keys("q");
    screen.end(0);
}

#[test]
fn a_screen_without_its_terminal_ends() {
    let project = waiting_project();
    let mut screen = project.terminal(&["tui"]);
    screen.sees("inbox(1)");
    // No signal says so: the test's terminals control nobody.
    screen.hang_up();
    let mut driving = on_screen(&project);
    driving.sees("Acceptable?");
    driving.hang_up();
    let status = project.run(&["status"]).expect(0).stdout;
    assert!(status.starts_with("waiting"), "{status}");
}

#[test]
fn the_shell_gets_the_terminal_and_gives_it_back() {
    let project = waiting_project();
    let mut command = project.codeteam(&["tui"]);
    // As a shell starts it. A group without a shell cannot be stopped.
    command.process_group(0);
    let mut screen = Terminal::start(command, &[]);
    screen.until_raw(ENTERS);
    screen.sees("inbox(1)");
    screen.keys("\u{1a}");
    screen.until_raw(LEAVES);
    screen.continue_when_stopped();
    screen.until_raw(ENTERS);
    screen.sees("inbox(1)");
    screen.resize(60);
    screen.sees("inbox(1)");
    screen.keys("\u{1b}[200~q\u{1b}[201~");
    screen.sees("pasted");
    screen.keys("q");
    screen.end(0);
}

#[test]
fn a_run_at_a_terminal_offers_the_screen() {
    let project = Project::new();
    let (script, flow) = (project.script(TEAM), project.workflow(JUDGED));
    let args = ["run", "Greet", "--script", &script, "--workflow", &flow];
    let mut lines = project.terminal(&args);
    lines.until("`codeteam tui` in another terminal, or `codeteam run --tui`");
    lines.until("Acceptable?");
    drop(lines);
    // Where there can be no screen, none is offered.
    let mut lines = project.terminal_with(&args, &[("TERM", "dumb")]);
    lines.until("Acceptable?");
    assert!(!lines.seen().contains("codeteam tui"), "{}", lines.seen());
}

/// A tmux server of a test's own.
struct TmuxServer<'a> {
    project: &'a Project,
    socket: String,
}

impl<'a> TmuxServer<'a> {
    fn new(project: &'a Project) -> Self {
        let socket = project.home().join("tmux").display().to_string();
        Self { project, socket }
    }

    /// Calls tmux at a terminal of its own.
    fn terminal(&self, args: &[&str]) -> Terminal {
        let own = ["-S", &self.socket, "-f", "/dev/null"];
        let command = self.project.tool("tmux", &[&own, args].concat());
        Terminal::start(command, &[])
    }
}

impl Drop for TmuxServer<'_> {
    fn drop(&mut self) {
        let args = ["-S", &self.socket, "kill-server"];
        // If the last window is closed, there is no server any more.
        let _ = self.project.tool("tmux", &args).output();
    }
}

#[test]
fn a_screen_in_tmux_outlives_its_terminal() {
    let project = waiting_project();
    let server = TmuxServer::new(&project);
    let screen = format!("'{}' tui", env!("CARGO_BIN_EXE_codeteam"));
    let mut first = server.terminal(&["new-session", "-s", "decide", &screen]);
    first.sees("inbox(1)");
    first.keys("\r");
    first.sees("[A]pprove");
    // Whoever detaches finds the screen as they have left it.
    first.keys("\u{2}d");
    first.until("[detached");
    first.end(0);
    let mut second = server.terminal(&["attach-session", "-t", "decide"]);
    second.until("[A]pprove");
    second.keys("A");
    second.sees("kept:");
    second.keys("q");
    second.until("[exited]");
    second.end(0);
    let kept = &project.shown_run()["kept_decisions"][0]["decision"];
    assert_eq!(kept["answer"], "accept", "{kept}");
}

#[test]
fn a_screen_that_is_killed_takes_nothing_with_it() {
    let project = waiting_project();
    let mut screen = project.terminal(&["tui"]);
    screen.sees("inbox(1)");
    // The run is resumed from the screen, by a process of its own.
    screen.keys("3u");
    screen.sees("Go on with this run?");
    screen.keys("y");
    let mut log = project.terminal(&["log", "--follow"]);
    log.until("taken up again where it stood");
    screen.kill();
    project.run(&["approve"]).expect(0);
    log.until("the run is done");
    assert_eq!(project.committed_file("greet.sh").trim(), "echo round 1");
}
