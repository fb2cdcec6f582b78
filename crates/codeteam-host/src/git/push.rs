//! Pushes a branch, only when the user asked for it. The push uses the user's git with their
//! environment, their hooks and their terminal, as if they had run it in their own shell.

use super::command::GitCall;
use super::{Error, Repo};

/// The remote that a branch would be pushed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushTarget {
    /// The name of the remote.
    pub name: String,
    /// Whether the branch already has an upstream there, so that a plain `git push` works.
    pub is_known: bool,
}

impl Repo {
    /// Returns the remote that the branch `name` (a short name) would be pushed to: the one in the
    /// user's configuration, or else `origin`, or else the first. Two processes.
    pub fn remote_for(&self, name: &str) -> Result<Option<PushTarget>, Error> {
        let call = self
            .checkout()
            .args(["for-each-ref", "--format=%(push:remotename)%00%(upstream)"])
            .arg(format!("refs/heads/{name}"));
        let output = self.git.run(&call)?;
        let text = String::from_utf8_lossy(&output);
        let (configured, upstream) = text.trim_end().split_once('\0').unwrap_or_default();
        let names = self.git.run(&self.checkout().arg("remote"))?;
        let names = String::from_utf8_lossy(&names);
        let mut names = names.lines();
        let first = names.clone().next();
        let usual = names.find(|name| *name == "origin").or(first);
        let name = if configured.is_empty() {
            usual
        } else {
            Some(configured)
        };
        Ok(name.map(|name| PushTarget {
            name: name.to_owned(),
            is_known: !upstream.is_empty(),
        }))
    }

    /// Pushes the branch `name` (a short name), which is checked out. Git prints to the user's
    /// terminal.
    pub fn push(&self, name: &str, remote: &PushTarget) -> Result<(), Error> {
        let call = GitCall::checkout(self.top_level()).arg("push");
        let call = if remote.is_known {
            call
        } else {
            let to = format!("refs/heads/{name}");
            call.args(["--set-upstream", &remote.name]).arg(to)
        };
        let status = self.git.run_on_terminal(&call)?;
        if status.success() {
            Ok(())
        } else {
            Err(call.refusal(status))
        }
    }
}
