//! The folder in which a worker's CLI keeps its conversation.

use std::fs;
use std::path::{Path, PathBuf};

use codeteam_core::assignment::Assignment;
use codeteam_core::budget::Usage;
use codeteam_core::event::SandboxKind;
use codeteam_host::process::HostView;
use codeteam_sandbox::{MountAccess, MountEntry, policy};

use super::files::io_error;
use super::session_usage::SessionUsageReader;
use super::{Error, Job};
use crate::dialect::DialectName;
use crate::dialect::session_usage::writes_session_usage;
use crate::engine::Engine;
use crate::workers::Worker;

/// The folder in which a worker's CLI keeps its conversation: for roles that may continue it, where
/// each slot has one for as long as the run lasts, and for workers whose usage is measured by it, where
/// each attempt has one.
pub(super) struct ConversationDir {
    folder: PathBuf,
    /// The path where the CLI looks for it, relative to its home.
    place: &'static str,
    /// Whether a later attempt may continue what is in it.
    is_kept: bool,
    /// Whether something is in it from an earlier attempt.
    is_there: bool,
}

impl ConversationDir {
    pub(super) fn open(
        job: &Job,
        assignment: &Assignment,
        worker: &Worker,
        engine: &Engine,
    ) -> Result<Option<Self>, Error> {
        let Some(place) = worker.dialect.dialect().session_folder() else {
            return Ok(None);
        };
        let is_kept = assignment.means.continues;
        let limits = &assignment.limits;
        let is_limited = limits.max_tokens.is_some() || limits.max_cost_microusd.is_some();
        // Without a sandbox the CLI uses the user's own folder, which is nobody else's business.
        let is_measured =
            is_limited && writes_session_usage(worker.dialect) && job.sandbox != SandboxKind::None;
        if !is_kept && !is_measured {
            return Ok(None);
        }
        let mut slot = format!(
            "{}:{}.{}:{}",
            job.id.frame, job.id.step, job.id.slot, worker.name
        );
        if !is_kept {
            slot = job.id.to_string();
        }
        let name = blake3::hash(slot.as_bytes()).to_hex();
        let folder = engine
            .attempts_folder(&job.run)
            .join(format!("{}.sessions", &name[..16]));
        let is_there = folder.is_dir();
        fs::create_dir_all(&folder).map_err(io_error("make the folder", &folder))?;
        Ok(Some(Self {
            folder,
            place,
            is_kept,
            is_there,
        }))
    }

    /// Returns true if a later attempt may continue the session.
    pub(super) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Returns true if the session that the assignment names can be continued.
    pub(super) fn can_continue(&self) -> bool {
        self.is_kept && self.is_there
    }

    pub(super) fn show(&self, view: &mut HostView) {
        view.entries.push(MountEntry::Bind {
            source: self.folder.clone(),
            target: Path::new(policy::HOME).join(self.place),
            access: MountAccess::Writable,
        });
    }

    /// Returns what measures the usage of an attempt by the files of its session, if the CLI writes it
    /// there. `before` is the usage of the session up to this attempt.
    pub(super) fn measure(
        &self,
        dialect: DialectName,
        before: Usage,
    ) -> Option<SessionUsageReader> {
        writes_session_usage(dialect)
            .then(|| SessionUsageReader::begin(dialect, self.folder.clone(), before))
    }
}
