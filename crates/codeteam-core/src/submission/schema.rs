//! The JSON Schema of an answer, made from the types that read it.
//!
//! One flat object without alternatives at the top: that is all that every model API takes for a
//! tool's input. What cannot be said that way (either this key or that one) is said in words, and
//! checked when the answer is read.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::{
    AnalystQuestions, AnswerForm, BlockedReason, ClaimedChange, ConfirmedRequirements, Design,
    PlanSubmission, ScribeText, Verdict,
};
use super::{strict, supervisor, team};
use crate::role::{Contract, EditMode, RoleKind};

/// The schema of an answer.
pub fn schema(form: AnswerForm) -> Value {
    let mut parts = match (form.contract, form.kind) {
        (Contract::Strict, RoleKind::Planner) => {
            vec![of::<strict::StrictPlan>(), of::<strict::StrictError>()]
        }
        (Contract::Strict, RoleKind::Implementer) => {
            vec![of::<strict::StrictEdits>(), of::<strict::StrictError>()]
        }
        (Contract::Strict, RoleKind::Gatekeeper) => {
            vec![of::<strict::StrictVerdict>(), of::<strict::StrictError>()]
        }
        (Contract::Supervisor, RoleKind::Planner) => vec![of::<supervisor::SupervisorPlan>()],
        (Contract::Supervisor, RoleKind::Designer) => vec![of::<supervisor::SupervisorDesign>()],
        (Contract::Supervisor, RoleKind::Implementer) => vec![of::<supervisor::SupervisorChange>()],
        (Contract::Supervisor, RoleKind::Gatekeeper) => vec![of::<supervisor::SupervisorReview>()],
        (Contract::TeamMcp, RoleKind::Gatekeeper) => vec![of::<team::TeamVerdict>()],
        (_, RoleKind::Analyst) => vec![of::<AnalystQuestions>(), of::<ConfirmedRequirements>()],
        (_, RoleKind::Designer) => vec![of::<Design>()],
        (_, RoleKind::Planner) if form.asks => {
            vec![of::<AnalystQuestions>(), of::<PlanSubmission>()]
        }
        (_, RoleKind::Planner) => vec![of::<PlanSubmission>()],
        (_, RoleKind::Implementer) => vec![of::<ClaimedChange>()],
        (_, RoleKind::Gatekeeper) => vec![of::<Verdict>()],
        (_, RoleKind::Scribe) => vec![of::<ScribeText>()],
    };
    // There it is said in the contract's own way.
    if form.contract != Contract::Strict {
        parts.push(of::<BlockedReason>());
    }
    let mut properties = Map::new();
    for part in &mut parts {
        if let Some(Value::Object(own)) = part.remove("properties") {
            properties.extend(own);
        }
    }
    if form.contract == Contract::TeamMcp {
        let renamed = properties.into_iter().map(|(key, value)| {
            let own = team::name(form.kind, &key).map_or(key, str::to_owned);
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
    let mut properties = Value::Object(properties);
    plain(&mut properties);
    json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

/// Says the same in words that everybody knows. How wide a number is goes: some CLIs know no such
/// format, and drop a schema they cannot read without telling. A choice of constants is a list.
fn plain(schema: &mut Value) {
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
            fields.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<T>()
}

#[cfg(test)]
#[expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]
mod tests;
