//! Compiles steps whose roles the plan names, and the scores that results need.

use codeteam_core::ids::RoleName;
use codeteam_core::role::RoleKind;

use super::super::file::{FileCheck, FileStep};
use super::WorkflowCompiler;
use crate::roles::{OnGateFail, ResolvedRole, quality_points};
use crate::yaml::{Diagnostic, WithPosition};

/// The word that a step has in place of a role whose roles the plan names.
const ASSIGNED: &str = "assigned";

/// Returns true if the plan names the roles of a step.
fn leaves_roles_to_plan(step: &FileStep) -> bool {
    let role = step.role.as_ref();
    role.is_some_and(|role| role.value == ASSIGNED)
}

/// Returns the role of tasks for which the plan names none, if the plan names the roles of a step.
pub(in super::super) fn default_role(step: &FileStep) -> Option<&WithPosition<String>> {
    let role = step.default_role.as_ref();
    role.filter(|_| leaves_roles_to_plan(step))
}

/// Returns the roles that a step itself names: not the word that leaves them to the plan, but the
/// role of tasks for which the plan names none.
pub(in super::super) fn named_roles(
    step: &FileStep,
) -> impl Iterator<Item = &WithPosition<String>> {
    let own = if leaves_roles_to_plan(step) {
        &step.default_role
    } else {
        &step.role
    };
    own.iter().chain(&step.roles)
}

/// Returns the checks of a role with the consequence of their failure: its validators first, which
/// need no command.
pub(in super::super) fn role_checks(role: &ResolvedRole) -> Vec<(OnGateFail, FileCheck)> {
    let validators = role.validators.iter().map(|validator| {
        let check = FileCheck {
            // Whoever resolved the role has refused those that are not sound.
            validator: validator.to_check().ok(),
            ..FileCheck::default()
        };
        (validator.on_fail, check)
    });
    let gates = role.gates.iter().map(|gate| {
        let check = FileCheck {
            name: Some(gate.name.clone()),
            command: Some(gate.command.clone()),
            timeout_seconds: gate.timeout_seconds,
            ..FileCheck::default()
        };
        (gate.on_fail, check)
    });
    validators.chain(gates).collect()
}

impl WorkflowCompiler<'_> {
    /// Returns whether the plan names the roles of a step; `None` if the step is not clear.
    pub(super) fn is_assigned(&mut self, step: &FileStep) -> Option<bool> {
        let is_assigned = leaves_roles_to_plan(step);
        let fault = match (&step.default_role, &step.role) {
            (Some(default), _) if !is_assigned => {
                let message = "`default_role` is for steps with `role: assigned`";
                Diagnostic::at(default.place, message).with_hint("write it as `role`")
            }
            (None, Some(role)) if is_assigned => {
                let message = "`role: assigned` needs a `default_role`";
                let hint = "the role of tasks for which the plan names none";
                Diagnostic::at(role.place, message).with_hint(hint)
            }
            (Some(default), _) if !step.roles.is_empty() => {
                let message = "`role: assigned` cannot have `roles` beside it";
                let hint = "remove `roles`: the plan names them";
                Diagnostic::at(default.place, message).with_hint(hint)
            }
            _ => return Some(is_assigned),
        };
        self.faults.push(fault);
        None
    }

    /// Resolves every role that can carry out tasks in place of the usual one: those of the same
    /// kind. A role that cannot be read is left out, because nobody has asked for it by name.
    fn resolve_assignable_roles(&self, kind: RoleKind) -> Vec<ResolvedRole> {
        let catalog = &self.surroundings.roles;
        let mut found: Vec<ResolvedRole> = Vec::new();
        for (full, _) in catalog.names() {
            let name = match full.rsplit_once('/') {
                None => full,
                Some((folder, own)) if self.scopes.iter().any(|scope| scope == folder) => own,
                Some(_) => continue,
            };
            let is_known = found.iter().any(|known| known.role.name.as_str() == name);
            let Some(Ok(mut resolved)) = catalog.resolve_in(&self.scopes, name) else {
                continue;
            };
            resolved.role.name = RoleName(name.to_owned());
            let has_form = resolved.role.answer_form().missing_form().is_none();
            if resolved.role.kind == kind && has_form && !is_known {
                found.push(resolved);
            }
        }
        found
    }

    /// Returns the gates of the usual role, and of every role that can carry out tasks in its
    /// place.
    pub(in super::super) fn checks_of_assignable_roles(
        &mut self,
        usual: &WithPosition<String>,
    ) -> Vec<(RoleName, Vec<(OnGateFail, FileCheck)>)> {
        let Some(usual) = self.role(usual) else {
            return Vec::new();
        };
        let others = self.resolve_assignable_roles(usual.role.kind);
        let mut checks = vec![(usual.role.name.clone(), role_checks(&usual))];
        for other in others {
            if checks.iter().all(|(name, _)| *name != other.role.name) {
                let own = role_checks(&other);
                checks.push((other.role.name, own));
            }
        }
        checks.retain(|(_, own)| !own.is_empty());
        checks
    }

    /// Adds every role that can carry out tasks in place of the usual one.
    pub(super) fn add_assignable_roles(&mut self, usual: &RoleName) {
        let Some(kind) = self.roles.get(usual).map(|role| role.kind) else {
            return;
        };
        for resolved in self.resolve_assignable_roles(kind) {
            let name = resolved.role.name.clone();
            if self.roles.contains_key(&name) {
                continue;
            }
            let mut sources = vec![resolved.top];
            sources.extend(resolved.chain);
            self.sources.insert(name.clone(), sources);
            self.assignable.insert(name.clone());
            self.roles.insert(name, resolved.role);
        }
    }

    /// Returns the score from which on a result is good enough, if the workflow or the
    /// configuration says so.
    pub(super) fn quality_threshold(&mut self, own: Option<&WithPosition<f64>>) -> Option<u8> {
        let Some(own) = own else {
            return self.surroundings.quality_threshold;
        };
        match quality_points(own.value) {
            Ok(points) => Some(points),
            Err(message) => {
                self.faults.push(Diagnostic::at(own.place, message));
                None
            }
        }
    }
}
