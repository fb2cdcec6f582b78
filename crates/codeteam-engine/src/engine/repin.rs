//! Compiles a run's workflow again, as the configuration is now, and compares it with what the run
//! has pinned.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use codeteam_core::Run;
use codeteam_core::event::RunChoices;
use codeteam_core::ids::WorkerName;
use codeteam_core::operator::Operator;
use codeteam_core::repin::PinnedWorkflow;
use codeteam_core::role::Role;
use codeteam_core::workflow::StepKind;
use codeteam_host::git::Oid;
use serde::Serialize;

use super::{Engine, Error, Project, RunRequest, fork};

/// What differs between two pinned workflows: the names of what is new, gone or changed, and for
/// what is changed, the keys that differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WorkflowDifference {
    /// Steps.
    pub steps: BTreeMap<String, String>,
    /// Roles.
    pub roles: BTreeMap<String, String>,
    /// Limits, settings and other keys of the workflow, prompt templates, strategies and rules.
    pub other: BTreeSet<String>,
}

impl WorkflowDifference {
    /// Returns true if nothing differs.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Compares two pinned workflows.
    pub fn between(before: &PinnedWorkflow, now: &PinnedWorkflow) -> Self {
        let mut other = BTreeSet::new();
        let (old, new) = (keys_of(&before.workflow), keys_of(&now.workflow));
        let keys = old.keys().chain(new.keys());
        let keys = keys.filter(|key| *key != "steps" && old.get(*key) != new.get(*key));
        other.extend(keys.cloned());
        for (name, differs) in [
            ("prompts", before.templates != now.templates),
            ("strategies", before.strategies != now.strategies),
            ("rules", before.rules != now.rules),
        ] {
            other.extend(differs.then(|| name.to_owned()));
        }
        Self {
            steps: differing(&before.workflow.steps, &now.workflow.steps),
            roles: differing(&before.roles, &now.roles),
            other,
        }
    }
}

impl Engine {
    /// Compiles the workflow of a run as a run with the same choices would have it now.
    pub fn current_workflow(&self, run: &Run) -> Result<PinnedWorkflow, Error> {
        let RunChoices {
            workflow,
            cast,
            set,
        } = match &run.choices {
            Some(choices) => RunChoices::clone(choices),
            None => RunChoices {
                workflow: Some(run.workflow.name.clone()),
                ..RunChoices::default()
            },
        };
        let project = Project::find_with_settings(self.repo.top_level(), self.env.clone(), &set)?;
        let prepared = project.prepare(&RunRequest {
            goal: run.goal.clone(),
            workflow,
            worker: common_worker(run).map(|worker| worker.0.clone()),
            script: fork::script_of(run).map(PathBuf::from),
            base: Oid::parse(run.base.commit.as_str()),
            role_replacements: cast,
            settings: run.workflow.settings.clone(),
            hands: Operator::Workers,
            set,
            restricted: run.access.restricted,
            ..RunRequest::default()
        })?;
        let mut workflow = prepared.compiled.workflow;
        // Where the commits go was settled when the run began, by what was checked out then.
        workflow
            .steps
            .retain(|_, step| !matches!(step.kind, StepKind::Deliver { .. }));
        if let Some(step) = run.workflow.delivery_step() {
            workflow.steps.insert(step.id.clone(), step.clone());
        }
        Ok(PinnedWorkflow {
            workflow,
            roles: prepared.compiled.roles,
            templates: prepared.templates,
            strategies: prepared.strategies,
            rules: prepared.rules,
            accounts: prepared.accounts,
        })
    }
}

impl Engine {
    /// Compares what a run has pinned with another version of it.
    pub fn workflow_difference(&self, run: &Run, now: &PinnedWorkflow) -> WorkflowDifference {
        WorkflowDifference::between(&run.pinned_workflow(), now)
    }
}

/// Returns the worker that carries out every role of a run: it was named for all of them.
fn common_worker(run: &Run) -> Option<&WorkerName> {
    let mut roles = run.roles.values();
    let first = roles.next()?.workers.first()?;
    let is_alone = |role: &Role| role.workers == [first.clone()];
    run.roles.values().all(is_alone).then_some(first)
}

/// Returns the keys of a value and their values.
fn keys_of(value: &impl Serialize) -> serde_json::Map<String, serde_json::Value> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::Object(keys)) => keys,
        _ => serde_json::Map::new(),
    }
}

/// Says of each item that differs whether it is new, gone or changed, and in what.
fn differing<K: Ord + ToString, T: Serialize + PartialEq>(
    before: &BTreeMap<K, T>,
    now: &BTreeMap<K, T>,
) -> BTreeMap<String, String> {
    let names: BTreeSet<&K> = before.keys().chain(now.keys()).collect();
    let word = |name: &K| match (before.get(name), now.get(name)) {
        (Some(old), Some(new)) if old == new => None,
        (Some(old), Some(new)) => {
            let (old, new) = (keys_of(old), keys_of(new));
            let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            let keys = keys
                .into_iter()
                .filter(|key| old.get(*key) != new.get(*key));
            let keys: Vec<&str> = keys.map(String::as_str).collect();
            Some(format!("changed: {}", keys.join(", ")))
        }
        (None, Some(_)) => Some("new".to_owned()),
        _ => Some("gone".to_owned()),
    };
    let found = names
        .into_iter()
        .filter_map(|name| Some((name.to_string(), word(name)?)));
    found.collect()
}
