//! The JSON Schemas of the files that people write, for editors. They are generated from the types
//! that read the files, so they describe exactly what is accepted.

use codeteam_workflow::language::WorkflowFile;
use codeteam_workflow::roles::RoleFile;
use codeteam_workflow::yaml::ScalarOr;
use schemars::SchemaGenerator;
use serde_json::{Value, json};

use super::Config;
use crate::context::strategies::StrategyFile;

/// The kinds of files that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaKind {
    /// `config.yml`.
    Config,
    /// `roles/*.yml`.
    Role,
    /// `workflows/*.yml`.
    Workflow,
    /// `strategies/*.yml`.
    Strategy,
}

impl SchemaKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Config, Self::Role, Self::Workflow, Self::Strategy];

    /// Returns the kind's name, as used in file names and commands.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Role => "role",
            Self::Workflow => "workflow",
            Self::Strategy => "strategy",
        }
    }
}

/// Returns the JSON Schema of a kind of file.
pub fn json_schema(of: SchemaKind) -> Value {
    let generator = || SchemaGenerator::default();
    let mut schema = match of {
        SchemaKind::Config => config(),
        SchemaKind::Role => generator().into_root_schema_for::<RoleFile>().to_value(),
        SchemaKind::Workflow => generator()
            .into_root_schema_for::<WorkflowFile>()
            .to_value(),
        SchemaKind::Strategy => generator()
            .into_root_schema_for::<StrategyFile>()
            .to_value(),
    };
    schema["title"] = json!(format!("codeteam {}", of.as_str()));
    schema
}

/// Returns the schema of the configuration, including the parts that can be files of their own.
fn config() -> Value {
    let mut generator = SchemaGenerator::default();
    let workflow = generator
        .subschema_for::<ScalarOr<WorkflowFile>>()
        .to_value();
    let role = generator.subschema_for::<RoleFile>().to_value();
    let mut schema = generator.into_root_schema_for::<Config>().to_value();
    let mut workflow = workflow;
    workflow["description"] =
        json!("The workflow a run follows: a name, or changes to one, or one of its own.");
    schema["properties"]["workflow"] = workflow;
    schema["properties"]["roles"] = json!({
        "description": "Roles, and changes to roles.",
        "type": "object",
        "additionalProperties": role,
    });
    schema
}
