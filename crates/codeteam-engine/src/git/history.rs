//! Past commits, with their messages and the files they touched.

use codeteam_context::find::words::WordBag;
use codeteam_context::find::{Commit, TouchedFile, history};

use super::{Error, Oid, Repo};

/// The most files of a commit and another that are compared to find what was moved.
const COMPARED: &str = "-l500";

impl Repo {
    /// The newest commits of `tip`, at most so many, newest first, without merges and without those
    /// of `known`. One process; a second one where files that moved cannot be found because contents
    /// are missing, as in a partial clone.
    pub fn history(
        &self,
        tip: &Oid,
        known: Option<&Oid>,
        most: usize,
    ) -> Result<Vec<Commit>, Error> {
        // All fields end in NUL, which neither a message nor a path can hold.
        const FORMAT: &str = "--format=%x00%H%x00%P%x00%ct%x00%B%x00";
        let log = |moved: &[&str]| {
            let call = self
                .plumbing()
                .args(["log", "-z", "--no-merges", "--name-status"])
                .args(["--no-color", "--no-notes", "--no-mailmap"])
                .args(["--no-show-signature", "--no-ext-diff", "--no-textconv"])
                .args(moved)
                .arg(format!("--max-count={most}"))
                .args([FORMAT, "--end-of-options"]);
            match known {
                Some(known) => call.arg(format!("{known}..{tip}")),
                None => call.arg(tip),
            }
        };
        let call = log(&["-M", COMPARED]);
        let output = self.git.attempt(&call)?;
        let (call, output) = if output.status.success() {
            (call, output.stdout)
        } else {
            let call = log(&["--no-renames"]);
            let output = self.git.run(&call)?;
            (call, output)
        };
        commits(&output).ok_or_else(|| call.unexpected("a garbled commit"))
    }

    /// The patches of the newest commits that touch some of these files, among the last `depth` of
    /// `tip`, with their ids. Two processes.
    pub fn patches(
        &self,
        tip: &Oid,
        files: &[&str],
        depth: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let call = self
            .plumbing()
            .args(["rev-list", "--max-count=1"])
            .arg(format!("--skip={depth}"))
            .arg(tip);
        let oldest = String::from_utf8_lossy(&self.git.run(&call)?)
            .trim()
            .to_owned();
        let range = if oldest.is_empty() {
            tip.to_string()
        } else {
            format!("{oldest}..{tip}")
        };
        let call = self
            .plumbing()
            .args([
                "log",
                "--no-merges",
                "--patch",
                "--no-renames",
                "--format=%x00%H",
            ])
            .args([
                "--no-color",
                "--no-notes",
                "--no-mailmap",
                "--no-show-signature",
            ])
            .args(["--no-ext-diff", "--no-textconv", "--max-count=50"])
            .args(["--src-prefix=a/", "--dst-prefix=b/", "--end-of-options"])
            .arg(range)
            .arg("--")
            .args(files);
        let output = self.git.run(&call)?;
        let commits = output.split(|byte| *byte == 0).filter_map(|part| {
            let end = part.iter().position(|byte| *byte == b'\n')?;
            let id = String::from_utf8_lossy(&part[..end]).into_owned();
            Oid::parse(&id).map(|_| (id, part[end..].to_vec()))
        });
        Ok(commits.collect())
    }

    /// Whether a commit is the other, or comes before it. One that there is not does not. One
    /// process.
    pub fn is_ancestor(&self, one: &Oid, other: &Oid) -> Result<bool, Error> {
        let call = self.plumbing().args(["merge-base", "--is-ancestor"]);
        let output = self.git.attempt(&call.arg(one).arg(other))?;
        Ok(output.status.success())
    }
}

/// Reads what `log` printed.
fn commits(output: &[u8]) -> Option<Vec<Commit>> {
    let mut fields = output
        .split(|byte| *byte == 0)
        .map(|field| field.strip_prefix(b"\n").unwrap_or(field));
    let mut commits: Vec<Commit> = Vec::new();
    while let Some(field) = fields.next() {
        // What is empty stands between commits, and between a message and the files.
        if field.is_empty() {
            continue;
        }
        let text = String::from_utf8_lossy(field);
        if Oid::parse(&text).is_some() {
            let mut next = || fields.next().map(String::from_utf8_lossy);
            let parents = next()?.split_whitespace().map(str::to_owned).collect();
            let time = next()?.trim().parse().ok()?;
            let message = history::clean(&next()?);
            commits.push(Commit {
                id: text.into_owned(),
                parents,
                time,
                subject: message.lines().next().unwrap_or_default().to_owned(),
                words: WordBag::of(&message),
                files: Vec::new(),
            });
            continue;
        }
        let commit = commits.last_mut()?;
        let path = String::from_utf8_lossy(fields.next()?).into_owned();
        let (path, before) = match field[0] {
            b'R' => {
                let now = String::from_utf8_lossy(fields.next()?).into_owned();
                (now, Some(path))
            }
            b'C' => (String::from_utf8_lossy(fields.next()?).into_owned(), None),
            b'A' | b'D' | b'M' | b'T' | b'U' | b'X' => (path, None),
            _ => return None,
        };
        commit.files.push(TouchedFile {
            path,
            before,
            added: matches!(field[0], b'A' | b'C'),
        });
    }
    Some(commits)
}
