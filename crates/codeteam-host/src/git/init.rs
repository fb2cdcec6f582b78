//! Creates a new repository with one commit, for the sample project of the demo.

use std::path::Path;

use super::command::GitCall;
use super::{CommitSignature, Error, GitIdentity, GitProgram};

impl GitProgram {
    /// Turns a directory into a repository on the branch `main`, with everything in it as the first
    /// commit. Three processes.
    pub fn init(
        &self,
        directory: &Path,
        message: &str,
        signature: &CommitSignature,
    ) -> Result<(), Error> {
        let call = |args: &[&str]| GitCall::checkout(directory).args(args);
        self.run(&call(&["init", "--quiet", "--initial-branch=main"]))?;
        self.run(&call(&["add", "--all"]))?;
        let date = format!("@{} +0000", signature.seconds);
        let GitIdentity { name, email } = &signature.identity;
        let commit = call(&["commit", "--quiet", "--message", message])
            .env("GIT_AUTHOR_NAME", name)
            .env("GIT_AUTHOR_EMAIL", email)
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_NAME", name)
            .env("GIT_COMMITTER_EMAIL", email)
            .env("GIT_COMMITTER_DATE", &date);
        self.run(&commit)?;
        Ok(())
    }
}
