//! The JSON Schema of an answer, generated from the types that parse it.
//!
//! It is one flat object without alternatives at the top, because every model API accepts that as a
//! tool's input. What cannot be expressed that way (either this key or that one) is described in
//! words, and checked when the answer is read.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::{
    AnalystQuestions, AnswerForm, BlockedReason, ClaimedChange, ConfirmedRequirements, Design,
    InterfaceChangeRequest, PlanSubmission, ScribeText, TeamAssembly, Verdict,
};
use super::{strict, supervisor, team};
use crate::role::{Contract, EditMode, RoleKind};
use crate::team::{LeaderDecision, QualityScore};

/// Returns the schema of an answer.
pub fn answer_schema(form: AnswerForm) -> Value {
    let mut parts = match (form.contract, form.kind) {
        (Contract::Strict, RoleKind::Planner) => {
            vec![
                generate_schema::<strict::StrictPlan>(),
                generate_schema::<strict::StrictError>(),
            ]
        }
        (Contract::Strict, RoleKind::Implementer) => {
            vec![
                generate_schema::<strict::StrictEdits>(),
                generate_schema::<strict::StrictError>(),
            ]
        }
        (Contract::Strict, RoleKind::Gatekeeper) => {
            vec![
                generate_schema::<strict::StrictVerdict>(),
                generate_schema::<strict::StrictError>(),
            ]
        }
        (Contract::Supervisor, RoleKind::Planner) => {
            vec![generate_schema::<supervisor::SupervisorPlan>()]
        }
        (Contract::Supervisor, RoleKind::Designer) => {
            vec![generate_schema::<supervisor::SupervisorDesign>()]
        }
        (Contract::Supervisor, RoleKind::Implementer) => {
            vec![generate_schema::<supervisor::SupervisorChange>()]
        }
        (Contract::Supervisor, RoleKind::Gatekeeper) => {
            vec![generate_schema::<supervisor::SupervisorReview>()]
        }
        (Contract::TeamMcp, RoleKind::Gatekeeper) => vec![generate_schema::<team::TeamVerdict>()],
        (Contract::Quality, RoleKind::Gatekeeper) => vec![generate_schema::<QualityScore>()],
        (Contract::Intervention, RoleKind::Gatekeeper) => vec![generate_schema::<LeaderDecision>()],
        (Contract::Assembly, RoleKind::Scribe) => vec![generate_schema::<TeamAssembly>()],
        (_, RoleKind::Analyst) => vec![
            generate_schema::<AnalystQuestions>(),
            generate_schema::<ConfirmedRequirements>(),
        ],
        (_, RoleKind::Designer) => vec![generate_schema::<Design>()],
        (_, RoleKind::Planner) if form.asks => {
            vec![
                generate_schema::<AnalystQuestions>(),
                generate_schema::<PlanSubmission>(),
            ]
        }
        (_, RoleKind::Planner) => vec![generate_schema::<PlanSubmission>()],
        (_, RoleKind::Implementer) => vec![generate_schema::<ClaimedChange>()],
        (_, RoleKind::Gatekeeper) => vec![generate_schema::<Verdict>()],
        (_, RoleKind::Scribe) => vec![generate_schema::<ScribeText>()],
    };
    // The strict contract has its own way to say that a worker is blocked.
    if form.contract != Contract::Strict {
        parts.push(generate_schema::<BlockedReason>());
    }
    if form.requests {
        parts.push(generate_schema::<InterfaceChangeRequest>());
    }
    let mut properties = Map::new();
    for part in &mut parts {
        if let Some(Value::Object(own)) = part.remove("properties") {
            properties.extend(own);
        }
    }
    if form.contract == Contract::TeamMcp {
        let renamed = properties.into_iter().map(|(key, value)| {
            let own = team::contract_key(form.kind, &key).map_or(key, str::to_owned);
            (own, value)
        });
        properties = renamed.collect();
    }
    if form.kind == RoleKind::Implementer && form.mode == EditMode::Tools {
        properties.remove("edits");
    }
    if let Some(Value::Object(blocked)) = properties.get_mut("blocked") {
        let words = "Only if you cannot go on: why. No other key then.";
        blocked.insert("description".to_owned(), words.into());
    }
    if let Some(Value::Object(request)) = properties.get_mut("interface_change") {
        let words = "Only if you cannot build against a locked interface: what it must become, and why. \
            No other key then.";
        request.insert("description".to_owned(), words.into());
    }
    let mut properties = Value::Object(properties);
    simplify_schema(&mut properties);
    json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

/// Reduces a schema to keywords that are supported everywhere. Formats of numbers are removed: some
/// CLIs do not know them, and silently drop a schema they cannot read. A choice of constants
/// becomes an `enum`.
fn simplify_schema(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("format").is_some_and(Value::is_string) {
                fields.remove("format");
            }
            let choices = fields.get("oneOf").and_then(Value::as_array);
            let constants: Option<Vec<Value>> =
                choices.and_then(|all| all.iter().map(|one| one.get("const").cloned()).collect());
            if let Some(constants) = constants {
                fields.remove("oneOf");
                fields.insert("type".to_owned(), "string".into());
                fields.insert("enum".to_owned(), constants.into());
            }
            fields.values_mut().for_each(simplify_schema);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify_schema),
        _ => {}
    }
}

fn generate_schema<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<T>()
}

#[cfg(test)]
#[expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]
mod tests;
