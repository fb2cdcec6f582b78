//! `codeteam config show`: all layers together.

use codeteam_core::yaml::{self, OriginComments, SourceFiles, YamlNode, YamlValue, typed};
use codeteam_engine::config::{SchemaKind, concealed, keys};
use serde_json::{Map, json};

use super::{LoadedConfig, near};
use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, out, say};
use crate::problem::Problem;
use crate::progress::Verbosity;

/// Arguments of `config show`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only this key: `limits`, `limits.max_tasks`, `verification.commands.0`.
    key: Option<String>,
    /// Say where every value comes from.
    #[arg(long)]
    origin: bool,
    /// Set a value, as `run --set` would.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

pub(super) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let said = LoadedConfig::read(scene, &args.set)?;
    let redactor = said.ground.redactor(&said.config)?;
    let whole = concealed(said.layers.node.clone(), &redactor);
    let (path, node) = match &args.key {
        None => ("", Some(&whole)),
        Some(key) => (key.as_str(), at(&whole, key)),
    };
    if let Some(node) = node {
        print(scene, path, node, &said.layers.sources, args.origin)?;
    } else {
        unset(scene, path, &whole, args.origin)?;
    }
    said.tell_notes(scene, path);
    Ok(Exit::Done)
}

fn print(
    scene: &CliContext,
    path: &str,
    node: &YamlNode,
    sources: &SourceFiles,
    origin: bool,
) -> Result<(), Problem> {
    match (scene.json, origin) {
        (true, true) => output::json(&flat(path, node, sources)),
        (true, false) => output::json(&value(node)),
        (false, true) => {
            let sources = near(scene, sources.clone());
            out(&yaml::write(node, OriginComments::Told(&sources)))
        }
        (false, false) => out(&yaml::write(node, OriginComments::Left)),
    }
}

/// A key that nothing is said at: it has no value, or there is no such key.
fn unset(scene: &CliContext, path: &str, whole: &YamlNode, origin: bool) -> Result<(), Problem> {
    let Some(key) = keys::find(SchemaKind::Config, path) else {
        let problem = Problem::user(format!("the configuration has no key `{path}`"));
        let known = keys::keys(SchemaKind::Config);
        let mut known: Vec<String> = known.into_iter().map(|key| key.path).collect();
        known.extend(leaves("", whole).into_iter().map(|(path, _)| path));
        let near = yaml::nearest(path, known.iter().map(String::as_str));
        return Err(match near {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None => problem.hint("`codeteam config show` prints those that have a value"),
        });
    };
    if scene.json {
        let nothing = if origin { json!({}) } else { json!(null) };
        return output::json(&nothing);
    }
    if scene.detail >= Verbosity::Normal {
        let meaning = key.meaning;
        say(&format!("note: `{path}` is not set. {meaning}"));
    }
    Ok(())
}

/// What stands at a path. Names may have dots in them, so the longest one that fits is taken.
fn at<'a>(node: &'a YamlNode, path: &str) -> Option<&'a YamlNode> {
    if let Some(list) = node.as_list() {
        let (index, rest) = path.split_once('.').unwrap_or((path, ""));
        let item = list.get(index.parse::<usize>().ok()?)?;
        return if rest.is_empty() {
            Some(item)
        } else {
            at(item, rest)
        };
    }
    let entries = node.as_map()?;
    let found = entries.iter().filter_map(|(key, node)| {
        let rest = path.strip_prefix(key.name.as_str())?;
        let found = match rest.strip_prefix('.') {
            Some(rest) => at(node, rest),
            None => rest.is_empty().then_some(node),
        };
        Some((key.name.len(), found?))
    });
    found
        .max_by_key(|(length, _)| *length)
        .map(|(_, node)| node)
}

/// A tree as JSON.
pub(crate) fn value(node: &YamlNode) -> serde_json::Value {
    typed(node).unwrap_or_default()
}

/// Every value by its path, with where it was said.
pub(crate) fn flat(
    path: &str,
    node: &YamlNode,
    sources: &SourceFiles,
) -> Map<String, serde_json::Value> {
    let leaves = leaves(path, node).into_iter();
    let told = leaves.map(|(path, node)| {
        let line = Some(node.place.line).filter(|line| *line > 0);
        let file = sources.file(node.place).unwrap_or("built-in");
        let told = json!({ "value": value(node), "origin": { "file": file, "line": line } });
        (path, told)
    });
    told.collect()
}

/// Everything that has no parts, by its path.
fn leaves<'a>(path: &str, node: &'a YamlNode) -> Vec<(String, &'a YamlNode)> {
    let dot = if path.is_empty() { "" } else { "." };
    match &node.value {
        YamlValue::Map(entries) if !entries.is_empty() => entries
            .iter()
            .flat_map(|(key, node)| leaves(&format!("{path}{dot}{}", key.name), node))
            .collect(),
        YamlValue::List(list) if !list.is_empty() => list
            .iter()
            .enumerate()
            .flat_map(|(index, node)| leaves(&format!("{path}{dot}{index}"), node))
            .collect(),
        _ => vec![(path.to_owned(), node)],
    }
}
