//! Files that stand where another kind belongs. A plan read as a configuration has only unknown
//! keys; what helps is to hear that it is a plan, and where plans go.

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

/// What a key gives away.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyEvidence {
    Of(DocumentKind),
    RoleOrWorkflow,
    ConfigOrWorkflow,
    Algorithm,
    PhaseOutput,
}

/// Keys that only one kind of file has, the surest first.
const TELLS: &[(&str, KeyEvidence)] = &[
    ("phase_output", KeyEvidence::PhaseOutput),
    ("algorithm", KeyEvidence::Algorithm),
    ("parts", KeyEvidence::Of(DocumentKind::Strategy)),
    ("priority_order", KeyEvidence::Of(DocumentKind::Strategy)),
    ("feature", KeyEvidence::Of(DocumentKind::Plan)),
    ("tasks", KeyEvidence::Of(DocumentKind::Plan)),
    ("phases", KeyEvidence::Of(DocumentKind::Plan)),
    ("plan_id", KeyEvidence::Of(DocumentKind::Plan)),
    (
        "system_prompt_additions",
        KeyEvidence::Of(DocumentKind::Role),
    ),
    ("allowed_tools", KeyEvidence::Of(DocumentKind::Role)),
    ("prompt", KeyEvidence::Of(DocumentKind::Role)),
    ("gates", KeyEvidence::Of(DocumentKind::Role)),
    ("stance", KeyEvidence::Of(DocumentKind::Role)),
    ("contract", KeyEvidence::Of(DocumentKind::Role)),
    ("steps", KeyEvidence::Of(DocumentKind::Workflow)),
    ("sequence", KeyEvidence::Of(DocumentKind::Workflow)),
    ("overrides", KeyEvidence::Of(DocumentKind::Workflow)),
    ("settings", KeyEvidence::Of(DocumentKind::Workflow)),
    ("hooks", KeyEvidence::Of(DocumentKind::Workflow)),
    ("disable", KeyEvidence::Of(DocumentKind::Workflow)),
    ("verification", KeyEvidence::Of(DocumentKind::Config)),
    ("llm", KeyEvidence::Of(DocumentKind::Config)),
    ("agents", KeyEvidence::Of(DocumentKind::Config)),
    ("git", KeyEvidence::Of(DocumentKind::Config)),
    ("sandbox", KeyEvidence::Of(DocumentKind::Config)),
    ("rules", KeyEvidence::ConfigOrWorkflow),
    ("output", KeyEvidence::Of(DocumentKind::Config)),
    ("continuity", KeyEvidence::Of(DocumentKind::Config)),
    ("verifier_instances", KeyEvidence::Of(DocumentKind::Config)),
    ("approval_gates", KeyEvidence::Of(DocumentKind::Config)),
    ("projects", KeyEvidence::Of(DocumentKind::Config)),
    ("adaptive", KeyEvidence::Of(DocumentKind::Config)),
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

    /// Whether it may have a key that others have as well.
    fn knows(self, tells: KeyEvidence) -> bool {
        match tells {
            KeyEvidence::Of(document) => self == document,
            KeyEvidence::RoleOrWorkflow => matches!(self, Self::Role | Self::Workflow),
            KeyEvidence::ConfigOrWorkflow => matches!(self, Self::Config | Self::Workflow),
            KeyEvidence::Algorithm | KeyEvidence::PhaseOutput => false,
        }
    }

    /// What is wrong if a file is another kind than this one: for each kind that it gives itself
    /// away as, the key that does so. Nothing if no key does.
    pub fn misplaced(self, node: &YamlNode) -> Vec<Diagnostic> {
        let entries = node.as_map().unwrap_or_default();
        let mut told: Vec<KeyEvidence> = Vec::new();
        let mut faults = Vec::new();
        for (name, tells) in TELLS.iter().filter(|(_, tells)| !self.knows(*tells)) {
            let Some((key, _)) = entries.iter().find(|(key, _)| key.name == *name) else {
                continue;
            };
            // What two kinds of file have says nothing more where something else does.
            let is_vague = matches!(
                tells,
                KeyEvidence::RoleOrWorkflow | KeyEvidence::ConfigOrWorkflow
            );
            if told.contains(tells) || (is_vague && !told.is_empty()) {
                continue;
            }
            told.push(*tells);
            let message = format!("{} has no `{name}`", self.with_article());
            faults.push(Diagnostic::at(key.place, message).hint(self.advice(*tells)));
        }
        faults
    }

    fn advice(self, tells: KeyEvidence) -> &'static str {
        match tells {
            KeyEvidence::Of(Self::Plan) => "this is a plan: give it to `codeteam run --plan FILE`",
            KeyEvidence::Of(Self::Role) => "this is a role: put it into `.codeteam/roles/NAME.yml`",
            KeyEvidence::Of(Self::Workflow) if self == Self::Config => {
                "this is a workflow: put it into `.codeteam/workflows/NAME.yml`, or below \
                 `workflow:`, there `overrides` in place of `steps` if it only changes some"
            }
            KeyEvidence::Of(Self::Workflow) => {
                "this is a workflow: put it into `.codeteam/workflows/NAME.yml`"
            }
            KeyEvidence::Of(Self::Config) | KeyEvidence::ConfigOrWorkflow => {
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
            KeyEvidence::Of(Self::Strategy) => {
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
        let faults = document.misplaced(&node);
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
