//! Compiles the parts that many kinds of steps share: checks and retry policies.

use codeteam_core::ids::StepId;
use codeteam_core::retry;
use codeteam_core::spelling::{nearest, suggest_word};
use codeteam_core::workflow::{Check, CheckKind, HonestyRule, StepKind};

use super::super::file::{FileCheck, FileRetry};
use super::{CHECK_TIMEOUT_MS, WorkflowCompiler};
use crate::yaml::{Diagnostic, ScalarOr, WithPosition};

/// The gates made of the project's own checks: all of them, only its commands, everything but its
/// commands, or what judges interfaces that codeteam writes.
const PROJECT_GATES: [&str; 4] = [
    "project",
    "project_commands",
    "project_rules",
    "project_interfaces",
];

impl WorkflowCompiler<'_> {
    pub(super) fn retry(
        &mut self,
        said: Option<&WithPosition<ScalarOr<FileRetry>>>,
        max_retries: Option<u32>,
    ) -> Option<retry::RetryPolicy> {
        let usual = self.surroundings.retry.clone().unwrap_or_default();
        let mut policy = match said.map(|said| (&said.value, said.place)) {
            None => usual,
            Some((ScalarOr::Full(policy), _)) => policy.policy(&usual),
            Some((ScalarOr::Word(name), place)) => {
                let own = self.policies.get(name);
                let own = own.or_else(|| self.surroundings.policies.get(name));
                let known = retry::RetryPolicy::by_name(name);
                match (own, known) {
                    (Some(own), known) => own.policy(&known.unwrap_or(usual)),
                    (None, Some(known)) => known,
                    (None, None) => {
                        let own = self
                            .policies
                            .keys()
                            .chain(self.surroundings.policies.keys());
                        let words = retry::RetryPolicy::NAMES
                            .into_iter()
                            .chain(own.map(String::as_str));
                        let hint = suggest_word(name, words);
                        let message = format!("there is no retry policy `{name}`");
                        self.faults
                            .push(Diagnostic::at(place, message).with_optional_hint(hint));
                        return None;
                    }
                }
            }
        };
        if let Some(retries) = max_retries {
            policy.max_attempts = retries.saturating_add(1);
        }
        Some(policy)
    }

    pub(super) fn gate(
        &mut self,
        id: &StepId,
        gate: &WithPosition<ScalarOr<Vec<ScalarOr<FileCheck>>>>,
    ) -> Option<StepKind> {
        let raw = match &gate.value {
            ScalarOr::Word(name) if PROJECT_GATES.contains(&name.as_str()) => {
                let is_command = |check: &Check| matches!(check.what, CheckKind::Command(_));
                let checks = self
                    .surroundings
                    .checks
                    .iter()
                    .filter(|check| match name.as_str() {
                        "project_commands" => is_command(check),
                        "project_rules" => !is_command(check),
                        "project_interfaces" => is_command(check) || keeps_checks(check),
                        _ => true,
                    });
                let checks = checks.cloned().collect();
                return Some(StepKind::Gate { checks });
            }
            ScalarOr::Word(name) => {
                let Some(check) = self.named_check(name) else {
                    let known = self.checks.keys().map(String::as_str);
                    let own = self.surroundings.checks.iter().map(|c| c.name.as_str());
                    let hint = nearest(name, known.chain(own).chain(PROJECT_GATES));
                    let hint = hint.map(|word| format!("did you mean `{word}`?"));
                    let hint = hint.unwrap_or_else(|| {
                        "a list of checks, the name of one in `checks`, `project`, `project_commands`, \
                         `project_rules` or `project_interfaces`"
                            .to_owned()
                    });
                    let fault = Diagnostic::at(gate.place, format!("`{name}` is not a gate"));
                    self.faults.push(fault.with_hint(hint));
                    return None;
                };
                return Some(StepKind::Gate {
                    checks: vec![check],
                });
            }
            ScalarOr::Full(checks) => checks,
        };
        let mut checks = Vec::new();
        for check in raw {
            let found = match check {
                ScalarOr::Word(name) => self.named_check(name),
                ScalarOr::Full(check) => self.check(None, check),
            };
            let Some(check) = found else {
                let fault = Diagnostic::at(gate.place, format!("a check of `{id}` is not clear"));
                let hint = "the name of one in `checks`, `command`, `exists`, `changed`, or `file` \
                            with `contains` or `lacks`";
                self.faults.push(fault.with_hint(hint));
                return None;
            };
            checks.push(check);
        }
        Some(StepKind::Gate { checks })
    }

    /// Finds a check by its name: one of the workflow's own, or one of the project's.
    pub(in super::super) fn named_check(&self, name: &str) -> Option<Check> {
        if let Some(check) = self.checks.get(name) {
            return match check {
                ScalarOr::Word(command) => Some(Check {
                    name: name.to_owned(),
                    what: CheckKind::Command(command.clone()),
                    timeout_ms: CHECK_TIMEOUT_MS,
                }),
                ScalarOr::Full(check) => self.check(Some(name), check),
            };
        }
        let plain = |text: &str| -> String {
            let word = |c: char| {
                if c.is_alphanumeric() {
                    c.to_ascii_lowercase()
                } else {
                    '_'
                }
            };
            text.chars().map(word).collect()
        };
        let own = self.surroundings.checks.iter();
        own.into_iter()
            .find(|check| plain(&check.name) == plain(name))
            .cloned()
    }

    #[expect(clippy::unused_self, reason = "it belongs to the others")]
    fn check(&self, name: Option<&str>, check: &FileCheck) -> Option<Check> {
        let FileCheck {
            name: own,
            command,
            exists,
            file,
            contains,
            lacks,
            changed,
            timeout_seconds,
            validator,
        } = check.clone();
        if validator.is_some() {
            return validator;
        }
        let changed = Some(changed.0).filter(|paths| !paths.is_empty());
        let what = match (command, exists, file, contains, lacks, changed) {
            (Some(command), None, None, None, None, None) => CheckKind::Command(command),
            (None, Some(path), None, None, None, None) => CheckKind::Exists(path),
            (None, None, Some(file), Some(text), None, None) => CheckKind::Contains { file, text },
            (None, None, Some(file), None, Some(text), None) => CheckKind::Lacks { file, text },
            (None, None, None, None, None, Some(paths)) => CheckKind::Changed { paths },
            _ => return None,
        };
        let said = own.or_else(|| name.map(str::to_owned));
        Some(Check {
            name: said.unwrap_or_else(|| match &what {
                CheckKind::Command(text) | CheckKind::Exists(text) => text.clone(),
                CheckKind::Contains { file, .. } | CheckKind::Lacks { file, .. } => file.clone(),
                CheckKind::Changed { paths } => format!("changes {}", paths.join(" or ")),
                CheckKind::Format(rules) => rules.file.clone(),
                CheckKind::Metric { .. }
                | CheckKind::Proved(_)
                | CheckKind::Mutants(_)
                | CheckKind::Repeated(_)
                | CheckKind::Interfaces
                | CheckKind::Coverage { .. }
                | CheckKind::TestCount { .. }
                | CheckKind::Honest { .. } => String::new(),
            }),
            what,
            timeout_ms: timeout_seconds.map_or(CHECK_TIMEOUT_MS, |s| s.saturating_mul(1_000)),
        })
    }
}

/// Returns true for the rules that hold for whatever is committed, also where nobody was asked for code:
/// what the checks rest on stays, and no secret comes in.
fn keeps_checks(check: &Check) -> bool {
    matches!(
        check.what,
        CheckKind::Honest {
            rule: HonestyRule::GateKept | HonestyRule::TestsKept | HonestyRule::Secrets,
            ..
        }
    )
}
