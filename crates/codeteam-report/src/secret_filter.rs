//! Removes secrets from everything that enters a run.
//!
//! Whatever a person, a file or a program says becomes an [`Input`], and an input becomes events,
//! files, reports, prompts and commit messages. Secrets are therefore removed from inputs, in one
//! place, and nothing downstream has to think of them. The id of a run, which names its branch and
//! its folder, is made from the goal, so the goal is filtered before a run is planned; a decision
//! is filtered before it is written to the inbox.
//!
//! Commands of checks, patterns and paths stay as they are written, because filtering would change
//! their meaning. The names of checks are filtered when the workflow is compiled
//! ([`filter_check_names`]), so that they are the same wherever they are compared.

use std::borrow::Cow;

use codeteam_context::redact::{RedactionCounts, Redactor};
use codeteam_core::event::{DeliveryOutcome, RunStarted};
use codeteam_core::input::{Decision, Input, WorkerOutcome};
use codeteam_core::plan::Plan;
use codeteam_core::workflow::{StepKind, Workflow};
use serde_json::Value;

/// Returns a plan without secrets, as a run would record it.
pub(crate) fn filter_plan(mut plan: Plan, redactor: &Redactor) -> Plan {
    SecretFilter::new(redactor).plan(&mut plan);
    plan
}

/// Removes secrets from the names of checks. Their commands stay as they are.
pub fn filter_check_names(workflow: &mut Workflow, redactor: &Redactor) {
    for step in workflow.steps.values_mut() {
        if let StepKind::Gate { checks } = &mut step.kind {
            for check in checks {
                SecretFilter::new(redactor).text(&mut check.name);
            }
        }
    }
}

/// The secrets that were removed from a text, counted by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovedSecrets(RedactionCounts);

impl RemovedSecrets {
    /// Returns a notice for the person whose text was changed; `None` if there was no secret.
    pub fn notice(&self) -> Option<String> {
        let kinds: Vec<&str> = self.0.keys().copied().collect();
        let what = match self.0.values().sum::<usize>() {
            0 => return None,
            1 => "a secret was".to_owned(),
            many => format!("{many} secrets were"),
        };
        Some(format!(
            "{what} taken out of what you said ({}): nothing of it is stored, and workers read \
             `[redacted: …]` instead; what is not a secret can be named in `redaction.allow`",
            kinds.join(", ")
        ))
    }
}

/// Removes secrets from texts and counts them.
///
/// Create one filter per input, decision or plan, pass the value through [`input`](Self::input),
/// [`decision`](Self::decision), [`plan`](Self::plan) or [`text`](Self::text), and then show the
/// person the [`notice`](RemovedSecrets::notice) of `removed`. The values are changed in place.
/// Every kind of input is matched explicitly, so that a new kind does not compile until somebody
/// has decided which of its texts to filter.
pub struct SecretFilter<'a> {
    redactor: &'a Redactor,
    /// The secrets removed so far.
    pub removed: RemovedSecrets,
}

impl<'a> SecretFilter<'a> {
    /// Creates a filter with no secrets removed yet.
    pub fn new(redactor: &'a Redactor) -> Self {
        Self {
            redactor,
            removed: RemovedSecrets::default(),
        }
    }

    /// Filters one text.
    pub fn text(&mut self, text: &mut String) {
        let redacted = self.redactor.redact(text);
        for (kind, count) in redacted.hits {
            *self.removed.0.entry(kind).or_default() += count;
        }
        if let Cow::Owned(clean) = redacted.text {
            *text = clean;
        }
    }

    /// Filters the titles, descriptions and criteria of a plan.
    pub fn plan(&mut self, plan: &mut Plan) {
        self.text(&mut plan.description);
        for phase in &mut plan.phases {
            self.text(&mut phase.title);
        }
        for task in &mut plan.tasks {
            self.text(&mut task.title);
            self.text(&mut task.description);
            for criterion in &mut task.acceptance {
                self.text(criterion);
            }
        }
    }

