//! Logins that were lent when codeteam was killed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use codeteam_core::frame::FrameOutcome;
use codeteam_core::ids::{AttemptId, EpochMillis, RunId};
use codeteam_core::input::Decision;
use codeteam_core::{Effect, Event, Run};
use codeteam_engine::clock::now;
use codeteam_engine::driver::{self, DriverOptions, RunObserver, StopReason};
use codeteam_engine::engine::{Project, RunRequest};
use codeteam_engine::maintenance::prune;
use codeteam_engine::worker_clis::CLAUDE;
use codeteam_host::process::CancelToken;
use rustix::process::{Resource, getrlimit};

use crate::bench::EngineFixture;

const ASKS: &str =
    "name: ask\nstart: ask\nsteps:\n  ask: { person: 'Go on?', answers: { 'yes': done } }\n";

#[derive(Default)]
struct WarningRecorder {
    warnings: Mutex<Vec<String>>,
}

impl RunObserver for WarningRecorder {
    fn event(&self, _: &Run, _: EpochMillis, _: &Event) {}
    fn line(&self, _: &AttemptId, _: &str) {}
    fn waiting(&self, _: &Run, _: &[Effect]) {}
    fn warn(&self, message: &str) {
        self.warnings.lock().unwrap().push(message.to_owned());
    }
}

/// A run that waits for a person.
struct WaitingRun {
    bench: EngineFixture,
    run: RunId,
    watch: Arc<WarningRecorder>,
}

impl WaitingRun {
    fn new() -> Self {
        let bench = EngineFixture::new();
        let flow = bench.path("flow.yml");
        fs::write(&flow, ASKS).unwrap();
        let request = RunRequest {
            goal: "wait".to_owned(),
            workflow: Some(flow.display().to_string()),
            ..RunRequest::default()
        };
        let engine = &bench.engine;
        let project = Project::find(engine.repo.top_level(), engine.env.clone()).unwrap();
        let started = engine.plan_run(project.prepare(&request).unwrap(), now());
        let watch: Arc<WarningRecorder> = Arc::default();
        let observer: Arc<dyn RunObserver> = watch.clone();
        let (run, stop) = driver::start(engine, started.unwrap(), &options(), &observer).unwrap();
        assert!(matches!(stop, StopReason::Waiting(_)), "{stop:?}");
        Self { bench, run, watch }
    }

    /// Leaves behind what a worker had when codeteam was killed: a login, renewed.
    fn leave(&self) -> PathBuf {
        let attempts = self
            .bench
            .engine
            .run_workspaces_folder(&self.run)
            .join(".attempts");
        let home = attempts.join("7.home");
        drop(self.bench.engine.logins.lend(&CLAUDE, None, &home).unwrap());
        let copy = home.join(".claude/.credentials.json");
        let renewed = fs::read_to_string(&copy).unwrap();
        let renewed = renewed.replace("-first", "-second").replace("0001", "0002");
        fs::write(copy, renewed).unwrap();
        home
    }

    fn lock_user(&self, mode: u32) {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(self.bench.user(&CLAUDE), mode).unwrap();
    }

    fn users(&self) -> String {
        fs::read_to_string(self.bench.user(&CLAUDE)).unwrap()
    }

    fn resume(&self) -> StopReason {
        let observer: Arc<dyn RunObserver> = self.watch.clone();
        let engine = &self.bench.engine;
        driver::resume(engine, &self.run, Vec::new(), &options(), &observer).unwrap()
    }

    /// Has the run end by itself when it is resumed.
    fn answer(&self) {
        let StopReason::Waiting(questions) = self.resume() else {
            panic!("nothing is asked");
        };
        let decision = Decision::Answer {
            question: questions[0].id.clone(),
            answer: "yes".to_owned(),
            note: String::new(),
            change: None,
        };
        let engine = &self.bench.engine;
        engine.post_decision(&self.run, &decision).unwrap();
    }

