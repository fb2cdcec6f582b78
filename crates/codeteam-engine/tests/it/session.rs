//! A session leads itself through a run: its checkout is taken as it is, real checks judge it in a
//! scratch checkout, and its branch, index and files stay as they are.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use codeteam_core::frame::FrameOutcome;
use codeteam_core::frame::QuestionKind;
use codeteam_core::ids::{AttemptId, FramePath};
use codeteam_core::input::Decision;
use codeteam_core::operator::Operator;
use codeteam_core::session::{SessionTurn, next_turn};
use codeteam_engine::Engine;
use codeteam_engine::engine::RunRequest;
use codeteam_engine::session::{self, SessionEnd, SessionRun};
use codeteam_host::store;
use serde_json::{Value, json};

use crate::bench::EngineFixture;

const LONG: Duration = Duration::from_mins(2);

/// A user's checkout with a task under way in it.
struct SessionTask {
    bench: EngineFixture,
    engine: Arc<Engine>,
    session: SessionRun,
}

impl SessionTask {
    fn new(config: &str) -> Self {
        Self::on(EngineFixture::new(), config)
    }

    fn on(bench: EngineFixture, config: &str) -> Self {
        let top = bench.engine.repo.top_level().to_owned();
        fs::create_dir_all(top.join(".codeteam")).unwrap();
        fs::write(top.join(".codeteam/config.yml"), config).unwrap();
        let request = RunRequest {
            goal: "Add a password reset".to_owned(),
            ..RunRequest::default()
        };
        let codeteam = env!("CARGO_BIN_EXE_engine-shim").into();
        let env = bench.engine.env.clone();
        let (engine, started) = session::prepare(&top, env, codeteam, &request).unwrap();
        let session = SessionRun::start(&engine, started, "a test").unwrap();
        Self {
            bench,
            engine,
            session,
        }
    }

