//! Adds checks to gates: what the steps before them demand, and what the workflow locks.

use codeteam_core::ids::StepId;
use codeteam_core::workflow::{Check, CheckKind, EachItem, ExitTarget, Step, StepKind};

use super::{CHECK_TIMEOUT_MS, WorkflowCompiler};

impl WorkflowCompiler<'_> {
    /// Lets the next gate after a step check what the step's `config` demands of tests: `coverage` and
    /// `min_tests_per_component`.
    pub(super) fn add_demanded_checks(&mut self) {
        let mut demanded = Vec::new();
        for step in self.steps.values() {
            let StepKind::Role(role) = &step.kind else {
                continue;
            };
            let number = |key: &str| {
                let value = role.config.get(key).and_then(serde_json::Value::as_u64);
                value.and_then(|number| u32::try_from(number).ok())
            };
            let coverage =
                number("coverage").map(|min_percent| CheckKind::Coverage { min_percent });
            let count = number("min_tests_per_component").map(|min| CheckKind::TestCount {
                min,
                tests: self.surroundings.test_paths.clone(),
            });
            let named = [("coverage", coverage), ("number of tests", count)];
            let Some(gate) = self.next_gate(step) else {
                continue;
            };
            for (name, what) in named {
                demanded.extend(what.map(|what| (gate.clone(), name, what)));
            }
        }
        for (gate, name, what) in demanded {
            if let Some(StepKind::Gate { checks }) = self.steps.get_mut(&gate).map(|s| &mut s.kind)
                && checks.iter().all(|check| check.what != what)
            {
                checks.push(Check {
                    name: name.to_owned(),
                    what,
                    timeout_ms: CHECK_TIMEOUT_MS,
                });
            }
        }
    }

    /// Returns the first gate that regularly follows a step.
    fn next_gate(&self, step: &Step) -> Option<StepId> {
        let mut next = step.next.clone();
        for _ in 0..self.steps.len() {
            let ExitTarget::Step(id) = &next else {
                return None;
            };
            let step = self.steps.get(id)?;
            if matches!(step.kind, StepKind::Gate { .. }) {
                return Some(id.clone());
            }
            next = step.next.clone();
        }
        None
    }

    /// Where interfaces are locked, lets every gate of a task check that their files are left as they
    /// are.
    pub(super) fn check_locked_files(&mut self) {
        let locks = |step: &Step| step.kind == StepKind::Lock;
        if !self.steps.values().any(locks) {
            return;
        }
        let is_tasks = |step: &StepId| {
            let kind = self.steps.get(step).map(|step| &step.kind);
            matches!(kind, Some(StepKind::Each { over, .. }) if *over == EachItem::Task)
        };
        let of_tasks = self.steps.values();
        let of_tasks = of_tasks.filter(|step| step.scope.as_ref().is_some_and(is_tasks));
        let of_tasks: Vec<StepId> = of_tasks.map(|step| step.id.clone()).collect();
        for step in of_tasks {
            if let Some(StepKind::Gate { checks }) = self.steps.get_mut(&step).map(|s| &mut s.kind)
            {
                checks.push(Check {
                    name: "interfaces".to_owned(),
                    what: CheckKind::Interfaces,
                    timeout_ms: CHECK_TIMEOUT_MS,
                });
            }
        }
    }
}
