//! Compares the current configuration with what a run pinned when it began.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use codeteam_core::Run;
use codeteam_core::event::RunChoices;
use codeteam_core::ids::StepId;
use codeteam_core::operator::Operator;
use codeteam_core::workflow::{Check, StepKind};

use super::{Engine, Error, Project, RunRequest};
use codeteam_host::error_chain::format_error_chain;

/// The result of comparing the currently configured checks with those of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CurrentChecks {
    /// The checks are the same.
    Same,
    /// These gates have other checks now.
    Changed(BTreeMap<StepId, Vec<Check>>),
    /// The checks differ or cannot be determined, and the run keeps its own, for this reason.
    Kept(String),
}

impl Engine {
    /// Compiles a run's workflow again and compares the checks of its gates with the pinned ones.
    pub fn current_checks(&self, run: &Run) -> CurrentChecks {
        let choices = match &run.choices {
            Some(choices) => RunChoices::clone(choices),
            None => RunChoices {
                workflow: Some(run.workflow.name.clone()),
                ..RunChoices::default()
            },
        };
        let differing = match self.differing_checks(run, choices) {
            Ok(differing) => differing,
            Err(error) if run.choices.is_some() => {
                return CurrentChecks::Kept(format_error_chain(&error));
            }
            // An older codeteam did not record what the workflow was compiled with.
            Err(_) => return CurrentChecks::Same,
        };
        if differing.is_empty() {
            return CurrentChecks::Same;
        }
        if run.started_by == Operator::Session {
            let why = "a session began the run, and could have changed the configuration itself";
            return CurrentChecks::Kept(why.to_owned());
        }
        if run.choices.is_none() {
            let why = "an older codeteam began the run, and did not record how";
            return CurrentChecks::Kept(why.to_owned());
        }
        CurrentChecks::Changed(differing)
    }

    fn differing_checks(
        &self,
        run: &Run,
        choices: RunChoices,
    ) -> Result<BTreeMap<StepId, Vec<Check>>, Error> {
        let RunChoices {
            workflow,
            cast,
            set,
        } = choices;
        let project = Project::find_with_settings(self.repo.top_level(), self.env.clone(), &set)?;
        let compiled = project.workflow(&RunRequest {
            workflow,
            role_replacements: cast,
            hands: run.started_by,
            ..RunRequest::default()
        })?;
        let mut differing = BTreeMap::new();
        for (id, step) in &compiled.workflow.steps {
            let pinned = run.step(id).map(|step| &step.kind);
            if let (StepKind::Gate { checks }, Some(StepKind::Gate { checks: before })) =
                (&step.kind, pinned)
                && checks != before
            {
                differing.insert(id.clone(), checks.clone());
            }
        }
        Ok(differing)
    }

    /// Returns a file of the project's roles, workflows, prompts or strategies that was changed
    /// after a run began. The run keeps what it pinned of them.
    pub fn changed_since(&self, run: &Run) -> Option<PathBuf> {
        let began = UNIX_EPOCH + Duration::from_millis(run.started.0);
        let folders = ["roles", "agents", "workflows", "prompts", "strategies"];
        let changed = folders
            .iter()
            .find_map(|folder| newer_file(&self.folder.join(folder), began, 4));
        let path = changed?;
        let top = self.repo.top_level();
        Some(path.strip_prefix(top).map_or(path.clone(), Path::to_owned))
    }
}

/// Returns the first file below a folder that was modified after the given time.
fn newer_file(folder: &Path, than: SystemTime, depth: usize) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().find_map(|path| {
        let found = path.symlink_metadata().ok()?;
        if found.is_dir() && depth > 0 {
            return newer_file(&path, than, depth - 1);
        }
        let is_newer = found.modified().is_ok_and(|at| at > than);
        (found.is_file() && is_newer).then_some(path)
    })
}