    /// Filters every text that an input carries.
    pub fn input(&mut self, input: &mut Input) {
        match input {
            Input::Began(started) => self.started(started),
            Input::WorkerExited { report, .. } => match &mut report.end {
                WorkerOutcome::Answered(text) => self.text(text),
                WorkerOutcome::Failed(facts) => self.text(&mut facts.message),
            },
            Input::GateFinished { results, .. } => {
                for result in results {
                    self.text(&mut result.summary);
                    for finding in &mut result.findings {
                        self.text(&mut finding.title);
                        self.text(&mut finding.detail);
                    }
                }
            }
            Input::Published { output, .. } => self.text(output),
            Input::Delivered { outcome, .. } => {
                if let DeliveryOutcome::Left { why } = outcome {
                    self.text(why);
                }
            }
            Input::EffectFailed { message, .. } => self.text(message),
            Input::Decided { decision, .. } => self.decision(decision),
            Input::Replied { answer, .. } => self.text(answer),
            Input::PlanEdited { plan, .. } => self.plan(plan),
            Input::ContextPacked { packed, .. } => {
                // A file may have the secret that it contains in its name.
                let files = std::mem::take(&mut packed.redacted);
                for (mut file, count) in files {
                    self.text(&mut file);
                    *packed.redacted.entry(file).or_default() += count;
                }
            }
            Input::RiskRead { facts, .. } => {
                for broken in &mut facts.breaking {
                    self.text(&mut broken.before);
                    if let Some(after) = &mut broken.after {
                        self.text(after);
                    }
                }
            }
            // These carry only names, numbers, times and hashes.
            Input::Notified { .. }
            | Input::Resumed { .. }
            | Input::BranchMoved { .. }
            | Input::InterfacesWritten { .. }
            | Input::Woke { .. }
            | Input::Rebased { .. }
            | Input::Integrated { .. }
            | Input::NetworkUsed { .. }
            | Input::UsageMeasured { .. }
            | Input::DiskMeasured { .. }
            | Input::AccountLimited { .. } => {}
        }
    }

    fn started(&mut self, started: &mut RunStarted) {
        self.text(&mut started.goal);
        if let Some(plan) = &mut started.plan {
            self.plan(plan);
        }
        for rule in &mut started.rules {
            self.text(rule);
        }
        for template in started.templates.values_mut() {
            self.text(template);
        }
        for role in started.roles.values_mut() {
            self.text(&mut role.prompt);
            self.text(&mut role.description);
            for value in role.config.values_mut() {
                redact_json(value, self.redactor);
            }
        }
        for step in started.workflow.steps.values_mut() {
            if let StepKind::Person { question, .. } = &mut step.kind {
                self.text(question);
            }
        }
    }

    /// Filters the texts that a person wrote with a decision.
    pub fn decision(&mut self, decision: &mut Decision) {
        match decision {
            Decision::Answer { answer, note, .. } => {
                self.text(answer);
                self.text(note);
            }
            Decision::Revise { plan } => self.plan(plan),
            Decision::Abort { reason } | Decision::Rollback { reason, .. } => self.text(reason),
            Decision::Retry { note, plan, .. } => {
                self.text(note);
                if let Some(plan) = plan {
                    self.plan(plan);
                }
            }
            Decision::Accept { note, .. } | Decision::Delegate { note, .. } => self.text(note),
            // Commands of checks are executed, so they are kept as they are written.
            Decision::Repin { .. }
            | Decision::RepinWorkflow { .. }
            | Decision::Reassign { .. }
            | Decision::Skip { .. }
            | Decision::RaiseLimits { .. } => {}
        }
    }
}

/// Removes secrets from every string of a JSON value.
pub fn redact_json(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(redacted) = redactor.redact(text).text {
                *text = redacted;
            }
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| redact_json(item, redactor)),
        Value::Object(fields) => {
            fields
                .values_mut()
                .for_each(|field| redact_json(field, redactor));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Made up, and put together here so that nobody takes this file for a leak.
    fn token() -> String {
        ["gh", "p_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat()
    }

    #[test]
    fn every_text_of_a_decision_and_of_a_plan_is_filtered() {
        let said = format!("use {}", token());
        let task = codeteam_core::plan::Task {
            title: said.clone(),
            description: said.clone(),
            acceptance: vec![said.clone()],
            ..codeteam_core::plan::Task::default()
        };
        let plan = Box::new(Plan {
            description: said.clone(),
            tasks: vec![task],
            ..Plan::default()
        });
        let redactor = Redactor::new([]);
        for (mut decision, count) in [
            (Decision::Revise { plan: plan.clone() }, 4),
            (
                Decision::Abort {
                    reason: said.clone(),
                },
                1,
            ),
            (
                Decision::Retry {
                    frame: None,
                    note: said.clone(),
                    plan: Some(plan.clone()),
                    checks: BTreeMap::new(),
                },
                5,
            ),
        ] {
            let mut filter = SecretFilter::new(&redactor);
            filter.decision(&mut decision);
            let left = serde_json::to_string(&decision).unwrap();
            assert!(!left.contains(&token()), "{left}");
            assert_eq!(
                filter.removed.0,
                RedactionCounts::from([("github token", count)])
            );
            assert!(filter.removed.notice().unwrap().contains("github token"));
        }
        assert_eq!(RemovedSecrets::default().notice(), None);
    }
}
