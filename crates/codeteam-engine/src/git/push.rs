//! Pushing, because the user said so by name. It is their git, with their environment, their hooks and
//! their terminal: what they would have got from their own shell.

use super::command::GitCall;
use super::{Error, Repo};

/// Where a branch would be pushed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushTarget {
    /// Its name.
    pub name: String,
    /// Whether the branch has a place there already, and `git push` alone knows it.
    pub is_known: bool,
}

impl Repo {
    /// Where the branch `name` (a short name) would be pushed to: where the user's configuration says,
    /// else `origin`, else the first there is. Two processes.
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

    /// Pushes the branch `name` (a short name), which is checked out. What git says goes to the user's
    /// terminal.
    pub fn push(&self, name: &str, remote: &PushTarget) -> Result<(), Error> {
        let call = GitCall::checkout(self.top_level()).arg("push");
        let call = if remote.is_known {
            call
        } else {
            let to = format!("refs/heads/{name}");
            call.args(["--set-upstream", &remote.name]).arg(to)
        };
        let status = self.git.hand_over(&call)?;
        if status.success() {
            Ok(())
        } else {
            Err(call.refused(status))
        }
    }
}
