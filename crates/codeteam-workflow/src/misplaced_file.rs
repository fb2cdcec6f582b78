//! Recognises files of one kind that were put where another kind belongs. A plan read as a
//! configuration consists of unknown keys only; it helps more to say that it is a plan, and where
//! plans belong.

use crate::yaml::{Diagnostic, YamlNode};

/// A kind of file that people write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    /// `config.yml`.
    Config,
    /// `roles/NAME.yml`.
    Role,
    /// `workflows/NAME.yml`.
    Workflow,
    /// `plan.yml`.
    Plan,
    /// `strategies/NAME.yml`.
    Strategy,
}

/// The evidence that a key gives about the kind of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyEvidence {
    Only(DocumentKind),
    RoleOrWorkflow,
    ConfigOrWorkflow,
    Algorithm,
    PhaseOutput,
}

/// Keys that only one kind of file has, the most reliable first.
const TELLS: &[(&str, KeyEvidence)] = &[
    ("phase_output", KeyEvidence::PhaseOutput),
    ("algorithm", KeyEvidence::Algorithm),
    ("parts", KeyEvidence::Only(DocumentKind::Strategy)),
    ("priority_order", KeyEvidence::Only(DocumentKind::Strategy)),
    ("feature", KeyEvidence::Only(DocumentKind::Plan)),
    ("tasks", KeyEvidence::Only(DocumentKind::Plan)),
    ("phases", KeyEvidence::Only(DocumentKind::Plan)),
    ("plan_id", KeyEvidence::Only(DocumentKind::Plan)),
    (
        "system_prompt_additions",
        KeyEvidence::Only(DocumentKind::Role),
    ),
    ("allowed_tools", KeyEvidence::Only(DocumentKind::Role)),
    ("prompt", KeyEvidence::Only(DocumentKind::Role)),
    ("gates", KeyEvidence::Only(DocumentKind::Role)),
    ("validators", KeyEvidence::Only(DocumentKind::Role)),
    ("stance", KeyEvidence::Only(DocumentKind::Role)),
    ("contract", KeyEvidence::Only(DocumentKind::Role)),
    ("steps", KeyEvidence::Only(DocumentKind::Workflow)),
    ("sequence", KeyEvidence::Only(DocumentKind::Workflow)),
    ("overrides", KeyEvidence::Only(DocumentKind::Workflow)),
    ("settings", KeyEvidence::Only(DocumentKind::Workflow)),
    ("hooks", KeyEvidence::Only(DocumentKind::Workflow)),
    ("disable", KeyEvidence::Only(DocumentKind::Workflow)),
    ("verification", KeyEvidence::Only(DocumentKind::Config)),
    ("llm", KeyEvidence::Only(DocumentKind::Config)),
    ("agents", KeyEvidence::Only(DocumentKind::Config)),
    ("git", KeyEvidence::Only(DocumentKind::Config)),
    ("sandbox", KeyEvidence::Only(DocumentKind::Config)),
    ("rules", KeyEvidence::ConfigOrWorkflow),
    ("output", KeyEvidence::Only(DocumentKind::Config)),
    ("continuity", KeyEvidence::Only(DocumentKind::Config)),
    (
        "verifier_instances",
        KeyEvidence::Only(DocumentKind::Config),
    ),
    ("approval_gates", KeyEvidence::Only(DocumentKind::Config)),
    ("projects", KeyEvidence::Only(DocumentKind::Config)),
    ("adaptive", KeyEvidence::Only(DocumentKind::Config)),
    ("extends", KeyEvidence::RoleOrWorkflow),
];

