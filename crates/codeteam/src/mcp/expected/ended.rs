//! What is said when a task has ended.

use std::fmt::Write as _;

use codeteam_core::event::{DeliveryOutcome, FrameOutcome};
use codeteam_core::frame::Frame;
use codeteam_core::hands::Operator;
use codeteam_core::ids::FramePath;
use codeteam_core::session;
use codeteam_core::workflow::CheckClass;
use codeteam_engine::git::reference;
use codeteam_engine::{artifacts, tell};
use serde_json::json;

use super::{SessionView, design, last_rejection};
use crate::mcp::answer::ToolAnswer;

impl SessionView<'_> {
    /// How it ended.
    pub(super) fn ended(&self) -> ToolAnswer {
        let root = self.run.frames.get(&FramePath::root());
        let root = root.or_else(|| self.run.failed.get(&FramePath::root()));
        match &self.run.outcome {
            Some(FrameOutcome::Completed | FrameOutcome::Skipped) | None => self.complete(root),
            Some(FrameOutcome::Failed(why)) => {
                let last = root.map(last_rejection).unwrap_or_default();
                let suggestion = format!(
                    "Tell the user. Nothing was merged; {}. `{} retry {}` takes it up again, \
                     `start_task` begins anew.",
                    self.made(),
                    self.codeteam,
                    self.run.id
                );
                self.escalated(why, root, &last, &suggestion)
            }
            Some(FrameOutcome::Aborted(why)) => self.aborted(why),
            Some(FrameOutcome::Cancelled) => self.aborted("it was stopped"),
        }
    }

    /// Where what was made is, if anything was.
    fn made(&self) -> String {
        let branch = &self.run.branch;
        match self.engine.repo.read_ref(&reference(branch)) {
            Ok(Some(_)) => format!("what was made is on `{branch}`"),
            _ => "nothing was submitted".to_owned(),
        }
    }

    fn aborted(&self, why: &str) -> ToolAnswer {
        let text = "The task was ended. Tell the user; nothing more is expected of you. The checkout is as \
                    it was left, and what was submitted is kept.";
        self.of_run(ToolAnswer::new("aborted", text))
            .with("reason", json!(why))
            .with("run_path", json!(self.path()))
    }

    fn complete(&self, root: Option<&Frame>) -> ToolAnswer {
        let summary = root.and_then(|f| f.outputs.change.as_ref());
        let summary = summary.map_or(self.run.goal.as_str(), |change| change.summary.as_str());
        let files = root.and_then(|f| f.change.as_ref());
        let files = files
            .map(|change| change.files.as_slice())
            .unwrap_or_default();
        let requirements = root.map(|f| f.outputs.known_requirements());
        let requirements = requirements.unwrap_or_default();
        let whole = root.and_then(|f| f.outputs.whole_design());
        let whole = whole.as_ref().map(design).unwrap_or_default();
        let gates = root
            .map(|f| session::judges(self.run, f))
            .unwrap_or_default();
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
        let person = root.and_then(|f| f.accepted_by.as_ref());
        let over = root.filter(|_| person.is_some());
        let over = over.map(Frame::overruled).unwrap_or_default();
        let judged = match person {
            Some(person) => format!("{person} took it over {}", tell::names(&over)),
            None => "every gate has approved exactly this change".to_owned(),
        };
        let mut text = format!(
            "The task is complete: {judged}.{by} {} Tell the user; nothing more is expected of you.",
            self.delivered()
        );
        let gates = root.into_iter().flat_map(|f| f.record.gates.values());
        let mut results = gates.flat_map(|gate| &gate.results);
        if results.all(|result| result.class == CheckClass::Honesty) {
            text.push_str(
                " Tell them too that no check of the project was run, because none is configured.",
            );
        }
        if !self.run.edited_config.is_empty() {
            let _ = write!(
                text,
                " Tell them this, too: {}",
                tell::edited_config(&self.run.edited_config)
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
        self.of_run(ToolAnswer::new("task_complete", text))
            .always("success", json!(true))
            .with("summary", json!(summary))
            .always("iterations", json!(root.map_or(0, Frame::iterations)))
            .always("files_changed", json!(files))
            .always("requirements", json!(requirements))
            .always("design", json!(whole))
            .with("git_branch", json!(self.branch()))
            .with("run_path", json!(self.path()))
            .with("accepted_by", json!(person))
            .with("accepted_over", json!(over))
            .part("What was done", summary)
            .list("Files", files.iter().map(String::as_str))
            .part("Requirements", &requirements)
            .part("Details", &format!("{}/summary.md", self.path()))
    }

    /// Where the commits are, and that the files are in the checkout already: it was made there.
    fn delivered(&self) -> String {
        let mut text = match &self.run.delivered {
            Some(DeliveryOutcome::Forward { branch, .. }) => format!("It is on `{branch}`."),
            Some(DeliveryOutcome::Patch { file }) => format!(
                "It is in the patch `{file}`, which applies to the commit the task began on."
            ),
            Some(DeliveryOutcome::Left { why }) => {
                format!("It is on `{}`, because {why}.", self.run.branch)
            }
            None => format!(
                "It is on the branch `{}`; `{} merge {}` brings it to the user's.",
                self.run.branch, self.codeteam, self.run.id
            ),
        };
        if self.run.hands == Operator::Session {
            text.push_str(" The checkout has the change already.");
        }
        text
    }

    /// The run's branch, if that is where its commits are.
    fn branch(&self) -> Option<&str> {
        match &self.run.delivered {
            Some(DeliveryOutcome::Patch { .. }) => None,
            Some(DeliveryOutcome::Forward { branch, .. }) => Some(branch),
            _ => Some(&self.run.branch),
        }
    }

    /// The folder of the run's files, from the top of the project.
    pub(in crate::mcp) fn path(&self) -> String {
        let folder = artifacts::folder(self.engine, self.run);
        let top = self.engine.folder.parent();
        let inside = top.and_then(|top| folder.strip_prefix(top).ok());
        inside.unwrap_or(&folder).display().to_string()
    }
}
