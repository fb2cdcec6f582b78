//! Declared outputs of a step: an answer that lacks one goes back to whoever gave it.

use codeteam_patterns::FilePatterns;

use super::Decider;
use crate::ids::AttemptId;
use crate::input::WorkerReport;
use crate::plan::Plan;
use crate::role::Contract;
use crate::submission::{Design, Submission};
use crate::workflow::StepKind;

/// A declared output, as far as a machine can look for it.
enum DeclaredOutput<'a> {
    /// The parts of a design that become tasks.
    Components,
    /// Interfaces, each with its definition.
    Interfaces,
    /// A plan in which every task names its files.
    FileTargets,
    /// Any change.
    Change,
    /// A file that the change must touch: a path or a pattern.
    File(&'a str),
    /// A section of a design.
    Section(&'a str),
    /// Something that only the worker can understand.
    Words,
}

impl<'a> DeclaredOutput<'a> {
    fn read(name: &'a str, submission: &Submission) -> Self {
        let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        match (name, submission) {
            ("components" | "dependency_graph", Submission::Design(_)) => Self::Components,
            ("interfaces", Submission::Design(_)) => Self::Interfaces,
            ("file_targets", Submission::Plan(_)) => Self::FileTargets,
            ("code" | "files_modified", Submission::Change(_)) => Self::Change,
            (_, Submission::Change(_)) if is_file(name) => Self::File(name),
            (_, Submission::Design(_)) if name != "design" && name.chars().all(is_name) => {
                Self::Section(name)
            }
            _ => Self::Words,
        }
    }
}

impl Decider {
    /// Returns the output of its step that an answer lacks, in words for the worker.
    pub(super) fn missing_output(
        &self,
        id: &AttemptId,
        submission: &Submission,
        report: &WorkerReport,
    ) -> Option<String> {
        let StepKind::Role(step) = &self.run.step(&id.step)?.kind else {
            return None;
        };
        let files = || {
            let change = report.change.as_ref();
            change.map_or(&[][..], |(_, change)| change.files.as_slice())
        };
        step.outputs.iter().find_map(|name| {
            match (DeclaredOutput::read(name, submission), submission) {
                (DeclaredOutput::Components, Submission::Design(design)) => {
                    self.missing_components(id, design)
                }
                (DeclaredOutput::Interfaces, Submission::Design(design)) => {
                    self.missing_interfaces(id, design)
                }
                (DeclaredOutput::FileTargets, Submission::Plan(planned)) => {
                    missing_files(&planned.plan)
                }
                (DeclaredOutput::Change, _) if files().is_empty() => {
                    Some(format!("`{name}` is missing: the change is empty"))
                }
                (DeclaredOutput::File(pattern), _) => {
                    let patterns = FilePatterns::lenient([pattern]);
                    let is_there = files().iter().any(|file| patterns.matches(file));
                    (!is_there)
                        .then(|| format!("`{name}` is missing: the change touches no such file"))
                }
                (DeclaredOutput::Section(name), Submission::Design(design)) => {
                    let contract = self.attempt_role(id).map(|role| role.contract);
                    // This contract has no place for a text.
                    let has_text = contract != Some(Contract::Supervisor);
                    missing_section(name, design).filter(|_| has_text)
                }
                _ => None,
            }
        })
    }

    fn missing_components(&self, id: &AttemptId, design: &Design) -> Option<String> {
        let Some((phase, plan)) = self.phase_after(id, design) else {
            return design.components.is_empty().then(|| {
                "`components` is missing: the parts of the design, each with an `id`, its `files` and \
                 what it `depends_on`"
                    .to_owned()
            });
        };
        let mut tasks = plan.tasks.iter();
        let has_tasks = tasks.any(|task| task.phase.as_ref() == Some(&phase));
        (!has_tasks).then(|| {
            format!(
                "`components` is missing: phase `{phase}` has no tasks, and its components become them"
            )
        })
    }

    fn missing_interfaces(&self, id: &AttemptId, design: &Design) -> Option<String> {
        let are_there = match self.phase_after(id, design) {
            Some((phase, plan)) => plan.phase(&phase).is_some_and(|p| !p.interfaces.is_empty()),
            None => !design.interfaces.is_empty(),
        };
        (!are_there).then(|| {
            "`interfaces` is missing: each one needs a `name`, a `type` and its whole `definition`"
                .to_owned()
        })
    }
}

/// Returns true if a declared output is the path of a file, or a pattern.
fn is_file(name: &str) -> bool {
    !name.contains(char::is_whitespace) && name.contains(['/', '.', '*'])
}

/// Returns what is wrong with a plan in which a task names no files.
fn missing_files(plan: &Plan) -> Option<String> {
    let task = plan.tasks.iter().find(|task| task.files.is_empty())?;
    Some(format!(
        "`file_targets` is missing: task `{}` names no `files`",
        task.id
    ))
}

/// Returns what is wrong with a design that has no section of this name.
fn missing_section(name: &str, design: &Design) -> Option<String> {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-'], " ");
    let wanted = plain(name);
    let mut lines = design.design.lines().map(str::trim_start);
    let is_there = lines.any(|line| line.starts_with('#') && plain(line).contains(&wanted));
    (!is_there).then(|| {
        format!(
            "`{name}` is missing: write it as a section of `design`, under the heading `## {name}`"
        )
    })
}
