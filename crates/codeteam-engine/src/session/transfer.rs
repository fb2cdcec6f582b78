//! From a session to workers and back: which runs there are, who has them, and who lets go.

use std::sync::Arc;
use std::time::{Duration, Instant};

use codeteam_core::Event;
use codeteam_core::hands::Operator;
use codeteam_core::ids::RunId;
use codeteam_core::input::{Decision, Input};

use super::SessionRun;
use crate::driver;
use crate::engine::{Engine, Error};
use crate::perform::now;
use crate::store::ProcessIdentity;

/// The runs that a session has begun or holds and that have not ended, the newest first.
pub fn open_runs(engine: &Engine) -> Result<Vec<RunId>, Error> {
    let mut open = Vec::new();
    for row in engine.store.runs()? {
        if matches!(row.status.as_str(), "completed" | "failed" | "aborted") {
            continue;
        }
        let id = RunId(row.id);
        let run = engine.load(&id)?;
        if run.began_in == Operator::Session && !run.is_terminal() {
            open.push(id);
        }
    }
    Ok(open)
}

/// Takes a run back from workers, and leads it from here. Whoever drives it with workers is asked to
/// let go, and waited for.
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
        return match hand_over(engine, run, &back, by, wait)? {
            HandoverResult::LetGo => Ok(SessionRun::attach(engine, run, label)?),
            HandoverResult::Refused(why) => Err(TakeBackError::Refused(why)),
            HandoverResult::Busy => Err(TakeBackError::Busy),
        };
    }
    let id = run.clone();
    let input = Input::Decided {
        at: now(),
        by: by.to_owned(),
        decision: back,
    };
    let session = SessionRun::lead(
        engine,
        id.clone(),
        label,
        move |engine, options, observer| {
            driver::resume(engine, &id, vec![input], options, observer)
        },
    )?;
    Ok(session)
}

/// Why a run was not taken back.
#[derive(Debug, thiserror::Error)]
pub enum TakeBackError {
    /// The engine.
    #[error(transparent)]
    Engine(#[from] Error),
    /// The driver.
    #[error(transparent)]
    Driver(#[from] driver::Error),
    /// Whoever drives it does not let go.
    #[error("whoever drives the run does not let it go")]
    Busy,
    /// It could not be.
    #[error("the run could not be taken back: {0}")]
    Refused(String),
}

/// Whether a living process drives a run.
pub fn is_driven(engine: &Engine, run: &RunId) -> Result<bool, Error> {
    let own = ProcessIdentity::this_process("");
    let holder = engine.store.holder(run.as_str())?;
    Ok(holder.is_some_and(|holder| !holder.owner.is_gone(&own)))
}

/// What whoever drives a run did when it was asked to let it go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandoverResult {
    /// It is let go, and in the hands that were asked for.
    LetGo,
    /// It stays where it is, for this reason.
    Refused(String),
    /// Nothing was heard in time.
    Busy,
}

/// Asks whoever drives a run to let it go into other hands, and waits for that.
pub fn hand_over(
    engine: &Engine,
    run: &RunId,
    reassign: &Decision,
    by: &str,
    wait: Duration,
) -> Result<HandoverResult, Error> {
    let before = engine.load(run)?;
    let posted = engine.post(run, reassign, by)?;
    let deadline = Instant::now() + wait;
    loop {
        let is_driven = is_driven(engine, run)?;
        let waits = engine.store.inbox(run.as_str())?;
        if !waits.iter().any(|message| message.id == posted) {
            if engine.load(run)?.hands == before.hands {
                return refusal(engine, run, before.seq).map(HandoverResult::Refused);
            }
            if !is_driven {
                return Ok(HandoverResult::LetGo);
            }
        }
        if Instant::now() >= deadline {
            return Ok(HandoverResult::Busy);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Why the last decision after an event was refused.
fn refusal(engine: &Engine, run: &RunId, after: u64) -> Result<String, Error> {
    let mut last = "it has gone on meanwhile".to_owned();
    engine.each_event(run, after, |_, _, event| {
        if let Event::DecisionRefused { why, .. } = event {
            last = why;
        }
    })?;
    Ok(last)
}
