//! `codeteam config show`: prints all configuration layers merged.

use codeteam_core::spelling;
use codeteam_engine::config::{SchemaKind, keys, redact_node};
use codeteam_workflow::yaml::{
    self, OriginComments, SourceFiles, YamlNode, YamlValue, deserialize_node,
};
use serde_json::{Map, json};

use super::{LoadedConfig, shorten_sources};
use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, eprint_line, print_text};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// Arguments of `config show`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only this key: `limits`, `limits.max_tasks`, `verification.commands.0`.
    key: Option<String>,
    /// Show where every value comes from.
    #[arg(long)]
    origin: bool,
    /// Set a value, as `run --set` would.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

pub(super) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let said = LoadedConfig::read(scene, &args.set)?;
    let redactor = said.ground.redactor(&said.config)?;
    let whole = redact_node(said.layers.node.clone(), &redactor);
    let (path, node) = match &args.key {
        None => ("", Some(&whole)),
        Some(key) => (key.as_str(), node_at(&whole, key)),
    };
    if let Some(node) = node {
        print(scene, path, node, &said.layers.sources, args.origin)?;
    } else {
        print_unset(scene, path, &whole, args.origin)?;
    }
    said.print_notes(scene, path);
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
        (true, true) => output::print_json(&flatten_with_sources(path, node, sources)),
        (true, false) => output::print_json(&node_to_json(node)),
        (false, true) => {
            let sources = shorten_sources(scene, sources.clone());
            print_text(&yaml::write(node, OriginComments::Shown(&sources)))
        }
        (false, false) => print_text(&yaml::write(node, OriginComments::Omitted)),
    }
}

/// Reports a key without a value, or one that does not exist.
fn print_unset(
    scene: &CliContext,
    path: &str,
    whole: &YamlNode,
    origin: bool,
) -> Result<(), Problem> {
    let Some(key) = keys::find_key(SchemaKind::Config, path) else {
        let problem = Problem::user(format!("the configuration has no key `{path}`"));
        let known = keys::list_keys(SchemaKind::Config);
        let mut known: Vec<String> = known.into_iter().map(|key| key.path).collect();
        known.extend(leaves("", whole).into_iter().map(|(path, _)| path));
        let near = spelling::nearest(path, known.iter().map(String::as_str));
        return Err(match near {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None => problem.hint("`codeteam config show` prints those that have a value"),
        });
    };
    if scene.json {
        let nothing = if origin { json!({}) } else { json!(null) };
        return output::print_json(&nothing);
    }
    if scene.detail >= Verbosity::Normal {
        let meaning = key.meaning;
        eprint_line(&format!("note: `{path}` is not set. {meaning}"));
    }
    Ok(())
}

/// Returns the node at a path. Names may contain dots, so the longest one that fits is taken.
fn node_at<'a>(node: &'a YamlNode, path: &str) -> Option<&'a YamlNode> {
    if let Some(list) = node.as_list() {
        let (index, rest) = path.split_once('.').unwrap_or((path, ""));
        let item = list.get(index.parse::<usize>().ok()?)?;
        return if rest.is_empty() {
            Some(item)
        } else {
            node_at(item, rest)
        };
    }
    let entries = node.as_map()?;
    let found = entries.iter().filter_map(|(key, node)| {
        let rest = path.strip_prefix(key.name.as_str())?;
        let found = match rest.strip_prefix('.') {
            Some(rest) => node_at(node, rest),
            None => rest.is_empty().then_some(node),
        };
        Some((key.name.len(), found?))
    });
    found
        .max_by_key(|(length, _)| *length)
        .map(|(_, node)| node)
}

/// Converts a tree to JSON.
pub(crate) fn node_to_json(node: &YamlNode) -> serde_json::Value {
    deserialize_node(node).unwrap_or_default()
}

/// Returns every value by its path, with its source.
pub(crate) fn flatten_with_sources(
    path: &str,
    node: &YamlNode,
    sources: &SourceFiles,
) -> Map<String, serde_json::Value> {
    let leaves = leaves(path, node).into_iter();
    let told = leaves.map(|(path, node)| {
        let line = Some(node.place.line).filter(|line| *line > 0);
        let file = sources.file(node.place).unwrap_or("built-in");
        let told = json!({ "value": node_to_json(node), "origin": { "file": file, "line": line } });
        (path, told)
    });
    told.collect()
}

/// Returns every leaf value by its path.
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
