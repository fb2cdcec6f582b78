//! Many runs in one process: memory, and how fast a decision reaches each.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Instant;

use codeteam_core::event::RunStarted;
use codeteam_core::frame::{FrameStage, SlotWork};
use codeteam_core::ids::{AttemptId, EpochMillis, FramePath, RunId};
use codeteam_core::input::Decision;
use codeteam_core::{Effect, Event, Run};
use codeteam_engine::Engine;
use codeteam_engine::clock::now;
use codeteam_engine::driver::{self, DriverOptions, RunObserver};
use codeteam_engine::engine::{Project, RunRequest};
use codeteam_engine::env::Env;
use codeteam_host::process::CancelToken;
use codeteam_host::store::{AppendRequest, NewEvent, ProcessIdentity, RunUpdate};

use crate::{Outcome, median, report, repository, wait_until};

const RUNS: usize = 200;

pub(crate) fn engine(place: &Path, repo: &Path) -> Outcome<Arc<Engine>> {
    let mut env = Env::read();
    env.state_home = Some(place.join("state"));
    let project = Project::find(repo, env)?;
    Ok(Arc::new(Engine::open(
        project,
        PathBuf::from(env!("CARGO_BIN_EXE_codeteam")),
    )?))
}

fn started(engine: &Engine, request: &RunRequest) -> Outcome<RunStarted> {
    let project = Project::find(engine.repo.top_level(), engine.env.clone())?;
    Ok(engine.plan_run(project.prepare(request)?, now())?)
}

/// Two hundred runs that wait for a person, in one process; then all are told at once.
pub(crate) fn open(folder: &Path) -> Outcome<()> {
    let place = folder.join("open");
    let repo = repository(&place)?;
    let engine = engine(&place, &repo)?;
    let flow =
        "name: ask\nstart: ask\nsteps:\n  ask: { person: 'Go on?', answers: { 'yes': done } }\n";
    std::fs::write(place.join("flow.yml"), flow)?;
    let before = peak_kb()?;
    let watch: Arc<DecisionWatcher> = Arc::default();
    let options = Arc::new(DriverOptions::new(true, CancelToken::new(), "bench"));
    let mut threads = Vec::new();
    let mut ids = Vec::new();
    for n in 0..RUNS {
        let request = RunRequest {
            goal: format!("run number {n}"),
            workflow: Some(place.join("flow.yml").display().to_string()),
            ..RunRequest::default()
        };
        let started = started(&engine, &request)?;
        ids.push(started.run.clone());
        let (engine, options) = (Arc::clone(&engine), Arc::clone(&options));
        let observer: Arc<dyn RunObserver> = watch.clone();
        threads.push(std::thread::spawn(move || {
            driver::start(&engine, started, &options, &observer)
                .map(|_| ())
                .map_err(|e| e.to_string())
        }));
    }
    wait_until("the questions", || {
        Ok(watch.asked.lock().map_err(|_| "poisoned")?.len() == RUNS)
    })?;
    let megabytes = (peak_kb()?.saturating_sub(before)) as f64 / 1024.0;
    report(
        "200 runs open, memory",
        megabytes,
        "MB",
        200.0 / megabytes,
        1.0,
    );
    tell_all(&engine, &ids, &watch)?;
    for thread in threads {
        thread.join().map_err(|_| "a driver panicked")??;
    }
    Ok(())
}

/// Measures how long a decision takes from another handle to the run that waits for it.
fn tell_all(engine: &Arc<Engine>, ids: &[RunId], watch: &DecisionWatcher) -> Outcome<()> {
    let mut delays = Vec::new();
    for id in ids {
        let run = engine.load_run(id)?;
        let question = run.frames.values().find_map(|f| match &f.stage {
            FrameStage::Asking(question) => Some(question.id.clone()),
            _ => None,
        });
        let decision = Decision::Answer {
            question: question.ok_or("nothing is asked")?,
            answer: "yes".to_owned(),
            note: String::new(),
            change: None,
        };
        let posted = Instant::now();
        engine.post_decision(id, &decision)?;
        wait_until("the answer", || {
            Ok(watch.answered.lock().map_err(|_| "poisoned")?.contains(id))
        })?;
        delays.push(posted.elapsed().as_secs_f64());
    }
    delays.sort_by(f64::total_cmp);
    let worst = delays[delays.len() * 99 / 100];
    println!("decision to run, median  {:>10.2} ms", median(delays) * 1e3);
    report("decision to run, p99", worst * 1e3, "ms", 0.1 / worst, 1.0);
    Ok(())
}

#[derive(Default)]
struct DecisionWatcher {
    asked: Mutex<Vec<RunId>>,
    answered: Mutex<Vec<RunId>>,
}

impl RunObserver for DecisionWatcher {
    fn event(&self, run: &Run, _: EpochMillis, event: &Event) {
        let list = match event {
            Event::Asked { .. } => &self.asked,
            Event::Answered { .. } => &self.answered,
            _ => return,
        };
        if let Ok(mut list) = list.lock() {
            list.push(run.id.clone());
        }
    }
    fn line(&self, _: &AttemptId, _: &str) {}
    fn waiting(&self, _: &Run, _: &[Effect]) {}
    fn warn(&self, message: &str) {
        println!("warning: {message}");
    }
}

/// The most memory this process has ever used.
fn peak_kb() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find(|l| l.starts_with("VmHWM:"))
        .ok_or("no VmHWM")?;
    Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse()?)
}

/// A run with a log of at least this many events, as long runs have them: attempts that start and
/// are lost.
pub(crate) fn long_log(engine: &Arc<Engine>, count: usize) -> Outcome<RunId> {
    let request = RunRequest {
        goal: "a long run".into(),
        worker: Some("scripted".into()),
        ..RunRequest::default()
    };
    let started = started(engine, &request)?;
    let id = started.run.clone();
    let owner = ProcessIdentity::this_process("bench");
    let lease = engine.store.take_lease(id.as_str(), &owner, 0, i64::MAX)?;
    let begun = codeteam_core::decide(
        &Run::default(),
        &codeteam_core::Input::Began(Box::new(started)),
    );
    let mut events = begun.events;
    let mut fence = 1_u64;
    while events.len() < count {
        let attempt = AttemptId {
            frame: FramePath::root(),
            step: "plan".into(),
            generation: 1,
            slot: 0,
            attempt: 1,
            fence,
        };
        events.push(Event::AttemptLost {
            id: attempt.clone(),
            usage: codeteam_core::budget::Usage::default(),
        });
        fence += 1;
        events.push(Event::AttemptStarted {
            id: AttemptId { fence, ..attempt },
            work: SlotWork::Role("planner".into()),
            worker: Some("scripted".into()),
            tree: "4b825dc642cb6eb9a060e54bf8d69288fbee4904".into(),
            reserved: codeteam_core::budget::BudgetReservation::default(),
        });
    }
    let mut seq = 0;
    for chunk in events.chunks(1_000) {
        let encoded = chunk
            .iter()
            .map(|event| {
                Ok(NewEvent {
                    kind: event.kind().to_owned(),
                    version: event.version(),
                    data: serde_json::to_string(event)?,
                })
            })
            .collect::<Outcome<Vec<_>>>()?;
        let row = RunUpdate {
            goal: "a long run".into(),
            created_at: 0,
            status: "running".into(),
            headline: String::new(),
        };
        seq = engine.store.append(AppendRequest {
            run: id.0.clone(),
            expected_seq: seq,
            token: lease.token,
            at: 0,
            events: encoded,
            consumed: Vec::new(),
            row: Some(row),
        })?;
    }
    engine.store.release(&lease)?;
    Ok(id)
}
