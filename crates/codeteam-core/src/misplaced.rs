//! Files that stand where another kind belongs. A plan read as a configuration has only unknown
//! keys; what helps is to hear that it is a plan, and where plans go.

use crate::yaml::{Fault, Node};

/// A kind of file that people write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
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
enum Tells {
    Of(Document),
    RoleOrWorkflow,
    ConfigOrWorkflow,
    Algorithm,
    PhaseOutput,
}

/// Keys that only one kind of file has, the surest first.
const TELLS: &[(&str, Tells)] = &[
    ("phase_output", Tells::PhaseOutput),
    ("algorithm", Tells::Algorithm),
    ("parts", Tells::Of(Document::Strategy)),
    ("priority_order", Tells::Of(Document::Strategy)),
    ("feature", Tells::Of(Document::Plan)),
    ("tasks", Tells::Of(Document::Plan)),
    ("phases", Tells::Of(Document::Plan)),
    ("plan_id", Tells::Of(Document::Plan)),
    ("system_prompt_additions", Tells::Of(Document::Role)),
    ("allowed_tools", Tells::Of(Document::Role)),
    ("prompt", Tells::Of(Document::Role)),
    ("gates", Tells::Of(Document::Role)),
    ("stance", Tells::Of(Document::Role)),
    ("contract", Tells::Of(Document::Role)),
    ("steps", Tells::Of(Document::Workflow)),
    ("sequence", Tells::Of(Document::Workflow)),
    ("overrides", Tells::Of(Document::Workflow)),
    ("settings", Tells::Of(Document::Workflow)),
    ("hooks", Tells::Of(Document::Workflow)),
    ("disable", Tells::Of(Document::Workflow)),
    ("verification", Tells::Of(Document::Config)),
    ("llm", Tells::Of(Document::Config)),
    ("agents", Tells::Of(Document::Config)),
    ("git", Tells::Of(Document::Config)),
    ("sandbox", Tells::Of(Document::Config)),
    ("rules", Tells::ConfigOrWorkflow),
    ("output", Tells::Of(Document::Config)),
    ("continuity", Tells::Of(Document::Config)),
    ("verifier_instances", Tells::Of(Document::Config)),
    ("approval_gates", Tells::Of(Document::Config)),
    ("projects", Tells::Of(Document::Config)),
    ("adaptive", Tells::Of(Document::Config)),
    ("extends", Tells::RoleOrWorkflow),
];

impl Document {
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
    fn knows(self, tells: Tells) -> bool {
        match tells {
            Tells::Of(document) => self == document,
            Tells::RoleOrWorkflow => matches!(self, Self::Role | Self::Workflow),
            Tells::ConfigOrWorkflow => matches!(self, Self::Config | Self::Workflow),
            Tells::Algorithm | Tells::PhaseOutput => false,
        }
    }

    /// What is wrong if a file is another kind than this one: for each kind that it gives itself
    /// away as, the key that does so. Nothing if no key does.
    pub fn misplaced(self, node: &Node) -> Vec<Fault> {
        let entries = node.as_map().unwrap_or_default();
        let mut told: Vec<Tells> = Vec::new();
        let mut faults = Vec::new();
        for (name, tells) in TELLS.iter().filter(|(_, tells)| !self.knows(*tells)) {
            let Some((key, _)) = entries.iter().find(|(key, _)| key.name == *name) else {
                continue;
            };
            // What two kinds of file have says nothing more where something else does.
            let is_vague = matches!(tells, Tells::RoleOrWorkflow | Tells::ConfigOrWorkflow);
            if told.contains(tells) || (is_vague && !told.is_empty()) {
                continue;
            }
            told.push(*tells);
            let message = format!("{} has no `{name}`", self.with_article());
            faults.push(Fault::at(key.place, message).hint(self.advice(*tells)));
        }
        faults
    }

    fn advice(self, tells: Tells) -> &'static str {
        match tells {
            Tells::Of(Self::Plan) => "this is a plan: give it to `codeteam run --plan FILE`",
            Tells::Of(Self::Role) => "this is a role: put it into `.codeteam/roles/NAME.yml`",
            Tells::Of(Self::Workflow) if self == Self::Config => {
                "this is a workflow: put it into `.codeteam/workflows/NAME.yml`, or below \
                 `workflow:`, there `overrides` in place of `steps` if it only changes some"
            }
            Tells::Of(Self::Workflow) => {
                "this is a workflow: put it into `.codeteam/workflows/NAME.yml`"
            }
            Tells::Of(Self::Config) | Tells::ConfigOrWorkflow => {
                "this is a configuration: put it into `.codeteam/config.yml`"
            }
            Tells::RoleOrWorkflow => {
                "this is a role or a workflow: put it into `.codeteam/roles/NAME.yml` or \
                 `.codeteam/workflows/NAME.yml`"
            }
            Tells::Algorithm => {
                "a context strategy runs no commands: in `.codeteam/strategies/NAME.yml` say in \
                 `parts` which files it shows, for example `{name: imports, include: [$TARGET_IMPORTS]}`"
            }
            Tells::Of(Self::Strategy) => {
                "this is a context strategy: put it into `.codeteam/strategies/NAME.yml`"
            }
            Tells::PhaseOutput => {
                "this is what a designer submits, without the key and as JSON; no file holds it"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Sources, read};

    fn told(document: Document, text: &str) -> Vec<String> {
        let node = read(&mut Sources::default(), "f.yml", text).unwrap();
        let faults = document.misplaced(&node);
        faults.into_iter().map(|fault| fault.message).collect()
    }

    #[test]
    fn a_file_gives_itself_away_once_for_each_kind_it_is() {
        let plan = "plan_id: a\ntasks: []\n";
        assert_eq!(
            told(Document::Config, plan),
            ["a configuration has no `tasks`"]
        );
        assert_eq!(told(Document::Role, plan), ["a role has no `tasks`"]);
        assert!(told(Document::Plan, plan).is_empty());
        let role = "extends: x\nprompt: y\n";
        assert_eq!(told(Document::Plan, role), ["a plan has no `prompt`"]);
        assert!(told(Document::Role, role).is_empty());
        let neither = "extends: x\n";
        assert_eq!(told(Document::Plan, neither), ["a plan has no `extends`"]);
        assert!(told(Document::Workflow, neither).is_empty());
        let both = "policies: {}\nsteps: {}\nstance: x\n";
        assert_eq!(told(Document::Config, both).len(), 2);
    }
}
