//! Keeps a run within what the user has trusted its repository with.

use codeteam_core::Run;
use codeteam_core::event::SandboxKind;

use super::Engine;
use crate::halt::Halt;
use crate::trust::TrustStore;

/// The key with which a repository requests another sandbox, or none.
const BACKEND: &str = "sandbox.backend";

impl Engine {
    /// Refuses to continue a run that would get more access than the user allows now. Requests in
    /// the repository's current files are in the configuration only if they are trusted now; this
    /// function checks what the run has pinned.
    pub(crate) fn check_access(&self, run: &Run) -> Result<(), Halt> {
        if run.is_terminal() {
            return Ok(());
        }
        if run.access.restricted && !self.config.grants().is_empty() {
            return Err(Halt::Restricted);
        }
        let mut pinned = run.access.granted.iter();
        let Some(pinned) = pinned.find(|grant| grant.key == BACKEND) else {
            return Ok(());
        };
        let configured = self
            .config
            .sandbox
            .backend
            .unwrap_or(SandboxKind::Bubblewrap);
        let store = TrustStore::for_user(&self.env);
        let is_trusted = store.is_some_and(|store| {
            let granted = store.granted(self.repo.top_level());
            granted.contains(pinned)
        });
        if is_trusted || configured == run.sandbox || configured == SandboxKind::None {
            return Ok(());
        }
        Err(Halt::Untrusted {
            asked: format!("{BACKEND}: {}", pinned.value),
        })
    }
}
