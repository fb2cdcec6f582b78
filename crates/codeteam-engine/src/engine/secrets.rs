//! Takes secrets out of everything that enters a run.
//!
//! Whatever a person, a file or a program says becomes an [`Input`], and an input becomes events, files,
//! reports, prompts and commit messages. So secrets are taken out of inputs, in one place, and none of the
//! places behind it has to think of them. The id of a run, which names its branch and its folder, is made
//! from the goal, so the goal is filtered before that ([`Engine::plan_run`]); a decision is filtered
//! before it is written to the inbox ([`Engine::post`]).
//!
//! Commands of checks, patterns and paths stay as they are written: they would mean something else. A
//! plan's ids, files and patterns name branches, folders and commits as well, so a plan that has a secret
//! in one of them is refused ([`refuse_secret_names`]). The names of checks are filtered when the workflow
//! is compiled ([`filter_check_names`]), so that they are the same wherever they are compared.

use codeteam_context::redact::{RedactionCounts, Redactor};
use codeteam_core::event::{DeliveryOutcome, RunStarted};
use codeteam_core::input::{Decision, Input, WorkerOutcome};
use codeteam_core::plan::Plan;
use codeteam_core::workflow::{StepKind, Workflow};

use super::{Engine, Error};
use crate::prompt;

impl Engine {
    /// Takes secrets out of an input, and says which were in it.
    pub(crate) fn filter_input(&self, input: &mut Input) -> RemovedSecrets {
        let mut filter = SecretFilter::new(&self.redactor);
        filter.input(input);
        filter.removed
    }

    /// Takes secrets out of a decision, and says which were in it.
    pub fn filter_decision(&self, decision: &mut Decision) -> RemovedSecrets {
        let mut filter = SecretFilter::new(&self.redactor);
        filter.decision(decision);
        filter.removed
    }

    /// A plan as a run would take it: without secrets.
    pub(crate) fn filtered_plan(&self, mut plan: Plan) -> Plan {
        SecretFilter::new(&self.redactor).plan(&mut plan);
        plan
    }
}

/// Refuses a plan that has a secret where it cannot be taken out: in what things are named by.
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

/// Takes secrets out of the names of checks. What they run stays as it is.
pub(super) fn filter_check_names(workflow: &mut Workflow, redactor: &Redactor) {
    for step in workflow.steps.values_mut() {
        if let StepKind::Gate { checks } = &mut step.kind {
            for check in checks {
                SecretFilter::new(redactor).text(&mut check.name);
            }
        }
    }
}

/// The secrets that were taken out of what somebody said, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovedSecrets(RedactionCounts);

impl RemovedSecrets {
    /// What to say to whoever said it; nothing if there was no secret.
    pub fn notice(&self) -> Option<String> {
        let kinds: Vec<&str> = self.0.keys().copied().collect();
        let what = match self.0.values().sum::<usize>() {
            0 => return None,
            1 => "a secret was".to_owned(),
            many => format!("{many} secrets were"),
        };
        Some(format!(
            "{what} taken out of what you said ({}): nothing of it is stored, and workers read \
             `[redacted: …]` instead; what is no secret can be named in `redaction.allow`",
            kinds.join(", ")
        ))
    }
}

/// Takes secrets out of texts and counts them.
pub(super) struct SecretFilter<'a> {
    redactor: &'a Redactor,
    pub(super) removed: RemovedSecrets,
}

impl<'a> SecretFilter<'a> {
    pub(super) fn new(redactor: &'a Redactor) -> Self {
        Self {
            redactor,
            removed: RemovedSecrets::default(),
        }
    }

    pub(super) fn text(&mut self, text: &mut String) {
        let redacted = self.redactor.redact(text);
        for (kind, count) in redacted.hits {
            *self.removed.0.entry(kind).or_default() += count;
        }
        if let std::borrow::Cow::Owned(clean) = redacted.text {
            *text = clean;
        }
    }

    pub(super) fn plan(&mut self, plan: &mut Plan) {
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

    fn input(&mut self, input: &mut Input) {
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
                // A file may be named by the secret that is in it.
                let files = std::mem::take(&mut packed.redacted);
                for (mut file, count) in files {
                    self.text(&mut file);
                    *packed.redacted.entry(file).or_default() += count;
                }
            }
            // Only names, numbers, times and hashes.
            Input::Resumed { .. }
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
                prompt::redact(value, self.redactor);
            }
        }
        for step in started.workflow.steps.values_mut() {
            if let StepKind::Person { question, .. } = &mut step.kind {
                self.text(question);
            }
        }
    }

    fn decision(&mut self, decision: &mut Decision) {
        match decision {
            Decision::Answer { answer, note, .. } => {
                self.text(answer);
                self.text(note);
            }
            Decision::Revise { plan } => self.plan(plan),
            Decision::Abort { reason } => self.text(reason),
            Decision::Retry { note, plan, .. } => {
                self.text(note);
                if let Some(plan) = plan {
                    self.plan(plan);
                }
            }
            Decision::Accept { note, .. } => self.text(note),
            // Commands of checks are kept as they are written: they are what is run.
            Decision::Repin { .. }
            | Decision::Reassign { .. }
            | Decision::Skip { .. }
            | Decision::RaiseLimits { .. } => {}
        }
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
