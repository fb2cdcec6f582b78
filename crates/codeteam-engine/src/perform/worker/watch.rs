//! Watches a worker while it works: what it spends, and whether it goes round in circles.
//!
//! What the assignment allows is a limit like its time: whoever passes it is ended. What all workers
//! of a run may spend together is not known here, so what one has spent is reported as it goes.

use codeteam_core::budget::Usage;
use codeteam_core::failure::{FailureCause, FailureFacts};
use codeteam_core::input::Input;

use super::{Job, JobContext, now};
use crate::dialect::OutputFold;
use crate::process::CancelToken;
use crate::tell;
use crate::workers::prices;
use codeteam_core::assignment::Assignment;

/// What is seen of a worker while it works.
pub(super) struct WorkerMonitor<'a> {
    job: &'a Job,
    context: &'a JobContext<'a>,
    max_cost_microusd: Option<u64>,
    max_tokens: Option<u64>,
    reported: Usage,
    /// Ends the worker and nothing else.
    pub(super) cancel: CancelToken,
    /// Why it was ended, if it was.
    pub(super) ended: Option<FailureFacts>,
}

impl<'a> WorkerMonitor<'a> {
    pub(super) fn begin(
        job: &'a Job,
        assignment: &Assignment,
        context: &'a JobContext<'a>,
    ) -> Self {
        Self {
            job,
            context,
            max_cost_microusd: assignment.max_cost_microusd,
            max_tokens: assignment.max_tokens,
            reported: Usage::default(),
            cancel: context.cancel.below(),
            ended: None,
        }
    }

    /// Looks at a worker that has just said something.
    pub(super) fn look(&mut self, fold: &dyn OutputFold) {
        if self.ended.is_some() {
            return;
        }
        if let Some(facts) = fold.hopeless() {
            self.ended = Some(facts.clone());
            return self.cancel.cancel();
        }
        if let Some(why) = fold.describe_loop() {
            return self.end(FailureCause::Loop, why);
        }
        if self.max_cost_microusd.is_none() && self.max_tokens.is_none() {
            return;
        }
        let prices = &self.context.engine.config.prices;
        let usage = prices::priced(fold.usage(), fold.model(), prices);
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
            let (cost, most) = (tell::money(cost), tell::money(most));
            let why = format!("it has spent {cost}, and {most} were left for it");
            self.end(FailureCause::Cost, why);
        } else if let Some(most) = self.max_tokens.filter(|most| usage.tokens() > *most) {
            let used = usage.tokens();
            let why = format!("it has used {used} tokens, and {most} were left for it");
            self.end(FailureCause::Tokens, why);
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