    fn top(&self) -> PathBuf {
        self.engine.repo.top_level().to_owned()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.top().join(name), text).unwrap();
    }

    fn turn(&self) -> SessionTurn {
        assert!(
            self.session.wait_for_turn(LONG),
            "{:?}",
            self.session.state()
        );
        next_turn(&self.session.state().run)
    }

    /// The step that the session is at.
    fn at(&self) -> AttemptId {
        match self.turn() {
            SessionTurn::Work(id) => id,
            other => panic!("{other:?}"),
        }
    }

    fn submit(&self, answer: &Value) {
        let id = self.at();
        self.session.submit(&id, answer.to_string()).unwrap();
    }

    /// Leads it to the coder.
    fn design(&self) {
        assert_eq!(self.at().step.as_str(), "ba");
        self.submit(&json!({"confirmed_requirements": "reset by mail"}));
        assert_eq!(self.at().step.as_str(), "architect");
        self.submit(&json!({"design": "reuse tokens", "patterns": ["services"]}));
        assert_eq!(self.at().step.as_str(), "coder");
    }

    fn code(&self) {
        self.submit(
            &json!({"summary": "did it", "files_changed": ["reset.txt"], "proof": "$ true"}),
        );
    }

    fn approve(&self) {
        self.submit(&json!({"approved": true, "reason": "seen"}));
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "what the user's own git would say is asked of it"
    )]
    fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .current_dir(self.top())
            .args(args)
            .env("HOME", self.bench.path("home"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn branch(&self) -> String {
        self.session.state().run.branch.clone()
    }

    /// The first lines of what is on the run's branch, the oldest first.
    fn subjects(&self) -> Vec<String> {
        let range = format!("HEAD..{}", self.branch());
        let log = self.git(&["log", "--reverse", "--format=%s", &range]);
        log.lines().map(str::to_owned).collect()
    }
}

const GATE: &str =
    "verification:\n  commands:\n    - name: tests\n      command: grep -q works reset.txt\n";

#[test]
fn from_start_to_end_with_the_messages_of_a_team_and_the_users_checkout_as_it_was() {
    let task = SessionTask::new(GATE);
    let (head, branch) = (
        task.git(&["rev-parse", "HEAD"]),
        task.git(&["branch", "--show-current"]),
    );
    task.design();
    task.write("reset.txt", "broken\n");
    task.code();
    let id = task.at();
    assert_eq!(
        (id.step.as_str(), id.generation),
        ("coder", 2),
        "the check found it out"
    );
    let run = task.session.state().run;
    let told = codeteam_core::assignment::build_assignment(&run, &id).unwrap();
    assert!(
        told.feedback.messages[0].contains("`tests` failed"),
        "{told:?}"
    );
    task.write("reset.txt", "works\n");
    task.code();
    assert_eq!(task.at().step.as_str(), "qa");
    task.approve();
    assert_eq!(task.at().step.as_str(), "reviewer");
    task.approve();
    assert_eq!(task.turn(), SessionTurn::Over);
    assert_eq!(
        task.session.state().end,
        Some(SessionEnd::Over(FrameOutcome::Completed))
    );
    assert_eq!(
        task.subjects(),
        [
            "team(architect): design submitted",
            "team(coder): iteration 1",
            "team(coder): iteration 2 - address verify feedback",
            "team(complete): Add a password reset [qa:✓ reviewer:✓]",
        ]
    );
    let verified = task.git(&[
        "log",
        "--format=%(trailers:key=Codeteam-Verified,valueonly,separator=%x2C)",
        &format!("HEAD..{}", task.branch()),
    ]);
    let verified: Vec<&str> = verified.lines().filter(|l| !l.is_empty()).collect();
    let tree = task.git(&["rev-parse", &format!("{}^{{tree}}", task.branch())]);
    assert_eq!(verified, [tree.as_str()], "only what was approved");
    assert_eq!(task.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(task.git(&["branch", "--show-current"]), branch);
    assert_eq!(task.git(&["diff", "--cached", "--name-only"]), "");
    assert_eq!(
        fs::read_to_string(task.top().join("reset.txt")).unwrap(),
        "works\n"
    );
    let kept = task.git(&["for-each-ref", "--format=%(refname)", "refs/codeteam"]);
    assert_eq!(kept, "", "nothing is left that a branch does not have");
}

/// Takes a task to its end in one round.
fn finish(task: &SessionTask) {
    task.design();
    task.write("reset.txt", "works\n");
    task.code();
    assert_eq!(task.at().step.as_str(), "qa");
    task.approve();
    task.approve();
    assert_eq!(task.turn(), SessionTurn::Over);
    assert_eq!(
        task.session.state().end,
        Some(SessionEnd::Over(FrameOutcome::Completed))
    );
}

#[test]
fn on_the_users_own_branch_there_is_one_commit_at_the_end_and_no_file_is_touched() {
    let task = SessionTask::new(&format!("{GATE}git: {{ mode: current }}\n"));
    let head = task.git(&["rev-parse", "HEAD"]);
    let stamp = || {
        let file = fs::metadata(task.top().join("reset.txt")).unwrap();
        file.modified().unwrap()
    };
    task.design();
    task.write("reset.txt", "works\n");
    let before = stamp();
    task.code();
    assert_eq!(task.at().step.as_str(), "qa");
    assert_eq!(task.git(&["rev-parse", "HEAD"]), head);
    task.approve();
    task.approve();
    assert_eq!(task.turn(), SessionTurn::Over);
    let log = task.git(&["log", "--format=%s", &format!("{head}..HEAD")]);
    assert_eq!(
        log,
        "team(complete): Add a password reset [qa:✓ reviewer:✓]"
    );
    let status = task.git(&["status", "--porcelain", "--", ".", ":!.codeteam"]);
    assert_eq!(status, "");
    assert_eq!(stamp(), before);
    assert_eq!(task.git(&["branch", "--list", "codeteam/*"]), "");
}

#[test]
fn without_commits_a_patch_is_left() {
    let task = SessionTask::new(&format!("{GATE}git: {{ mode: none }}\n"));
    let head = task.git(&["rev-parse", "HEAD"]);
    finish(&task);
    assert_eq!(task.git(&["rev-parse", "HEAD"]), head);
    let folder = task
        .engine
        .folder
        .join("runs")
        .join(task.session.id().as_str());
    let patch = fs::read_to_string(folder.join("changes.patch")).unwrap();
    assert!(patch.contains("+works"), "{patch}");
}

#[test]
fn the_files_of_a_run_are_those_of_the_seed() {
    let task = SessionTask::new(GATE);
    task.design();
    task.write("reset.txt", "works\n");
    task.code();
    assert_eq!(task.at().step.as_str(), "qa");
    task.submit(&json!({"approved": false, "reason": "no test", "issues": ["no test"]}));
    task.write("reset.txt", "works, tested\n");
    task.code();
    assert_eq!(task.at().step.as_str(), "qa");
    task.approve();
    task.approve();
    assert_eq!(task.turn(), SessionTurn::Over);
    let folder = task
        .engine
        .folder
        .join("runs")
        .join(task.session.id().as_str());
    let mut names: Vec<String> = fs::read_dir(folder.join("iterations"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "01_coder.md",
            "01_qa_review.md",
            "01_verify.md",
            "02_coder.md",
            "02_qa_review.md",
            "02_reviewer_review.md",
            "02_verify.md",
        ]
    );
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert!(read("task.md").contains("Add a password reset"));
    assert!(read("requirements.md").contains("reset by mail"));
    assert!(read("design.md").contains("reuse tokens"));
    let summary = read("summary.md");
    for part in [
        "## Result: ✅ SUCCESS",
        "| 1 | qa | ❌ Rejected",
        "| 2 | reviewer | ✅ Approved |",
        "**Coder iterations:** 2",
        "- reset.txt (new)",
        "- **Commits:** 4",
        "codeteam merge",
    ] {
        assert!(summary.contains(part), "{part}: {summary}");
    }
}

#[test]
fn what_is_edited_after_the_snapshot_is_noticed_and_not_committed() {
    let task = SessionTask::new(GATE);
    task.design();
    task.write("reset.txt", "works\n");
    task.code();
    assert_eq!(task.at().step.as_str(), "qa");
    task.write("reset.txt", "works, but for a backdoor\n");
    task.approve();
    task.approve();
    assert_eq!(task.turn(), SessionTurn::Over);
    let kept = task.git(&["show", &format!("{}:reset.txt", task.branch())]);
    assert_eq!(kept, "works");
    let mut edited = Vec::new();
    task.engine
        .each_event(task.session.id(), 0, |_, _, event| {
            if let codeteam_core::Event::SubmissionReceived { edited: files, .. } = event
                && !files.is_empty()
            {
                edited.push(files);
            }
        })
        .unwrap();
    assert_eq!(edited, [["reset.txt"], ["reset.txt"]]);
}

#[test]
fn what_was_not_committed_when_it_began_is_the_base_and_not_part_of_the_change() {
    let bench = EngineFixture::new();
    let top = bench.engine.repo.top_level().to_owned();
    fs::write(top.join("notes.txt"), "half a thought\n").unwrap();
    let task = SessionTask::on(bench, GATE);
    task.design();
    // Nothing was changed by the session.
    task.code();
    let id = task.at();
    assert_eq!((id.step.as_str(), id.attempt), ("coder", 2));
    task.write("reset.txt", "works\n");
    task.code();
    assert_eq!(task.at().step.as_str(), "qa");
    let run = task.session.state().run;
    let change = run.frames[&FramePath::root()].change.clone().unwrap();
    assert_eq!(change.files, ["reset.txt"]);
}

#[test]
fn a_session_dies_and_another_goes_on_but_not_two_at_once() {
    let task = SessionTask::new(GATE);
    task.design();
    let (engine, run) = (Arc::clone(&task.engine), task.session.id().clone());
    let held = SessionRun::attach(&engine, &run, "another");
    let Err(codeteam_engine::driver::Error::Store(store::Error::Held { label, .. })) = held else {
        panic!("two lead it");
    };
    assert_eq!(label, "a test");
    assert_eq!(
        session::open_runs(&engine).unwrap().as_slice(),
        std::slice::from_ref(&run)
    );
    let before = task.at();
    drop(task.session);
    let session = SessionRun::attach(&engine, &run, "another").unwrap();
    assert!(session.wait_for_turn(LONG));
    assert_eq!(next_turn(&session.state().run), SessionTurn::Work(before));
    session.abort("a test", "enough").unwrap();
    assert!(session.wait_for_turn(LONG));
    assert!(matches!(
        session.state().end,
        Some(SessionEnd::Over(FrameOutcome::Aborted(_)))
    ));
    assert_eq!(session::open_runs(&engine).unwrap(), []);
}

#[test]
fn a_person_outside_takes_what_checks_reject_and_gives_the_run_to_workers() {
    let task = SessionTask::new(&format!("worker: scripted\n{GATE}"));
    task.design();
    task.write("reset.txt", "broken\n");
    task.code();
    assert_eq!(task.at().step.as_str(), "coder");
    let (engine, run) = (Arc::clone(&task.engine), task.session.id().clone());
    let accept = Decision::Accept {
        frame: None,
        note: "known".to_owned(),
    };
    engine.post_decision(&run, &accept).unwrap();
    let accepted = || matches!(task.turn(), SessionTurn::Work(id) if id.step.as_str() == "qa");
    until(accepted);
    task.approve();
    assert_eq!(task.at().step.as_str(), "reviewer");
    // Rejected by a role, it goes back; and from there to workers, with what is half made.
    task.submit(&json!({"approved": false, "reason": "no", "issues": ["no test"]}));
    assert_eq!(task.at().step.as_str(), "coder");
    task.write("reset.txt", "half\n");
    let made = session::unsubmitted(&engine, &task.session.state().run).unwrap();
    let made = made.expect("something was made");
    let tree = made.tree.clone();
    let give = Decision::Reassign {
        to: Operator::Workers,
        change: Some(Box::new(made)),
    };
    engine.post_decision(&run, &give).unwrap();
    until(|| task.session.state().end == Some(SessionEnd::HandedOver));
    let run = engine.load_run(&run).unwrap();
    assert_eq!(run.operator, Operator::Workers);
    assert_eq!(run.frames[&FramePath::root()].tree, tree);
}

#[test]
fn questions_are_passed_on_and_no_answer_approves_anything() {
    let task = SessionTask::new("verification: {}\n");
    let ba = task.at();
    let questions = json!({"questions": ["mail or text?"]}).to_string();
    task.session.submit(&ba, questions).unwrap();
    let SessionTurn::Ask(question) = task.turn() else {
        panic!("it asks");
    };
    assert_eq!(question.kind, QuestionKind::Analyst);
    task.session.reply("a test", &question.id, "mail").unwrap();
    assert_eq!(task.at().step.as_str(), "architect");
    // Said again, it is for a question that is over.
    task.session.reply("a test", &question.id, "mail").unwrap();
    assert_eq!(task.at().step.as_str(), "architect");
    let refused = task.session.last_refusal().unwrap();
    assert_eq!(refused, "that question is no longer open");
    let stale = task.session.submit(&ba, "{}".to_owned()).unwrap_err();
    assert_eq!(stale, "this assignment is over");
}

/// Waits for what another thread does, as long as it takes within reason.
fn until(done: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !done() {
        assert!(start.elapsed() < LONG, "it does not happen");
        std::thread::yield_now();
    }
}
