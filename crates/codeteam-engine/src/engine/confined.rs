//! How what a run starts is confined, marked and limited.

use std::ffi::OsString;
use std::sync::Arc;

use codeteam_core::event::SandboxKind;
use codeteam_core::ids::RunId;

use super::Engine;
use crate::config;
use crate::confine::{self, Confinement, ConfinementError};
use crate::process::{CommandLauncher, DiskLimit, MARK, UnconfinedLauncher};
use crate::workspace::{self, Workspace};

impl Engine {
    /// What confines workers and gates, found to work the first time it is asked for.
    pub fn launcher(
        &self,
        sandbox: SandboxKind,
    ) -> Result<Arc<dyn CommandLauncher>, ConfinementError> {
        self.launcher_by(sandbox, &self.config.sandbox)
    }

    /// The same, if this is what the configuration says of it.
    pub(crate) fn launcher_by(
        &self,
        sandbox: SandboxKind,
        config: &config::SandboxConfig,
    ) -> Result<Arc<dyn CommandLauncher>, ConfinementError> {
        let key = (sandbox, format!("{config:?}"));
        let mut known = self
            .launchers
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(launcher) = known.get(&key) {
            return Ok(Arc::clone(launcher));
        }
        let confinement = Confinement::find(
            sandbox,
            &self.env,
            config,
            &confine::private_paths(&self.env, Some(&self.repo)),
            &self.codeteam,
            &self.workspaces.join(".sandbox"),
        )?;
        let launcher: Arc<dyn CommandLauncher> = match confinement {
            Some(confinement) => Arc::new(confinement),
            None => Arc::new(self.unconfined()),
        };
        known.insert(key, Arc::clone(&launcher));
        Ok(launcher)
    }

    /// What runs a command on the host, as the user would.
    pub(crate) fn unconfined(&self) -> UnconfinedLauncher {
        confine::unconfined(&self.env)
    }

    /// A workspace of a run. What a worker has written in there is looked at only by what is
    /// confined as the run's workers are.
    pub(crate) fn workspace(
        &self,
        run: &RunId,
        sandbox: SandboxKind,
        name: &str,
    ) -> Result<Workspace, workspace::Error> {
        let workspace = Workspace::open(&self.repo, &self.workspaces_of(run), name)?;
        match sandbox {
            SandboxKind::None => Ok(workspace),
            SandboxKind::Bubblewrap | SandboxKind::Container => {
                let mark = format!("{}/git", self.mark_of(run));
                workspace.confined(&self.launcher(sandbox)?, &mark)
            }
        }
    }

    /// How much a command in a workspace may leave there.
    pub(crate) fn disk(workspace: &Workspace, config: &config::SandboxConfig) -> DiskLimit {
        let megabytes = config.limits.disk_mb;
        DiskLimit {
            folders: vec![workspace.tree_dir(), workspace.git_dir()],
            bytes: megabytes.unwrap_or(config::DISK_MB).saturating_mul(1 << 20),
        }
    }

    /// What marks every process of a run. Two projects may have runs of the same name, so it
    /// carries the repository too: sweeping one run must never reach another's.
    pub(crate) fn mark_of(&self, run: &RunId) -> String {
        let repository = self
            .workspaces
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        format!("{repository}/{run}")
    }

    /// The environment of a child: what it needs, its mark, and nothing else of codeteam's own.
    pub(crate) fn child_env(
        mark: &str,
        more: Vec<(OsString, OsString)>,
    ) -> Vec<(OsString, OsString)> {
        let mut env: Vec<(OsString, OsString)> = vec![
            ("LANG".into(), "C.UTF-8".into()),
            ("TERM".into(), "dumb".into()),
            (MARK.into(), mark.into()),
        ];
        env.extend(more);
        env
    }
}
