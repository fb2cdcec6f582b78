//! What becomes of a decision: whoever decides is told at once if it was refused, instead of finding
//! that in the log of the process that drives the run.

use std::time::{Duration, Instant};

use codeteam_core::decide::decide;
use codeteam_core::ids::{EpochMillis, RunId};
use codeteam_core::input::{Decision, Input};
use codeteam_core::{Event, Run};

use super::kept::PostedDecision;
use super::{Engine, Error};
use crate::people;

/// How often a driver that writes nothing is looked for.
const DEAD_DRIVER_CHECK: Duration = Duration::from_millis(500);

/// What became of a decision.
#[derive(Clone, Debug, PartialEq)]
pub enum DecisionOutcome {
    /// It was handled, with these consequences.
    Handled(Vec<Event>),
    /// It was refused, for this reason, and changed nothing.
    Refused(String),
    /// Nobody has handled it yet.
    Waiting,
}

impl Engine {
    /// Posts a decision on a run that a process drives, and waits until that process has handled it,
    /// at most for as long as `wait`. `is_driven` says whether there still is one.
    pub fn post_and_wait(
        &self,
        run: &RunId,
        decision: &Decision,
        signature: Option<String>,
        wait: Duration,
        is_driven: impl Fn() -> Result<bool, Error>,
    ) -> Result<DecisionOutcome, Error> {
        let mut watch = self.store.watch()?;
        let before = self.store.run(run.as_str())?.map_or(0, |row| row.seq);
        let posted = self.post_signed(run, decision, signature)?;
        let deadline = Instant::now() + wait;
        loop {
            let is_driven = is_driven()?;
            if let Some(last) = self.store.consumed_at(posted)? {
                return self.outcome_of_input(run, before, last);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if !is_driven || left.is_zero() {
                return Ok(DecisionOutcome::Waiting);
            }
            // Whatever the driver does is written; a driver that dies writes nothing.
            watch.wait(Some(left.min(DEAD_DRIVER_CHECK)))?;
        }
    }

    /// Returns what followed from the input whose last event is `last`: the events of one input are
    /// written together, with one time.
    fn outcome_of_input(
        &self,
        run: &RunId,
        before: u64,
        last: u64,
    ) -> Result<DecisionOutcome, Error> {
        let mut events: Vec<(EpochMillis, Event)> = Vec::new();
        self.each_event(run, before, |seq, at, event| {
            if seq <= last {
                events.retain(|(earlier, _)| *earlier == at);
                events.push((at, event));
            }
        })?;
        let events: Vec<Event> = events.into_iter().map(|(_, event)| event).collect();
        Ok(match refusal_in(&events) {
            Some(why) => DecisionOutcome::Refused(why.to_owned()),
            None => DecisionOutcome::Handled(events),
        })
    }

    /// Returns why a decision would be refused if it were handled now, after the decisions that wait
    /// already. For a run that nobody drives: whoever decides there would not hear of it otherwise.
    pub fn foresee_refusal(
        &self,
        run: &Run,
        decision: &Decision,
        signature: Option<&str>,
    ) -> Result<Option<String>, Error> {
        let mut run = run.clone();
        for row in self.store.inbox(run.id.as_str())? {
            if let Ok(waiting) = serde_json::from_str::<PostedDecision>(&row.data) {
                run = decide(&run, &self.decision_input(&run, waiting)).run;
            }
        }
        let mut decision = decision.clone();
        self.filter_decision(&mut decision);
        let posted = PostedDecision {
            by: self.own_identity().person.0,
            uid: Some(people::own_uid()),
            signature: signature.map(str::to_owned),
            decision,
        };
        let input = self.decision_input(&run, posted);
        let events = decide(&run, &input).events;
        Ok(refusal_in(&events).map(str::to_owned))
    }

    /// Makes the input of a decision from the inbox. Who made it is what can be proved; the name in
    /// the inbox is only what somebody says.
    pub(crate) fn decision_input(&self, run: &Run, posted: PostedDecision) -> Input {
        let identity = self.identity_of(run, &posted);
        let PostedDecision { by, decision, .. } = posted;
        Input::Decided {
            at: crate::clock::now(),
            by: identity.as_ref().map_or(by, |known| known.person.0.clone()),
            identity,
            decision,
        }
    }
}

fn refusal_in(events: &[Event]) -> Option<&str> {
    events.iter().find_map(|event| match event {
        Event::DecisionRefused { why, .. } => Some(why.as_str()),
        _ => None,
    })
}
