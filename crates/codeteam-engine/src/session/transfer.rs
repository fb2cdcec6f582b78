//! Passes runs from a session to workers and back: which runs exist, who holds them, and who
//! releases them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use codeteam_core::Event;
use codeteam_core::ids::RunId;
use codeteam_core::input::{Decision, Input};
use codeteam_core::operator::Operator;

use super::SessionRun;
use crate::clock::now;
use crate::driver;
use crate::engine::{Engine, Error};
use codeteam_host::store::ProcessIdentity;

/// Returns the runs that a session has begun and that have not ended, newest first.
pub fn open_runs(engine: &Engine) -> Result<Vec<RunId>, Error> {
    let mut open = Vec::new();
    for row in engine.store.runs()? {
        if matches!(row.status.as_str(), "completed" | "failed" | "aborted") {
            continue;
        }
        let id = RunId(row.id);
        let run = engine.load_run(&id)?;
        if run.started_by == Operator::Session && !run.is_terminal() {
            open.push(id);
        }
    }
    Ok(open)
}

/// Takes a run back from workers and leads it in this process. A process that drives it with
/// workers is asked to release it, and waited for.
pub fn take_back(
    engine: &Arc<Engine>,
    run: &RunId,
    label: &str,
    by: &str,
    wait: Duration,
) -> Result<SessionRun, TakeBackError> {
    let back = Decision::Reassign {
        to: Operator::Session,
        change: None,
    };
    if is_driven(engine, run)? {
        return match request_handover(engine, run, &back, by, wait)? {
            HandoverResult::LetGo => Ok(SessionRun::attach(engine, run, label)?),
            HandoverResult::Refused(why) => Err(TakeBackError::Refused(why)),
            HandoverResult::Busy => Err(TakeBackError::Busy),
        };
    }
    let id = run.clone();
    let input = Input::Decided {
        at: now(),
        by: by.to_owned(),
        identity: None,
        decision: back,
    };
    let session = SessionRun::spawn_driver(
        engine,
        id.clone(),
        label,
        move |engine, options, observer| {
            driver::resume(engine, &id, vec![input], options, observer)
        },
    )?;
    Ok(session)
}

/// The reasons why a run was not taken back.
#[derive(Debug, thiserror::Error)]
pub enum TakeBackError {
    /// The project could not be read or written.
    #[error(transparent)]
    Engine(#[from] Error),
    /// The driver could not be started.
    #[error(transparent)]
    Driver(#[from] driver::Error),
    /// The process that drives the run does not release it in time.
    #[error("the process that drives the run does not release it")]
    Busy,
    /// The run refused the decision.
    #[error("the run could not be taken back: {0}")]
    Refused(String),
}

/// Returns true if a living process drives a run.
pub fn is_driven(engine: &Engine, run: &RunId) -> Result<bool, Error> {
    let own = ProcessIdentity::this_process("");
    let holder = engine.store.holder(run.as_str())?;
    Ok(holder.is_some_and(|holder| !holder.owner.is_gone(&own)))
}

/// The answer of the process that drives a run to the request to release it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandoverResult {
    /// The run is released, and has the operator that was asked for.
    LetGo,
    /// The run keeps its operator, for this reason.
    Refused(String),
    /// There was no answer in time.
    Busy,
}

/// How often a driver that writes nothing is looked for.
const DEAD_DRIVER_CHECK: Duration = Duration::from_secs(1);

/// Asks the process that drives a run to hand it over to another operator, and waits for that.
pub fn request_handover(
    engine: &Engine,
    run: &RunId,
    reassign: &Decision,
    by: &str,
    wait: Duration,
) -> Result<HandoverResult, Error> {
    let before = engine.load_run(run)?;
    let mut watch = engine.store.watch()?;
    let posted = engine.post_for_session(run, reassign, by)?;
    let deadline = Instant::now() + wait;
    loop {
        let is_driven = is_driven(engine, run)?;
        let waits = engine.store.inbox(run.as_str())?;
        if !waits.iter().any(|message| message.id == posted) {
            if engine.load_run(run)?.operator == before.operator {
                return refusal(engine, run, before.seq).map(HandoverResult::Refused);
            }
            if !is_driven {
                return Ok(HandoverResult::LetGo);
            }
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(HandoverResult::Busy);
        }
        // Whatever the driver does is written; a driver that dies writes nothing.
        watch.wait(Some(left.min(DEAD_DRIVER_CHECK)))?;
    }
}

/// Returns why the last decision after an event was refused.
fn refusal(engine: &Engine, run: &RunId, after: u64) -> Result<String, Error> {
    let mut last = "it has gone on meanwhile".to_owned();
    engine.each_event(run, after, |_, _, event| {
        if let Event::DecisionRefused { why, .. } = event {
            last = why;
        }
    })?;
    Ok(last)
}
