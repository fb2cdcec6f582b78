//! Takes a run back that nobody drives, and stops there: what is done next is up to the person.

use std::sync::Arc;

use codeteam_core::due;
use codeteam_core::ids::RunId;
use codeteam_core::{Effect, Run};

use super::{Driver, DriverOptions, Error, RunObserver};
use crate::engine::Engine;

/// Handles the decisions that wait in a run's inbox, and moves the run's branch if one of them takes
/// the run back. No worker and no check is started. Returns true if the run was taken back.
pub fn carry_out_rollback(
    engine: &Arc<Engine>,
    id: &RunId,
    options: &DriverOptions,
    observer: &Arc<dyn RunObserver>,
) -> Result<bool, Error> {
    let mut driver = Driver::acquire(engine, id, Run::default(), options, observer)?;
    let mut before = 0;
    driver.drive_and_release(|driver| {
        driver.recover()?;
        before = driver.run.taken_back.len();
        driver.read_inbox()?;
        while driver.run.rollback.is_some() && !options.interrupt.is_cancelled() {
            let mut effects = due(&driver.run);
            effects.retain(|effect| matches!(effect, Effect::MoveBranch { .. }));
            driver.reconcile(&effects)?;
            driver.wait()?;
        }
        driver.abandon();
        Ok(super::StopReason::Interrupted)
    })?;
    Ok(driver.run.taken_back.len() > before)
}
