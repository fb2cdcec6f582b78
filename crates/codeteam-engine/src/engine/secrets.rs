//! Filters a person's input through the engine's redactor, and refuses plans whose names contain
//! secrets.
//!
//! A plan's ids, files and patterns become names of branches, folders and commits, where a secret
//! cannot be removed, so such a plan is refused ([`refuse_secret_names`]). Everything else is
//! filtered by [`secret_filter`](codeteam_report::secret_filter).

use codeteam_context::redact::Redactor;
use codeteam_core::input::{Decision, Input};
use codeteam_core::plan::Plan;

use super::{Engine, Error};
use codeteam_report::secret_filter::{RemovedSecrets, SecretFilter};

impl Engine {
    /// Removes secrets from an input and returns which kinds were removed.
    pub(crate) fn filter_input(&self, input: &mut Input) -> RemovedSecrets {
        let mut filter = SecretFilter::new(&self.redactor);
        filter.input(input);
        filter.removed
    }

    /// Removes secrets from a decision and returns which kinds were removed.
    pub fn filter_decision(&self, decision: &mut Decision) -> RemovedSecrets {
        let mut filter = SecretFilter::new(&self.redactor);
        filter.decision(decision);
        filter.removed
    }
}

/// Refuses a plan that has a secret in one of its names, where it cannot be removed.
pub(super) fn refuse_secret_names(plan: &Plan, redactor: &Redactor) -> Result<(), Error> {
    let plan_id = [("the plan's `plan_id`".to_owned(), plan.plan_id.as_str())];
    let phases = (1..).zip(&plan.phases);
    let phases = phases.map(|(n, phase)| (format!("the `id` of phase {n}"), phase.id.as_str()));
    let tasks = || (1..).zip(&plan.tasks);
    let ids = tasks().map(|(n, task)| (format!("the `id` of task {n}"), task.id.as_str()));
    let files = tasks().flat_map(|(n, task)| {
        let files = task.files.iter();
        files.map(move |file| (format!("one of the `files` of task {n}"), file.as_str()))
    });
    let forbidden = plan.forbidden.iter();
    let forbidden = forbidden.map(|file| ("one of `forbidden`".to_owned(), file.as_str()));
    let names = plan_id.into_iter().chain(phases).chain(ids);
    for (what, name) in names.chain(files).chain(forbidden) {
        if let Some((&kind, _)) = redactor.redact(name).hits.first_key_value() {
            return Err(Error::SecretName { what, kind });
        }
    }
    Ok(())
}
