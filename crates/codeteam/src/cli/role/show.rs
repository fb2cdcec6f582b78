//! `codeteam role show`: one role, as its files say it or with all it builds on.

use codeteam_core::role::{ResolvedRole, SourceLayer};
use codeteam_core::yaml::{self, OriginComments, SourcePosition, YamlNode};
use codeteam_engine::engine;
use codeteam_engine::library::Library;
use serde_json::json;

use crate::cli::CliContext;
use crate::cli::config::{LoadedConfig, flat, near, near_name, value};
use crate::exit::Exit;
use crate::output::{self, out, out_line};
use crate::problem::Problem;

/// Arguments of `role show`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The role.
    name: String,
    /// The role as a run would have it, with everything it builds on and where each value was said.
    #[arg(long)]
    resolved: bool,
}

pub(super) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let said = LoadedConfig::read(scene, &[])?;
    let library = said.library();
    if args.resolved {
        let found = library.resolve(&args.name).map_err(engine::Error::from)?;
        resolved(scene, &library, &args.name, &found)?;
        return Ok(Exit::Done);
    }
    let known = library.role_names();
    if !known.contains(args.name.as_str()) {
        // Says what may have been meant.
        library.resolve(&args.name).map_err(engine::Error::from)?;
    }
    let texts = texts(&library, &args.name);
    if scene.json {
        let texts = texts.iter().map(
            |(layer, file, text)| json!({ "layer": layer.as_str(), "file": file, "text": text }),
        );
        output::json(&texts.collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    for (n, (layer, file, text)) in texts.iter().enumerate() {
        if n > 0 {
            out_line("")?;
        }
        let file = near_name(scene, file);
        let title = if file.starts_with("built-in") {
            file
        } else {
            format!("{}: {file}", layer.as_str())
        };
        out_line(&format!("# --- {title}"))?;
        out_line(text.trim_end())?;
    }
    Ok(Exit::Done)
}

/// The texts that say something of a role, topmost first: files, and what the configuration says.
fn texts(library: &Library, name: &str) -> Vec<(SourceLayer, String, String)> {
    let mut texts: Vec<(SourceLayer, String, String)> = library
        .files_of(name)
        .iter()
        .map(|(layer, file)| {
            let text = library.sources.text(file).unwrap_or_default();
            (*layer, file.clone(), text.to_owned())
        })
        .collect();
    if let Some((file, node)) = library.configured(name) {
        let text = yaml::write(node, OriginComments::Left);
        texts.insert(0, (SourceLayer::Project, file, text));
    }
    texts
}

fn resolved(
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
        return output::json(&json!({
            "name": name,
            "layer": layer,
            "chain": chain.collect::<Vec<_>>(),
            "role": value(&role.node),
            "origins": flat("", &role.node, &library.sources),
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
    out_line(&format!("# {name} ({layer}){on}"))?;
    let sources = near(scene, library.sources.clone());
    let parts = prompt_parts(library, role);
    if parts.len() > 1 {
        out_line("# its prompt, part by part:")?;
        for part in parts {
            out_line(&format!("#   {}", sources.describe(part)))?;
        }
    }
    out(&yaml::write(
        &in_order(&role.node),
        OriginComments::Told(&sources),
    ))
}

/// Where the parts of a role's prompt stand, in their order.
fn prompt_parts(library: &Library, role: &ResolvedRole) -> Vec<SourcePosition> {
    let whole = role.node.get("prompt").and_then(YamlNode::as_text);
    let sources = std::iter::once(&role.top).chain(&role.chain);
    let mut all: Vec<(&str, SourceLayer)> = sources
        .map(|(name, layer)| (name.as_str(), *layer))
        .collect();
    all.reverse();
    let said = all
        .into_iter()
        .filter_map(|(name, layer)| library.book.said(name, layer));
    let keys = ["prompt", "system_prompt_additions"];
    let parts = said.flat_map(|node| keys.into_iter().filter_map(|key| node.get(key)));
    // One that stands in place of others leaves nothing of them.
    let is_in = |part: &&YamlNode| {
        let text = part.as_text().unwrap_or_default().trim_end();
        !text.is_empty() && whole.is_some_and(|whole| whole.contains(text))
    };
    parts.filter(is_in).map(|part| part.place).collect()
}

/// The prompt last: it is longer than all the rest.
fn in_order(node: &YamlNode) -> YamlNode {
    let mut node = node.clone();
    if let Some(prompt) = node.take("prompt") {
        node.set("prompt", prompt);
    }
    node
}
