//! Describes the commit that a person is asked to approve.

use codeteam_context::quoted::unquote;
use codeteam_core::Run;
use codeteam_core::commit_message::commit_message;
use codeteam_core::frame::Question;
use codeteam_core::workflow::{DeliveryMethod, ExitTarget, StepKind, Workflow};
use serde::Serialize;

use crate::records::ProjectRecords;
use crate::trailers::{commit_trailers, task_name};

/// The largest number of files listed by name; beyond it, files are only counted.
const SHOWN: usize = 20;

/// A commit that would be made if a person approves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CommitProposal {
    /// The commit message, without trailers.
    pub message: String,
    /// The trailers that codeteam appends to the message.
    pub trailers: String,
    /// The files that the commit touches.
    pub files: Vec<ProposedFile>,
    /// The branch that the commit would be on, or the reference if there is no branch.
    pub branch: String,
    /// What happens at the end of the run.
    pub then: String,
}

/// A file of the proposed change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProposedFile {
    /// The path from the top of the repository.
    pub path: String,
    /// Lines added and removed; `None` for a binary file.
    pub lines: Option<(u64, u64)>,
}

/// Returns the commit that would be made if a person approves a question; `None` if the question
/// does not lead to a commit.
pub fn propose_commit(
    records: ProjectRecords<'_>,
    run: &Run,
    question: &Question,
) -> Option<CommitProposal> {
    let commits = |target: &ExitTarget| match target {
        ExitTarget::Step(step) => {
            let kind = run.step(step).map(|step| &step.kind);
            matches!(kind, Some(StepKind::Commit { .. }))
        }
        ExitTarget::Done | ExitTarget::Fail => false,
    };
    let StepKind::Person { answers, .. } = &run.step(&question.id.step)?.kind else {
        return None;
    };
    if !answers.iter().any(|a| !a.rejects && commits(&a.next)) {
        return None;
    }
    let frame = run.frames.get(&question.id.frame)?;
    let change = frame.change.as_ref()?;
    let diff = records.bodies.get(change.diff.as_str()).unwrap_or_default();
    let then = describe_delivery(&run.workflow);
    // Whoever approves over an objection accepts the change, and verifies nothing.
    let overrules = !frame.objector_names().is_empty();
    let accepted_by = frame.acceptance.by.as_deref();
    let accepted_by = accepted_by.or(overrules.then_some("whoever approves it"));
    Some(CommitProposal {
        message: commit_message(run, frame).unwrap_or_default(),
        trailers: commit_trailers(
            &run.id,
            &task_name(frame),
            &change.by,
            &frame.tree,
            accepted_by,
        ),
        files: parse_changed_files(&diff),
        branch: run.branch.clone(),
        then,
    })
}

/// Describes what becomes of a run's commits at its end.
pub fn describe_delivery(workflow: &Workflow) -> String {
    match workflow.delivery_step().map(|step| &step.kind) {
        Some(StepKind::Deliver { how }) => match how {
            DeliveryMethod::Forward {
                branch: Some(branch),
                ..
            } => format!("at the end {branch} is moved forward to it"),
            DeliveryMethod::Forward { branch: None, .. } => String::new(),
            DeliveryMethod::Patch => "at the end a patch is left".to_owned(),
        },
        _ => "nothing is merged or pushed".to_owned(),
    }
}

impl CommitProposal {
    /// Renders the proposal for people, each part under a heading word.
    pub fn to_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut under = |word: &str, texts: &mut dyn Iterator<Item = String>| {
            for (n, text) in texts.enumerate() {
                let word = if n == 0 { word } else { "" };
                lines.push(format!("{word:<7} {text}").trim_end().to_owned());
            }
        };
        let message = if self.message.is_empty() {
            "(its message is still to be written)"
        } else {
            &self.message
        };
        under("commit", &mut message.lines().map(str::to_owned));
        let shown = self.files.iter().take(SHOWN);
        let width = shown.clone().map(|f| f.path.chars().count()).max();
        let width = width.unwrap_or(0);
        let file = |file: &ProposedFile| match file.lines {
            Some((added, removed)) => format!("{:<width$}  +{added} -{removed}", file.path),
            None => format!("{:<width$}  binary", file.path),
        };
        let more = self.files.len().saturating_sub(SHOWN);
        let more = (more > 0).then(|| format!("and {more} more"));
        under("files", &mut shown.map(file).chain(more));
        let then = if self.then.is_empty() {
            String::new()
        } else {
            format!(" ({})", self.then)
        };
        under("on", &mut std::iter::once(format!("{}{then}", self.branch)));
        under("trailer", &mut self.trailers.lines().map(str::to_owned));
        lines
    }
}

