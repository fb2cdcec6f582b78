//! Finds out whether the commands of a gate notice a failing test, where none of them reports which
//! tests it has run.
//!
//! A command that reports its tests is believed as far as its report agrees with what was reported
//! before the change. One that reports nothing, as a script that hides the output of its tests, is
//! tried: a test that must fail is put into the project's test files. Normally the command fails, and
//! nothing more is said. If it passes, it either never ran these tests, which is for reviewers and
//! people to know, or the change keeps it from failing, which the same trial without the change
//! shows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use codeteam_core::findings::{ReportedFinding, Severity};
use codeteam_core::workflow::{Check, CheckKind};
use codeteam_host::git::{Oid, TreeEdit, TreeFile};
use codeteam_verify::CheckFindings;
use codeteam_verify::failing_probe::{ProbeText, probe_text, takes_probe};
use codeteam_verify::honesty::HonestySubject;
use codeteam_verify::proof::{only_reads, runs_tests};

use super::GateChecks;
use super::proof::TreeTrial;
use crate::perform::{Error, oid};

/// The most files that get a failing test. Only one of them has to be run.
const MOST_FILES: usize = 20;
/// The longest test file that gets one.
const LONGEST_FILE: u64 = 1 << 20;

/// Whether the commands noticed failing tests before the change.
enum NoticedBefore {
    Yes,
    No,
    Unknown,
}

impl GateChecks<'_> {
    /// Tries whether the passed commands notice a failing test, if they ran tests and none of them
    /// reports any.
    pub(super) fn find_unnoticed_failures(
        &self,
        subject: &HonestySubject<'_>,
    ) -> Result<CheckFindings, Error> {
        let nothing = CheckFindings::default();
        let Some((check, commands)) = self.silent_commands() else {
            return Ok(nothing);
        };
        let tree = oid(&self.look.tree.0)?;
        let files = self.look.workspace.tree_files(&tree)?;
        let mut paths = files.iter().filter_map(|file| file.path.to_str());
        let Some(first) = paths.find(|path| subject.tests.is_test_program(path)) else {
            // There are no tests that could be run.
            return Ok(nothing);
        };
        let mut carriers = select_carriers(&files, subject);
        put_representative_first(&mut carriers, subject);
        carriers.truncate(MOST_FILES);
        let probes = carriers.iter().map(|file| (*file, ProbeText::WithFailing));
        let edits = self.probe_edits(probes)?;
        let named = list_commands(&commands);
        if edits.is_empty() {
            let why = format!("and codeteam can put no failing test into a file such as {first}");
            return Ok(unseen_tests(&named, &why, Severity::Info));
        }
        let failing = self.look.workspace.tree_with(&tree, &edits)?;
        match self.try_tree(&failing, &commands, check.timeout_ms)? {
            TreeTrial::Failed(..) => return Ok(nothing),
            TreeTrial::Unclear(why) => {
                let why = format!("and with a failing test among them, {why}");
                return Ok(unseen_tests(&named, &why, Severity::Info));
            }
            TreeTrial::Passed => {}
        }
        let spots: Vec<&Path> = edits.iter().map(|edit| edit.path.as_path()).collect();
        let places = list_places(&spots);
        Ok(
            match self.noticed_before(subject, (check, &commands), &spots)? {
                NoticedBefore::Yes => CheckFindings {
                    failures: vec![format!(
                        "{named}: passes with this change even if a failing test is put into {places}, and before the \
                     change it failed with one: take out what ends the tests early or hides how they end"
                    )],
                    ..nothing
                },
                NoticedBefore::No => {
                    let why = format!(
                        "and passes, with and without the change, even if a failing test is put into {places}"
                    );
                    unseen_tests(&named, &why, Severity::Minor)
                }
                NoticedBefore::Unknown => {
                    let why = format!("and passes even if a failing test is put into {places}");
                    unseen_tests(&named, &why, Severity::Minor)
                }
            },
        )
    }

    /// Returns the passed commands that may run tests, with the check that has the longest time, if
    /// no passed command of the gate reports tests.
    fn silent_commands(&self) -> Option<(&Check, Vec<String>)> {
        let engine = self.look.context.engine;
        let tree = self.look.tree.as_str();
        let mut silent: Vec<(&Check, &String)> = Vec::new();
        for (check, result) in self.checks.iter().zip(&self.results) {
            let CheckKind::Command(command) = &check.what else {
                continue;
            };
            let has_passed = result.as_ref().is_some_and(|result| result.passed);
            if !has_passed || !engine.test_reports.is_known(tree, command) {
                continue;
            }
            let report = engine.test_reports.get(tree, command);
            if report.is_some_and(|report| report.ran() > 0) {
                return None;
            }
            if !only_reads(command) {
                silent.push((check, command));
            }
        }
        // If none looks like tests, any of them may run tests.
        let is_test = |(check, command): &(&Check, &String)| runs_tests(&check.name, command);
        if silent.iter().any(is_test) {
            silent.retain(is_test);
        }
        let (check, _) = *silent.iter().max_by_key(|(check, _)| check.timeout_ms)?;
        let commands = silent.iter().map(|(_, command)| (*command).clone());
        Some((check, commands.collect()))
    }

    /// Finds out whether the commands noticed failing tests in these files before the change.
    fn noticed_before(
        &self,
        subject: &HonestySubject<'_>,
        (check, commands): (&Check, &[String]),
        probed: &[&Path],
    ) -> Result<NoticedBefore, Error> {
        let base = oid(&self.look.job.base.tree.0)?;
        let files = self.look.workspace.tree_files(&base)?;
        let carriers = select_carriers(&files, subject);
        let (probed, others): (Vec<&TreeFile>, Vec<&TreeFile>) = carriers
            .into_iter()
            .partition(|file| probed.contains(&file.path.as_path()));
        if probed.is_empty() {
            return Ok(NoticedBefore::Unknown);
        }
        // The old tests may fail without the change, which says nothing about one that is put in. In
        // that case they make room for it.
        let quiet = |files: &[&'_ TreeFile]| {
            let quiet = files.iter().map(|file| (*file, ProbeText::OnlyPassing));
            self.probe_edits(quiet)
        };
        let passes = |edits: &[TreeEdit]| -> Result<Option<bool>, Error> {
            let tree = match edits {
                [] => base.clone(),
                edits => self.look.workspace.tree_with(&base, edits)?,
            };
            Ok(match self.try_tree(&tree, commands, check.timeout_ms)? {
                TreeTrial::Passed => Some(true),
                TreeTrial::Failed(..) => Some(false),
                TreeTrial::Unclear(_) => None,
            })
        };
        let failing = |probe: ProbeText| self.probe_edits(probed.iter().map(|file| (*file, probe)));
        let with_failing = if passes(&[])? == Some(true) {
            failing(ProbeText::WithFailing)?
        } else {
            let rest = quiet(&others)?;
            if passes(&[quiet(&probed)?, rest.clone()].concat())? != Some(true) {
                return Ok(NoticedBefore::Unknown);
            }
            [failing(ProbeText::OnlyFailing)?, rest].concat()
        };
        Ok(match passes(&with_failing)? {
            Some(true) => NoticedBefore::No,
            Some(false) => NoticedBefore::Yes,
            None => NoticedBefore::Unknown,
        })
    }

    /// Puts probes into these files.
    fn probe_edits<'f>(
        &self,
        probes: impl Iterator<Item = (&'f TreeFile, ProbeText)> + Clone,
    ) -> Result<Vec<TreeEdit>, Error> {
        let workspace = self.look.workspace;
        let ids: Vec<&Oid> = probes.clone().map(|(file, _)| &file.id).collect();
        let texts = workspace.read_blobs(&ids)?;
        let mut edits = Vec::new();
        for (file, probe) in probes {
            let (Some(path), Some(bytes)) = (file.path.to_str(), texts.get(&file.id)) else {
                continue;
            };
            let text = std::str::from_utf8(bytes).ok();
            let Some(text) = text.and_then(|text| probe_text(path, text, probe)) else {
                continue;
            };
            edits.push(TreeEdit {
                path: file.path.clone(),
                content: Some((file.mode, workspace.write_blob(text.as_bytes())?)),
            });
        }
        Ok(edits)
    }
}

