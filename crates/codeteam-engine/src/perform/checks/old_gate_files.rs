//! Runs the commands of a gate with the files that tests and scripts load as they were before the
//! change, where reading the change does not tell what these files do to the checks.

use codeteam_core::findings::{ReportedFinding, Severity};
use codeteam_core::workflow::CheckKind;
use codeteam_verify::CheckFindings;
use codeteam_verify::honesty::{
    GateFileDoubt, HonestySubject, doubtful_gate_files, foreign_test_changes,
};

use super::GateChecks;
use super::proof::{ChangeEnd, TreeTrial, name};
use crate::perform::{Error, oid};

impl GateChecks<'_> {
    /// Runs the passed commands with the doubtful files of the change, and its tests, as they were
    /// before. Adds what that shows.
    pub(super) fn try_old_gate_files(
        &self,
        subject: &HonestySubject<'_>,
        found: &mut CheckFindings,
    ) -> Result<(), Error> {
        let doubtful = doubtful_gate_files(subject);
        for doubt in [GateFileDoubt::LoadedByTests, GateFileDoubt::PerhapsProduct] {
            let files = doubtful.iter().filter(|(_, known)| *known == doubt);
            let paths: Vec<&str> = files.map(|(file, _)| file.path.as_str()).collect();
            if paths.is_empty() {
                continue;
            }
            let names = paths.join(", ");
            match self.try_with_old(subject, &paths)? {
                None | Some(TreeTrial::Passed) => {}
                Some(TreeTrial::Unclear(why)) => {
                    let why = format!("with {names} as before the change, {why}");
                    found.inconclusive.get_or_insert(why);
                }
                Some(TreeTrial::Failed(command, _)) => match doubt {
                    GateFileDoubt::LoadedByTests => found.failures.push(format!(
                        "{names}: as before the change, the tests that were there fail (`{command}`), so the \
                         change passes because of what is loaded with them\nleave it as it was, and mend the \
                         code, or name it in the task's `files`"
                    )),
                    GateFileDoubt::PerhapsProduct => found.findings.push(ReportedFinding {
                        severity: Severity::Minor,
                        title: format!("the checks pass only with {names} changed"),
                        detail: format!(
                            "A script of the checks runs it. As it was before, with the tests as they were \
                             before, `{command}` fails. If it belongs to the product, that is as it must be. If it \
                             belongs to the checks, the change passes because it was changed."
                        ),
                        file: paths.first().map(|path| (*path).to_owned()),
                        line: None,
                    }),
                },
            }
        }
        Ok(())
    }

    /// Tries the passed commands on the tree with these files and the changed tests as they were
    /// before the change. Returns `None` if no command has passed.
    fn try_with_old(
        &self,
        subject: &HonestySubject<'_>,
        paths: &[&str],
    ) -> Result<Option<TreeTrial>, Error> {
        let mut commands = Vec::new();
        let mut timeout_ms = 0;
        for (check, result) in self.checks.iter().zip(&self.results) {
            if let (CheckKind::Command(command), Some(result)) = (&check.what, result)
                && result.passed
            {
                commands.push(command.clone());
                timeout_ms = timeout_ms.max(check.timeout_ms);
            }
        }
        if commands.is_empty() {
            return Ok(None);
        }
        let tests = foreign_test_changes(subject);
        let is_old =
            |path: &str| paths.contains(&path) || tests.iter().any(|file| file.path == path);
        let tree = oid(&self.look.tree.0)?;
        let old = self.tree_with_files(&tree, |file| is_old(&name(file)), ChangeEnd::Before)?;
        self.try_tree(&old, &commands, timeout_ms).map(Some)
    }
}
