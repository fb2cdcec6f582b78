//! `codeteam role show`: shows a role as in its files, or resolved with everything it extends.

use codeteam_engine::engine;
use codeteam_engine::library::Library;
use codeteam_workflow::roles::{ResolvedRole, SourceLayer};
use codeteam_workflow::yaml::{self, OriginComments, SourcePosition, YamlNode};
use serde_json::json;

use crate::cli::CliContext;
use crate::cli::config::{
    LoadedConfig, flatten_with_sources, node_to_json, short_path, shorten_sources,
};
use crate::exit::Exit;
use crate::output::{self, print_line, print_text};
use codeteam_engine::problem::Problem;

/// Arguments of `role show`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The role.
    name: String,
    /// The role as a run would have it, with everything it inherits and the origin of each value.
    #[arg(long)]
    resolved: bool,
}

pub(super) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let said = LoadedConfig::read(scene, &[])?;
    let library = said.library();
    if args.resolved {
        let found = library.resolve(&args.name).map_err(engine::Error::from)?;
        print_resolved(scene, &library, &args.name, &found)?;
        return Ok(Exit::Done);
    }
    let known = library.role_names();
    if !known.contains(args.name.as_str()) {
        // This fails with a suggestion of what may have been meant.
        library.resolve(&args.name).map_err(engine::Error::from)?;
    }
    let texts = role_texts(&library, &args.name);
    if scene.json {
        let texts = texts.iter().map(
            |(layer, file, text)| json!({ "layer": layer.as_str(), "file": file, "text": text }),
        );
        output::print_json(&texts.collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    for (n, (layer, file, text)) in texts.iter().enumerate() {
        if n > 0 {
            print_line("")?;
        }
        let file = short_path(scene, file);
        let title = if file.starts_with("built-in") {
            file
        } else {
            format!("{}: {file}", layer.as_str())
        };
        print_line(&format!("# --- {title}"))?;
        print_line(text.trim_end())?;
    }
    Ok(Exit::Done)
}

/// Returns the texts that define a role, topmost first: files, and the configuration's part.
fn role_texts(library: &Library, name: &str) -> Vec<(SourceLayer, String, String)> {
    let mut texts: Vec<(SourceLayer, String, String)> = library
        .files_of(name)
        .iter()
        .map(|(layer, file)| {
            let text = library.sources.text(file).unwrap_or_default();
            (*layer, file.clone(), text.to_owned())
        })
        .collect();
    if let Some((file, node)) = library.configured(name) {
        let text = yaml::write(node, OriginComments::Omitted);
        texts.insert(0, (SourceLayer::Project, file, text));
    }
    texts
}

fn print_resolved(
    scene: &CliContext,
    library: &Library,
    name: &str,
    role: &ResolvedRole,
) -> Result<(), Problem> {
    let layers = library.layers_of(name);
    let layer = layers.first().map_or("built-in", |layer| layer.as_str());
    if scene.json {
        let chain = role.chain.iter();
        let chain = chain.map(|(name, layer)| json!({ "name": name, "layer": layer.as_str() }));
        return output::print_json(&json!({
            "name": name,
            "layer": layer,
            "chain": chain.collect::<Vec<_>>(),
            "role": node_to_json(&role.node),
            "origins": flatten_with_sources("", &role.node, &library.sources),
        }));
    }
    let chain = role.chain.iter();
    let chain = chain.map(|(name, layer)| format!("{name} ({})", layer.as_str()));
    let chain: Vec<String> = chain.collect();
    let on = if chain.is_empty() {
        String::new()
    } else {
        format!(", builds on {}", chain.join(", then "))
    };
    print_line(&format!("# {name} ({layer}){on}"))?;
    let sources = shorten_sources(scene, library.sources.clone());
    let parts = prompt_parts(library, role);
    if parts.len() > 1 {
        print_line("# its prompt, part by part:")?;
        for part in parts {
            print_line(&format!("#   {}", sources.describe(part)))?;
        }
    }
    print_text(&yaml::write(
        &prompt_last(&role.node),
        OriginComments::Shown(&sources),
    ))
}

/// Returns the positions of the parts of a role's prompt, in order.
fn prompt_parts(library: &Library, role: &ResolvedRole) -> Vec<SourcePosition> {
    let whole = role.node.get("prompt").and_then(YamlNode::as_text);
    let sources = std::iter::once(&role.top).chain(&role.chain);
    let mut all: Vec<(&str, SourceLayer)> = sources
        .map(|(name, layer)| (name.as_str(), *layer))
        .collect();
    all.reverse();
    let said = all
        .into_iter()
        .filter_map(|(name, layer)| library.role_catalog.layer_node(name, layer));
    let keys = ["prompt", "system_prompt_additions"];
    let parts = said.flat_map(|node| keys.into_iter().filter_map(|key| node.get(key)));
    // A part that replaces others leaves nothing of them.
    let is_in = |part: &&YamlNode| {
        let text = part.as_text().unwrap_or_default().trim_end();
        !text.is_empty() && whole.is_some_and(|whole| whole.contains(text))
    };
    parts.filter(is_in).map(|part| part.place).collect()
}

/// Moves the prompt to the end, because it is longer than all the rest.
fn prompt_last(node: &YamlNode) -> YamlNode {
    let mut node = node.clone();
    if let Some(prompt) = node.take("prompt") {
        node.set("prompt", prompt);
    }
    node
}