/// Returns the files of a tree that a failing test can be put into.
fn select_carriers<'f>(files: &'f [TreeFile], subject: &HonestySubject<'_>) -> Vec<&'f TreeFile> {
    let takes = |file: &&TreeFile| {
        let path = file.path.to_str();
        path.is_some_and(|path| takes_probe(path, subject.tests))
            && (1..=LONGEST_FILE).contains(&file.bytes)
    };
    files.iter().filter(takes).collect()
}

/// Orders test files so that the first of them stand for all: one of each folder, and files that the
/// change does not touch, which are the same without it.
fn put_representative_first(files: &mut [&TreeFile], subject: &HonestySubject<'_>) {
    let mut seen: BTreeMap<PathBuf, usize> = BTreeMap::new();
    files.sort_by_cached_key(|file| {
        let path = file.path.to_str();
        let is_touched = path.is_none_or(|path| subject.change.file(path).is_some());
        let folder = file.path.parent().map(Path::to_path_buf);
        let before = seen.entry(folder.unwrap_or_default()).or_default();
        *before += 1;
        (is_touched, *before)
    });
}

/// Says that nothing shows whether the commands run the project's tests.
fn unseen_tests(commands: &str, why: &str, severity: Severity) -> CheckFindings {
    CheckFindings {
        inconclusive: Some(format!(
            "nothing shows that {commands} runs the tests: it reports none that codeteam can read, {why}"
        )),
        findings: vec![ReportedFinding {
            severity,
            title: format!("nothing shows that {commands} runs the tests"),
            detail: format!(
                "It reports no tests that codeteam can read, {why}. That the checks pass says little about this \
                 change: judge it as if no test had run. For later changes, let the command print the summary of \
                 its test runner, or add one that does to `verification.commands`."
            ),
            file: None,
            line: None,
        }],
        ..CheckFindings::default()
    }
}

fn list_commands(commands: &[String]) -> String {
    let quoted: Vec<String> = commands
        .iter()
        .map(|command| format!("`{command}`"))
        .collect();
    quoted.join(", ")
}

fn list_places(places: &[&Path]) -> String {
    const SHOWN: usize = 3;
    let shown = &places[..places.len().min(SHOWN)];
    let shown: Vec<String> = shown
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let shown = shown.join(", ");
    match places.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