    fn warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.watch.warnings.lock().unwrap())
    }
}

fn options() -> DriverOptions {
    DriverOptions::new(false, CancelToken::new(), "test")
}

#[test]
fn driving_allows_many_open_files_and_confined_commands_have_their_own_limit() {
    let waiting = WaitingRun::new();
    let own = getrlimit(Resource::Nofile);
    let most = own.maximum.unwrap_or(u64::MAX);
    assert_eq!(own.current, Some(most.min(1 << 20)));
    let reach = waiting.bench.reach("scripted", "w");
    let said = waiting.bench.work(&reach, "ulimit -Sn; ulimit -Hn").said();
    let limit = codeteam_sandbox::SandboxLimits::default()
        .open_files
        .min(most);
    assert_eq!(said, format!("{limit}\n{limit}\n"));
}

#[test]
fn a_run_that_is_taken_up_again_gives_back_what_was_lent() {
    let waiting = WaitingRun::new();
    let home = waiting.leave();
    waiting.resume();
    assert!(waiting.users().contains("access-second"));
    assert!(!home.exists());
    assert_eq!(waiting.warnings(), [""; 0]);
}

#[test]
fn what_cannot_be_given_back_stops_nothing_and_is_kept_for_the_next_time() {
    let waiting = WaitingRun::new();
    let home = waiting.leave();
    waiting.lock_user(0o400);
    assert!(matches!(waiting.resume(), StopReason::Waiting(_)));
    let warnings = waiting.warnings();
    // Once when it is taken up; it has not ended.
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains(home.to_str().unwrap()), "{warnings:?}");
    let copy = fs::read_to_string(home.join(".claude/.credentials.json")).unwrap();
    assert!(copy.contains("access-second"));
    waiting.lock_user(0o600);
    waiting.resume();
    assert!(waiting.users().contains("access-second"));
    assert!(!home.exists());
}

#[test]
fn a_copy_that_is_not_believed_is_told_and_goes() {
    let waiting = WaitingRun::new();
    let home = waiting.leave();
    fs::write(home.join(".claude/.credentials.json"), "{}").unwrap();
    waiting.resume();
    let warnings = waiting.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("was not taken back"), "{warnings:?}");
    assert!(waiting.users().contains("access-first"));
    assert!(!home.exists());
}

#[test]
fn pruning_leaves_alone_what_has_not_ended() {
    let waiting = WaitingRun::new();
    let home = waiting.leave();
    let engine = &waiting.bench.engine;
    fs::create_dir(engine.run_workspaces_folder(&waiting.run).join("frame")).unwrap();
    let pruned = prune(engine, false).unwrap();
    let left: Vec<_> = pruned.left.into_iter().collect();
    let name = format!("{}/frame", waiting.run);
    assert_eq!(left, [(name, "its run has not ended".to_owned())]);
    assert!(home.join(".claude/.credentials.json").exists());
    assert!(waiting.users().contains("access-first"));
}

#[test]
fn the_end_of_a_run_and_pruning_keep_it_until_it_is_given_back() {
    let waiting = WaitingRun::new();
    waiting.answer();
    let home = waiting.leave();
    waiting.lock_user(0o400);
    assert_eq!(waiting.resume(), StopReason::Ended(FrameOutcome::Completed));
    // When it was taken up, and when it ended.
    assert_eq!(waiting.warnings().len(), 2);
    let engine = &waiting.bench.engine;
    let notes = prune(engine, false).unwrap().notes;
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(home.join(".claude/.credentials.json").exists());
    waiting.lock_user(0o600);
    assert_eq!(prune(engine, true).unwrap().notes, [""; 0]);
    assert!(home.exists());
    assert_eq!(prune(engine, false).unwrap().notes, [""; 0]);
    assert!(waiting.users().contains("access-second"));
    assert!(!engine.run_workspaces_folder(&waiting.run).exists());
}
