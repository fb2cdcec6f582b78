//! Checks the JSON Schemas of validators before a run starts, so that no worker is sent back for a
//! schema that is wrong.

use std::path::{Path, PathBuf};

use codeteam_core::workflow::{CheckKind, JsonSchemaSource, StepKind};
use codeteam_host::git::{self, Oid, Repo};
use codeteam_verify::format::schema_problem;
use codeteam_workflow::language::CompiledWorkflow;
use serde_json::Value;

use super::Error;

/// The longest schema.
const LONGEST: u64 = 4 << 20;

/// Fails if a validator of the workflow's roles has a schema that is not in this tree, or that is no
/// JSON Schema.
pub(super) fn check_validator_schemas(
    compiled: &CompiledWorkflow,
    repo: &Repo,
    tree: &Oid,
) -> Result<(), Error> {
    let steps = compiled.workflow.steps.values();
    let checks = steps.flat_map(|step| match &step.kind {
        StepKind::Gate { checks } => checks.as_slice(),
        _ => &[],
    });
    for check in checks {
        let CheckKind::Format(rules) = &check.what else {
            continue;
        };
        let problem = match &rules.schema {
            None => None,
            Some(JsonSchemaSource::Inline(schema)) => schema_problem(schema),
            Some(JsonSchemaSource::File(path)) => match read_schema(repo, tree, path)? {
                Ok(schema) => schema_problem(&schema).map(|why| format!("`{path}`: {why}")),
                Err(why) => Some(why),
            },
        };
        if let Some(why) = problem {
            let check = check.name.clone();
            return Err(Error::Schema { check, why });
        }
    }
    Ok(())
}

/// Reads a schema from a tree, or says why that is impossible.
pub(crate) fn read_schema(
    repo: &Repo,
    tree: &Oid,
    path: &str,
) -> Result<Result<Value, String>, git::Error> {
    let files = repo.tree_files(tree, &[PathBuf::from(path)])?;
    let file = files
        .iter()
        .find(|file| file.path == Path::new(path) && file.bytes <= LONGEST);
    let Some(file) = file else {
        return Ok(Err(format!(
            "the schema `{path}` is not in the commit that the run starts from"
        )));
    };
    let texts = repo.read_blobs(&[&file.id])?;
    let text = texts.get(&file.id).map(Vec::as_slice).unwrap_or_default();
    Ok(serde_json::from_slice(text)
        .map_err(|error| format!("the schema `{path}` is invalid JSON: {error}")))
}
