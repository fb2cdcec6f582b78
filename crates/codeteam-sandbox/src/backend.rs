//! The way a command is confined on this host.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::cgroup::{Cgroup, Hierarchy, Limited};
use crate::policy::Policy;
use crate::spec::Spec;

/// How the running program is brought into [`shim::main`](crate::shim::main).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shim {
    /// The program; usually the running one.
    pub program: PathBuf,
    /// Its first arguments; `shim::main` is given those that follow.
    pub entry: Vec<String>,
}

/// Bubblewrap, found to work by [`probe`](crate::probe()).
#[derive(Debug, Clone)]
pub struct Backend {
    bwrap: PathBuf,
    shim: Shim,
    hierarchy: Hierarchy,
}

impl Backend {
    pub(crate) fn new(bwrap: PathBuf, shim: Shim, hierarchy: Hierarchy) -> Self {
        Self {
            bwrap,
            shim,
            hierarchy,
        }
    }

    /// The bubblewrap that is used.
    pub fn bwrap(&self) -> &Path {
        &self.bwrap
    }

    /// What is limited for a command as a whole.
    pub fn limited(&self) -> Limited {
        self.hierarchy.limits()
    }

    /// The same without cgroups, for commands so short that joining one, which
    /// takes the kernel some ten milliseconds, is not worth it.
    #[must_use]
    pub fn without_cgroups(self) -> Self {
        Self {
            hierarchy: Hierarchy::default(),
            ..self
        }
    }

    /// Prepares to run a command under a policy. What the shim has to know is
    /// written to `spec`, a path that must not exist, in a directory that no
    /// confined command sees.
    pub fn confine(
        &self,
        policy: Policy,
        spec: &Path,
        program: &OsStr,
        args: &[OsString],
    ) -> io::Result<Confined> {
        let cgroup = self.hierarchy.make(&policy.limits)?;
        let contents = Spec {
            bwrap: self.bwrap.clone(),
            entry: self.shim.entry.clone(),
            cgroups: cgroup.join(),
            policy,
        };
        contents.write(spec)?;
        Ok(Confined {
            program: self.shim.program.clone(),
            args: contents.arguments(spec, program, args),
            spec: spec.to_owned(),
            _cgroup: cgroup,
        })
    }
}

/// A command that will run confined. To be spawned with a
/// [`Lifeline`](crate::Lifeline) as standard input and pipes (or nothing) as
/// standard output and error; kept until its end, and then dropped.
#[derive(Debug)]
pub struct Confined {
    /// The program to spawn.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    spec: PathBuf,
    _cgroup: Cgroup,
}

impl Drop for Confined {
    fn drop(&mut self) {
        // The shim has removed it, unless it never ran.
        let _ = fs::remove_file(&self.spec);
    }
}