/// Parses the files of a patch and their line counts, in the form that git writes without renames.
fn parse_changed_files(diff: &[u8]) -> Vec<ProposedFile> {
    let mut files: Vec<ProposedFile> = Vec::new();
    // The lines of the current hunk still to come, old and new. Inside a hunk no line is a header.
    let (mut old, mut new) = (0_u64, 0_u64);
    for line in diff.split(|byte| *byte == b'\n') {
        if old > 0 || new > 0 {
            let counts = files.last_mut().and_then(|file| file.lines.as_mut());
            match (line.first(), counts) {
                (Some(b'+'), Some((added, _))) => {
                    *added += 1;
                    new = new.saturating_sub(1);
                }
                (Some(b'-'), Some((_, removed))) => {
                    *removed += 1;
                    old = old.saturating_sub(1);
                }
                (Some(b'\\'), _) => {}
                _ => {
                    old = old.saturating_sub(1);
                    new = new.saturating_sub(1);
                }
            }
        } else if let Some(names) = line.strip_prefix(b"diff --git ") {
            let path = parse_path(names);
            // A file that changes its type is listed twice: as removed and as added.
            if files.last().is_none_or(|file| file.path != path) {
                let lines = Some((0, 0));
                files.push(ProposedFile { path, lines });
            }
        } else if line == b"GIT binary patch" {
            if let Some(file) = files.last_mut() {
                file.lines = None;
            }
        } else if let Some(hunk) = line.strip_prefix(b"@@ -") {
            (old, new) = parse_hunk_lengths(&String::from_utf8_lossy(hunk)).unwrap_or_default();
        }
    }
    files
}

/// Parses `a/name b/name`, where both names are the same and each is quoted if it has special
/// characters.
fn parse_path(names: &[u8]) -> String {
    let half = &names[names.len() / 2 + 1..];
    let plain = unquote(half);
    let plain = plain.strip_prefix(b"b/").unwrap_or(&plain);
    String::from_utf8_lossy(plain).into_owned()
}

/// Parses the old and new line counts of a hunk header: `1,2 +1,3 @@ …`.
fn parse_hunk_lengths(hunk: &str) -> Option<(u64, u64)> {
    let (old, rest) = hunk.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let length = |range: &str| match range.split_once(',') {
        Some((_, length)) => length.parse().ok(),
        None => Some(1),
    };
    Some((length(old)?, length(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_patch_are_counted() {
        let patch = b"diff --git a/a b.txt b/a b.txt\nindex 1..2 100644\n--- a/a b.txt\t\n+++ b/a b.txt\t\n\
            @@ -1,3 +1,3 @@ fn x()\n one\n--- a line of dashes\n+++ a line of pluses\n three\n\
            @@ -9 +9,2 @@\n-x\n+y\n+z\n\\ No newline at end of file\n\
            diff --git \"a/t\\303\\244\\n\" \"b/t\\303\\244\\n\"\nnew file mode 100644\nindex 0..1\n\
            GIT binary patch\nliteral 3\nKcmZ\n\n\
            diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n\
            diff --git a/link b/link\ndeleted file mode 100644\n--- a/link\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
            diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n@@ -0,0 +1 @@\n+y\n";
        let file = |path: &str, lines| ProposedFile {
            path: path.to_owned(),
            lines,
        };
        let expected = [
            file("a b.txt", Some((3, 2))),
            file("t\u{e4}\n", None),
            file("run.sh", Some((0, 0))),
            file("link", Some((1, 1))),
        ];
        assert_eq!(parse_changed_files(patch), expected);
    }

    #[test]
    fn a_proposal_in_lines() {
        let proposal = CommitProposal {
            message: "feat: do it\n\nBecause.".to_owned(),
            trailers: "Codeteam-Run: r\nCodeteam-Task: t\n".to_owned(),
            files: (0..22)
                .map(|n| ProposedFile {
                    path: format!("{n}.rs"),
                    lines: (n > 0).then_some((n, 1)),
                })
                .collect(),
            branch: "codeteam/r".to_owned(),
            then: "nothing is pushed".to_owned(),
        };
        let lines = proposal.to_lines();
        assert_eq!(lines[..3], ["commit  feat: do it", "", "        Because."]);
        assert_eq!(lines[3], "files   0.rs   binary");
        assert_eq!(lines[4], "        1.rs   +1 -1");
        assert_eq!(lines[23], "        and 2 more");
        assert_eq!(lines[24], "on      codeteam/r (nothing is pushed)");
        assert_eq!(lines[25], "trailer Codeteam-Run: r");
        assert_eq!(lines.len(), 27);
    }
}
