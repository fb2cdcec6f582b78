//! From a session to workers and back: which runs there are, who has them, and who lets go.

use std::sync::Arc;
use std::time::{Duration, Instant};

use codeteam_core::hands::Hands;
use codeteam_core::ids::RunId;
use codeteam_core::input::{Decision, Input};

use super::Session;
use crate::driver;
use crate::engine::{Engine, Error};
use crate::perform::now;
use crate::store::Owner;

/// The runs that a session has begun or holds and that have not ended, the newest first.
pub fn open_runs(engine: &Engine) -> Result<Vec<RunId>, Error> {
    let mut open = Vec::new();
    for row in engine.store.runs()? {
        if matches!(row.status.as_str(), "completed" | "failed" | "aborted") {
            continue;
        }
        let id = RunId(row.id);
        let run = engine.load(&id)?;
        if run.began_in == Hands::Session && !run.is_terminal() {
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
) -> Result<Session, TakeBack> {
    let back = Decision::Reassign {
        to: Hands::Session,
        change: None,
    };
    if is_driven(engine, run)? {
        engine.post(run, &back, by)?;
        if !let_go(engine, run, wait)? {
            return Err(TakeBack::Busy);
        }
        if engine.load(run)?.hands != Hands::Session {
            return Err(TakeBack::Refused);
        }
        return Ok(Session::attach(engine, run, label)?);
    }
    let id = run.clone();
    let input = Input::Decided {
        at: now(),
        by: by.to_owned(),
        decision: back,
    };
    let session = Session::lead(
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
pub enum TakeBack {
    /// The engine.
    #[error(transparent)]
    Engine(#[from] Error),
    /// The driver.
    #[error(transparent)]
    Driver(#[from] driver::Error),
    /// Whoever drives it does not let go.
    #[error("whoever drives the run does not let it go")]
    Busy,
    /// It went on, or ended, before it could be let go.
    #[error("the run could not be taken back")]
    Refused,
}

/// Whether a living process drives a run.
pub fn is_driven(engine: &Engine, run: &RunId) -> Result<bool, Error> {
    let own = Owner::this_process("");
    let holder = engine.store.holder(run.as_str())?;
    Ok(holder.is_some_and(|holder| !holder.owner.is_gone(&own)))
}

/// Waits until nobody drives a run; `false` if the time is up.
pub fn let_go(engine: &Engine, run: &RunId, wait: Duration) -> Result<bool, Error> {
    let deadline = Instant::now() + wait;
    while is_driven(engine, run)? {
        if Instant::now() >= deadline {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(true)
}
