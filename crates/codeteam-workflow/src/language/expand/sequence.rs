//! Expands the short form of a workflow: a sequence of roles.

use codeteam_core::ids::StepId;
use codeteam_core::role::RoleKind;
use codeteam_core::workflow::{ExhaustionPolicy, Rebound};

use super::super::compile::WorkflowCompiler;
use super::super::file::{CommitTarget, FileAnswer, FileStep, SequenceEntry, WorkflowFile};
use super::super::graft::MAX_STEPS;
use super::{StepGraph, answer_to, answers};
use crate::yaml::{Diagnostic, ScalarOr, SourcePosition, WithPosition};

/// The default number of rejections in a sequence.
const MAX_ROUNDS: u32 = 5;
/// The number of rejections after which the designer is offered another look.
const REBOUND_AFTER: u32 = 3;
/// The default rules for every role of a sequence.
pub(super) const RULES: [&str; 5] = [
    "No TODO/FIXME in final code",
    "No placeholder implementations",
    "All existing tests must pass",
    "Show real output, not hypothetical",
    "If you break something, fix it before submitting",
];

impl WorkflowCompiler<'_> {
    /// Turns a sequence of roles into steps: checks follow every implementer, rejections go to the
    /// nearest implementer before, and a commit comes at the end.
    pub(in super::super) fn expand_sequence(
        &mut self,
        file: &mut WorkflowFile,
        graph: &mut StepGraph,
        place: SourcePosition,
    ) {
        if !graph.entries.is_empty() {
            let fault = Diagnostic::at(place, "a workflow has `steps` or a `sequence`, not both");
            self.faults.push(fault);
            return;
        }
        if file.sequence.len() > MAX_STEPS {
            let message = format!("a sequence has at most {MAX_STEPS} roles");
            self.faults
                .push(Diagnostic::at(place, message).with_hint("divide it into several workflows"));
            return;
        }
        let fault = file.rebound.and_then(|rebound| rebound.fault(place));
        self.faults.extend(fault);
        file.max_iterations.get_or_insert(MAX_ROUNDS);
        if file.on_max_iterations.is_none() {
            file.on_exhausted.get_or_insert(ExhaustionPolicy::Ask);
        }
        file.rules
            .get_or_insert_with(|| RULES.map(str::to_owned).to_vec());
        let mut members: Vec<(WithPosition<String>, RoleKind, WithPosition<String>)> = Vec::new();
        for entry in std::mem::take(&mut file.sequence) {
            let place = entry.place;
            let (role, said) = match entry.value {
                ScalarOr::Word(role) => (role, None),
                ScalarOr::Full(SequenceEntry { role, kind }) => (role, kind),
            };
            let role = WithPosition { value: role, place };
            if let Some(kind) = said {
                self.surroundings.roles.add_kind(&role.value, kind);
            }
            let Some(resolved) = self.role(&role) else {
                continue;
            };
            let kind = resolved.role.kind;
            if let Some(said) = said.filter(|said| *said != kind) {
                let message = format!(
                    "the role `{}` is {}, not {}",
                    role.value,
                    kind.with_article(),
                    said.with_article()
                );
                self.fault(place, message);
            }
            let twice = members
                .iter()
                .filter(|(_, _, known)| known.value == role.value)
                .count();
            let plain = role.value.replace('/', "-");
            let value = if twice == 0 {
                plain
            } else {
                format!("{plain}-{}", twice + 1)
            };
            members.push((WithPosition { value, place }, kind, role));
        }
        let entries = self.members(file, &members);
        graph.entries = entries;
    }

    fn members(
        &mut self,
        file: &WorkflowFile,
        members: &[(WithPosition<String>, RoleKind, WithPosition<String>)],
    ) -> Vec<(WithPosition<String>, FileStep)> {
        let mut entries: Vec<(WithPosition<String>, FileStep)> = Vec::new();
        let after = file.rebound.map(|rebound| rebound.after_failures);
        let after = after.unwrap_or(REBOUND_AFTER);
        let (mut implementer, mut designer): (Option<String>, Option<String>) = (None, None);
        let mut offers = false;
        for (name, kind, role) in members {
            let mut step = FileStep {
                role: Some(role.clone()),
                ..FileStep::default()
            };
            if *kind == RoleKind::Gatekeeper {
                let Some(implementer) = &implementer else {
                    let message = format!("`{}` has nobody before it to go back to", name.value);
                    let fault = Diagnostic::at(name.place, message);
                    self.faults
                        .push(fault.with_hint("put an implementer before every gatekeeper"));
                    continue;
                };
                step.on_reject = Some(implementer.clone());
                step.rebound = rebound(after, designer.as_ref(), &mut offers);
            }
            if *kind == RoleKind::Designer && implementer.is_none() {
                designer = Some(name.value.clone());
            }
            entries.push((name.clone(), step));
            if *kind == RoleKind::Implementer {
                implementer = Some(name.value.clone());
                let verify = FileStep {
                    gate: Some(WithPosition {
                        value: ScalarOr::Word("project".to_owned()),
                        place: name.place,
                    }),
                    on_fail: implementer.clone(),
                    rebound: rebound(after, designer.as_ref(), &mut offers),
                    ..FileStep::default()
                };
                let value = format!("{}-checks", name.value);
                let place = name.place;
                entries.push((WithPosition { value, place }, verify));
            }
        }
        let place = members
            .last()
            .map_or(SourcePosition::NONE, |(name, ..)| name.place);
        let placed = |value: &str| WithPosition {
            value: value.to_owned(),
            place,
        };
        if implementer.is_some() {
            let commit = FileStep {
                commit: Some(CommitTarget::Branch),
                ..FileStep::default()
            };
            entries.push((placed("commit"), commit));
        }
        let names: Vec<String> = entries.iter().map(|(name, _)| name.value.clone()).collect();
        for (index, (_, step)) in entries.iter_mut().enumerate() {
            let next = names.get(index + 1).cloned();
            step.next = Some(next.unwrap_or_else(|| "done".to_owned()));
        }
        if file.rebound.is_some() && !offers {
            let message = "`rebound` offers nothing here: no designer comes before an implementer";
            self.notes.push(message.to_owned());
        }
        if let (true, Some(designer), Some(implementer)) = (offers, designer, implementer) {
            let again = ScalarOr::Full(FileAnswer {
                next: designer.clone(),
                rejects: false,
                resets: true,
                edits: false,
                reverts: false,
            });
            let question =
                format!("The change was rejected. Should `{designer}` look at the approach again?");
            let asks = FileStep {
                person: Some(question),
                answers: answers(place, [("yes", again), ("no", answer_to(&implementer))]),
                ..FileStep::default()
            };
            entries.push((placed("rebound"), asks));
        }
        entries
    }
}

fn rebound(after: u32, designer: Option<&String>, offers: &mut bool) -> Option<Rebound> {
    designer?;
    *offers = true;
    Some(Rebound {
        after,
        to: StepId::from("rebound"),
    })
}
