//! Reads past commits, with their messages and the files they touched.

use codeteam_context::find::words::WordBag;
use codeteam_context::find::{Commit, TouchedFile, history};

use super::{Error, Oid, Repo};

/// The limit of files that are compared with each other to detect renames.
const COMPARED: &str = "-l500";
/// How much of the repository git keeps in memory while it reads the past: by default it maps whole
/// packs, and keeps 96 MiB of objects besides. A pack as servers send it takes no longer to read
/// with these limits; one that was never repacked takes some seconds more.
const MEMORY: [(&str, &str); 7] = [
    ("GIT_CONFIG_COUNT", "3"),
    ("GIT_CONFIG_KEY_0", "core.packedGitWindowSize"),
    ("GIT_CONFIG_VALUE_0", "1m"),
    ("GIT_CONFIG_KEY_1", "core.packedGitLimit"),
    ("GIT_CONFIG_VALUE_1", "64m"),
    ("GIT_CONFIG_KEY_2", "core.deltaBaseCacheLimit"),
    ("GIT_CONFIG_VALUE_2", "16m"),
];

impl Repo {
    /// Returns the newest commits of `tip`, at most `most`, newest first, without merges and
    /// without the commits of `known`. One process; a second one if renames cannot be detected
    /// because contents are missing, as in a partial clone.
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
            let call = MEMORY
                .iter()
                .fold(call, |call, (name, value)| call.env(name, value));
            match known {
                Some(known) => call.arg(format!("{known}..{tip}")),
                None => call.arg(tip),
            }
        };
        let call = log(&["-M", COMPARED]);
        let output = self.git.run_with_status(&call)?;
        let (call, output) = if output.status.success() {
            (call, output.stdout)
        } else {
            let call = log(&["--no-renames"]);
            let output = self.git.run(&call)?;
            (call, output)
        };
        parse_commits(&output).ok_or_else(|| call.unexpected_output("a garbled commit"))
    }

    /// Returns the patches of the newest commits that touch any of these files, among the last
    /// `depth` of `tip`, with their ids. Two processes.
    pub fn patches_touching(
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

    /// Returns true if `one` is the same commit as `other` or an ancestor of it. A commit that does
    /// not exist is not. One process.
    pub fn is_ancestor(&self, one: &Oid, other: &Oid) -> Result<bool, Error> {
        let call = self.plumbing().args(["merge-base", "--is-ancestor"]);
        let output = self.git.run_with_status(&call.arg(one).arg(other))?;
        Ok(output.status.success())
    }
}

/// Parses the output of `log`.
fn parse_commits(output: &[u8]) -> Option<Vec<Commit>> {
    let mut fields = output
        .split(|byte| *byte == 0)
        .map(|field| field.strip_prefix(b"\n").unwrap_or(field));
    let mut commits: Vec<Commit> = Vec::new();
    while let Some(field) = fields.next() {
        // Empty fields separate commits, and a message from its files.
        if field.is_empty() {
            continue;
        }
        let text = String::from_utf8_lossy(field);
        if Oid::parse(&text).is_some() {
            let mut next = || fields.next().map(String::from_utf8_lossy);
            let parents = next()?.split_whitespace().map(str::to_owned).collect();
            let time = next()?.trim().parse().ok()?;
            let message = history::clean_message(&next()?);
            commits.push(Commit {
                id: text.into_owned(),
                parents,
                time,
                subject: message.lines().next().unwrap_or_default().to_owned(),
                words: WordBag::from_text(&message),
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
