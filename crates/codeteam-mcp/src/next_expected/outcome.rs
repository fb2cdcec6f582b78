//! Builds the answers given when a task has ended.

use std::fmt::Write as _;

use codeteam_core::event::DeliveryOutcome;
use codeteam_core::frame::FrameOutcome;
use codeteam_core::ids::FramePath;
use codeteam_core::operator::Operator;
use codeteam_host::git::reference_name;
use codeteam_report::view::SessionFrameView;
use codeteam_report::{artifacts, describe};
use serde_json::json;

use super::{SessionView, format_design};
use crate::tool_answer::ToolAnswer;

impl SessionView<'_> {
    /// Returns the answer that says how the task ended.
    pub(super) fn ended_answer(&self) -> ToolAnswer {
        let root = self.run.session_frame(&FramePath::root());
        let root = root.as_ref();
        match &self.run.outcome {
            Some(FrameOutcome::Completed | FrameOutcome::Skipped) | None => {
                self.completed_answer(root)
            }
            Some(FrameOutcome::Failed(why)) => {
                let last = root
                    .map(SessionFrameView::last_rejection)
                    .unwrap_or_default();
                let suggestion = format!(
                    "Tell the user. Nothing was merged; {}. `{} retry {}` continues it, \
                     `start_task` starts over.",
                    self.location_of_work(),
                    self.codeteam,
                    self.run.id
                );
                self.escalation_answer(why, root, &last, &suggestion)
            }
            Some(FrameOutcome::Aborted(why)) => self.aborted_answer(why),
            Some(FrameOutcome::Cancelled) => self.aborted_answer("it was stopped"),
        }
    }

    /// Says where the submitted work is, if there is any.
    fn location_of_work(&self) -> String {
        let branch = &self.run.branch;
        match self.engine.repo.read_ref(&reference_name(branch)) {
            Ok(Some(_)) => format!("the work so far is on `{branch}`"),
            _ => "nothing was submitted".to_owned(),
        }
    }

    fn aborted_answer(&self, why: &str) -> ToolAnswer {
        let text = "The task was ended. Tell the user; you have nothing more to do. The checkout is as \
                    it was left, and what was submitted is kept.";
        self.with_run(ToolAnswer::new("aborted", text))
            .with("reason", json!(why))
            .with("run_path", json!(self.run_folder()))
    }

    fn completed_answer(&self, root: Option<&SessionFrameView>) -> ToolAnswer {
        let summary = root.and_then(|root| root.claimed.as_ref());
        let summary = summary.map_or(self.run.goal.as_str(), |change| change.summary.as_str());
        let files = root.and_then(|root| root.changed_files.as_deref());
        let files = files.unwrap_or_default();
        let requirements = root.map_or("", |root| root.requirements.as_str());
        let whole = root.and_then(|root| root.design.as_ref());
        let whole = whole.map(format_design).unwrap_or_default();
        let gates = root.map_or(&[][..], |root| &root.verdicts);
        let gates: Vec<String> = gates
            .iter()
            .filter(|(_, approved)| *approved)
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        let by = if gates.is_empty() {
            String::new()
        } else {
            format!(" Approved by {}.", gates.join(", "))
        };
        let person = root.and_then(|root| root.accepted_by.as_ref());
        let over = root.filter(|_| person.is_some());
        let over = over.map_or(&[][..], |root| &root.overruled);
        let judged = match person {
            Some(person) => format!(
                "{person} accepted it despite {}",
                describe::objection_names(over)
            ),
            None => "every gate has approved exactly this change".to_owned(),
        };
        let mut text = format!(
            "The task is complete: {judged}.{by} {} Tell the user; you have nothing more to do.",
            self.describe_delivery()
        );
        if !root.is_some_and(|root| root.project_checks_ran) {
            text.push_str(
                " Tell them too that no check of the project was run, because none is configured.",
            );
        }
        if !self.run.edited_config.is_empty() {
            let _ = write!(
                text,
                " Tell them this, too: {}",
                describe::edited_config_warning(&self.run.edited_config)
            );
        }
        let edited = self.history.edited();
        if !edited.is_empty() {
            let _ = write!(
                text,
                " Edited in the checkout after it was submitted, and not part of it: {}.",
                edited.join(", ")
            );
        }
        self.with_run(ToolAnswer::new("task_complete", text))
            .with_always("success", json!(true))
            .with("summary", json!(summary))
            .with_always("iterations", json!(root.map_or(0, |root| root.iterations)))
            .with_always("files_changed", json!(files))
            .with_always("requirements", json!(requirements))
            .with_always("design", json!(whole))
            .with("git_branch", json!(self.run_branch()))
            .with("run_path", json!(self.run_folder()))
            .with("accepted_by", json!(person))
            .with("accepted_over", json!(over))
            .with_section("What was done", summary)
            .with_list("Files", files.iter().map(String::as_str))
            .with_section("Requirements", requirements)
            .with_section("Details", &format!("{}/summary.md", self.run_folder()))
    }

    /// Says where the commits are, and that the files are already in the checkout, because they
    /// were made there.
    fn describe_delivery(&self) -> String {
        let mut text = match &self.run.delivered {
            Some(DeliveryOutcome::Forward { branch, .. }) => format!("It is on `{branch}`."),
            Some(DeliveryOutcome::Patch { file }) => format!(
                "It is in the patch `{file}`, which applies to the commit the task began on."
            ),
            Some(DeliveryOutcome::Left { why }) => {
                format!("It is on `{}`, because {why}.", self.run.branch)
            }
            None => format!(
                "It is on the branch `{}`; `{} merge {}` merges it into the user's.",
                self.run.branch, self.codeteam, self.run.id
            ),
        };
        if self.run.operator == Operator::Session {
            text.push_str(" The checkout has the change already.");
        }
        text
    }

    /// Returns the run's branch, if that is where its commits are.
    fn run_branch(&self) -> Option<&str> {
        match &self.run.delivered {
            Some(DeliveryOutcome::Patch { .. }) => None,
            Some(DeliveryOutcome::Forward { branch, .. }) => Some(branch),
            _ => Some(&self.run.branch),
        }
    }

    /// Returns the folder of the run's files, relative to the top of the project.
    pub(crate) fn run_folder(&self) -> String {
        let folder = artifacts::run_folder(self.engine.records(), self.run.as_run());
        let top = self.engine.folder.parent();
        let inside = top.and_then(|top| folder.strip_prefix(top).ok());
        inside.unwrap_or(&folder).display().to_string()
    }
}
