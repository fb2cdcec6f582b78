//! JSON Schemas of the files that people write, for editors. They come from the types that read the
//! files, so they say what is accepted.

use codeteam_core::role::RoleFile;
use codeteam_core::workflow::WorkflowFile;
use codeteam_core::yaml::ScalarOr;
use schemars::SchemaGenerator;
use serde_json::{Value, json};

use super::Config;
use crate::context::strategies::StrategyFile;

/// A kind of file.
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
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Config, Self::Role, Self::Workflow, Self::Strategy];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Role => "role",
            Self::Workflow => "workflow",
            Self::Strategy => "strategy",
        }
    }
}

/// The JSON Schema of a kind of file.
pub fn schema(of: SchemaKind) -> Value {
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

/// The configuration, with the parts that are files of their own elsewhere.
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