impl DocumentKind {
    fn with_article(self) -> &'static str {
        match self {
            Self::Config => "a configuration",
            Self::Role => "a role",
            Self::Workflow => "a workflow",
            Self::Plan => "a plan",
            Self::Strategy => "a context strategy",
        }
    }

    /// Returns true if this kind of file may have a key with that evidence.
    fn may_have(self, tells: KeyEvidence) -> bool {
        match tells {
            KeyEvidence::Only(document) => self == document,
            KeyEvidence::RoleOrWorkflow => matches!(self, Self::Role | Self::Workflow),
            KeyEvidence::ConfigOrWorkflow => matches!(self, Self::Config | Self::Workflow),
            KeyEvidence::Algorithm | KeyEvidence::PhaseOutput => false,
        }
    }

    /// Returns a diagnostic for each other kind that the file appears to be, at the key that shows
    /// it. Returns nothing if no key does.
    pub fn find_misplaced(self, node: &YamlNode) -> Vec<Diagnostic> {
        let entries = node.as_map().unwrap_or_default();
        let mut told: Vec<KeyEvidence> = Vec::new();
        let mut faults = Vec::new();
        for (name, tells) in TELLS.iter().filter(|(_, tells)| !self.may_have(*tells)) {
            let Some((key, _)) = entries.iter().find(|(key, _)| key.name == *name) else {
                continue;
            };
            // A key that two kinds of file share adds nothing if another key has already identified
            // the file.
            let is_vague = matches!(
                tells,
                KeyEvidence::RoleOrWorkflow | KeyEvidence::ConfigOrWorkflow
            );
            if told.contains(tells) || (is_vague && !told.is_empty()) {
                continue;
            }
            told.push(*tells);
            let message = format!("{} has no `{name}`", self.with_article());
            faults.push(Diagnostic::at(key.place, message).with_hint(self.advice(*tells)));
        }
        faults
    }

    fn advice(self, tells: KeyEvidence) -> &'static str {
        match tells {
            KeyEvidence::Only(Self::Plan) => {
                "this is a plan: give it to `codeteam run --plan FILE`"
            }
            KeyEvidence::Only(Self::Role) => {
                "this is a role: put it into `.codeteam/roles/NAME.yml`"
            }
            KeyEvidence::Only(Self::Workflow) if self == Self::Config => {
                "this is a workflow: put it into `.codeteam/workflows/NAME.yml`, or below \
                 `workflow:`, there `overrides` in place of `steps` if it only changes some"
            }
            KeyEvidence::Only(Self::Workflow) => {
                "this is a workflow: put it into `.codeteam/workflows/NAME.yml`"
            }
            KeyEvidence::Only(Self::Config) | KeyEvidence::ConfigOrWorkflow => {
                "this is a configuration: put it into `.codeteam/config.yml`"
            }
            KeyEvidence::RoleOrWorkflow => {
                "this is a role or a workflow: put it into `.codeteam/roles/NAME.yml` or \
                 `.codeteam/workflows/NAME.yml`"
            }
            KeyEvidence::Algorithm => {
                "a context strategy runs no commands: in `.codeteam/strategies/NAME.yml` say in \
                 `parts` which files it shows, for example `{name: imports, include: [$TARGET_IMPORTS]}`"
            }
            KeyEvidence::Only(Self::Strategy) => {
                "this is a context strategy: put it into `.codeteam/strategies/NAME.yml`"
            }
            KeyEvidence::PhaseOutput => {
                "this is what a designer submits, without the key and as JSON; no file holds it"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{SourceFiles, read};

    fn told(document: DocumentKind, text: &str) -> Vec<String> {
        let node = read(&mut SourceFiles::default(), "f.yml", text).unwrap();
        let faults = document.find_misplaced(&node);
        faults.into_iter().map(|fault| fault.message).collect()
    }

    #[test]
    fn a_file_gives_itself_away_once_for_each_kind_it_is() {
        let plan = "plan_id: a\ntasks: []\n";
        assert_eq!(
            told(DocumentKind::Config, plan),
            ["a configuration has no `tasks`"]
        );
        assert_eq!(told(DocumentKind::Role, plan), ["a role has no `tasks`"]);
        assert!(told(DocumentKind::Plan, plan).is_empty());
        let role = "extends: x\nprompt: y\n";
        assert_eq!(told(DocumentKind::Plan, role), ["a plan has no `prompt`"]);
        assert!(told(DocumentKind::Role, role).is_empty());
        let neither = "extends: x\n";
        assert_eq!(
            told(DocumentKind::Plan, neither),
            ["a plan has no `extends`"]
        );
        assert!(told(DocumentKind::Workflow, neither).is_empty());
        let both = "policies: {}\nsteps: {}\nstance: x\n";
        assert_eq!(told(DocumentKind::Config, both).len(), 2);
    }
}
