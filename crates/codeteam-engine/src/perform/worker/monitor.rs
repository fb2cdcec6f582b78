//! Monitors a running worker: what it spends, how often it asks its model, and whether it is stuck in
//! a loop.
//!
//! The budget of the assignment is a limit like its time: a worker that exceeds it is ended. What
//! all workers of a run may spend together is not known here, so each worker's spending is reported
//! while it runs.

use codeteam_core::budget::Usage;
use codeteam_core::failure::{FailureCause, FailureFacts};
use codeteam_core::input::Input;

use super::session_usage::SessionUsageReader;
use super::{Job, JobContext};
use crate::clock::now;
use crate::dialect::OutputFold;
use crate::workers::prices;
use codeteam_core::assignment::Assignment;
use codeteam_host::process::CancelToken;
use codeteam_report::describe;

/// Observes one running worker and ends it if necessary.
pub(super) struct WorkerMonitor<'a> {
    job: &'a Job,
    context: &'a JobContext<'a>,
    max_cost_microusd: Option<u64>,
    max_tokens: Option<u64>,
    max_turns: Option<u32>,
    reported: Usage,
    /// Measures what a worker uses that reports it only when it ends.
    session: Option<SessionUsageReader>,
    /// Cancels the worker and nothing else.
    pub(super) cancel: CancelToken,
    /// The reason why the worker was ended, if it was.
    pub(super) ended: Option<FailureFacts>,
}

impl<'a> WorkerMonitor<'a> {
    pub(super) fn begin(
        job: &'a Job,
        assignment: &Assignment,
        context: &'a JobContext<'a>,
        session: Option<SessionUsageReader>,
    ) -> Self {
        Self {
            job,
            context,
            max_cost_microusd: assignment.limits.max_cost_microusd,
            max_tokens: assignment.limits.max_tokens,
            max_turns: assignment.means.max_turns,
            reported: Usage::default(),
            session,
            cancel: context.cancel.child(),
            ended: None,
        }
    }

    /// Checks a worker after each line of its output.
    pub(super) fn observe(&mut self, fold: &dyn OutputFold) {
        if self.ended.is_some() {
            return;
        }
        if let Some(facts) = fold.fatal_failure() {
            self.ended = Some(facts.clone());
            return self.cancel.cancel();
        }
        if let Some(why) = fold.describe_loop() {
            return self.end(FailureCause::Loop, why);
        }
        if let Some(most) = self.max_turns.filter(|most| fold.turns() > Some(*most)) {
            let why = format!("it was not done after {most} turns, and may not have more");
            return self.end(FailureCause::Turns, why);
        }
        if self.max_cost_microusd.is_none() && self.max_tokens.is_none() {
            return;
        }
        let prices = &self.context.engine.config.prices;
        let usage = prices::with_cost(self.measure(fold), fold.model(), prices);
        if usage == self.reported {
            return;
        }
        self.reported = usage;
        (self.context.report)(Input::UsageMeasured {
            at: now(),
            id: self.job.id.clone(),
            usage,
        });
        let cost = usage.cost_microusd.unwrap_or(0);
        if let Some(most) = self.max_cost_microusd.filter(|most| cost > *most) {
            let (cost, most) = (describe::format_money(cost), describe::format_money(most));
            let why = format!("it has spent {cost}, and {most} were left for it");
            self.end(FailureCause::Cost, why);
        } else if let Some(most) = self.max_tokens.filter(|most| usage.tokens() > *most) {
            let used = usage.tokens();
            let why = format!("it has used {used} tokens, and {most} were left for it");
            self.end(FailureCause::Tokens, why);
        }
    }

    /// Returns what the worker has used so far: what it says, or else what its session files say.
    pub(super) fn measure(&mut self, fold: &dyn OutputFold) -> Usage {
        let said = fold.usage();
        match &mut self.session {
            Some(session) if said == Usage::default() => session.usage(),
            _ => said,
        }
    }

    fn end(&mut self, trouble: FailureCause, message: String) {
        self.ended = Some(FailureFacts {
            trouble: Some(trouble),
            message,
            ..FailureFacts::default()
        });
        self.cancel.cancel();
    }
}
