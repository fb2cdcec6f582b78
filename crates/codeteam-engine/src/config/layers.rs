//! The layers of the configuration: built-in, the user's, the project's, the environment, the
//! command line. Put together as trees, so that every value knows where it was said.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use codeteam_core::event::AccessGrant;
use codeteam_core::format_version::version_fault;
use codeteam_core::misplaced::DocumentKind;
use codeteam_core::yaml::{
    self, Diagnostic, SourceFiles, SourcePosition, YamlKey, YamlNode, YamlScalar, YamlValue, merge,
    nearest, typed_by_key,
};

use super::access::{self, AccessComparison, AccessRequest, RequestState};
use super::{Config, Error, later};
use crate::built_in;
use crate::env::Env;
use crate::inside;
use crate::trust::TrustStore;

/// No file is longer.
const MAX_BYTES: u64 = 1 << 20;

/// Where the configuration comes from.
#[derive(Clone, Debug, Default)]
pub struct ConfigOrigins {
    /// `.codeteam`.
    pub project: Option<PathBuf>,
    /// Where the user's programs keep their configuration.
    pub config_home: Option<PathBuf>,
    /// Variables of the environment that begin with `CODETEAM_`.
    pub variables: Vec<(String, String)>,
    /// What the command line sets: `limits.max_minutes=5`.
    pub set: Vec<String>,
    /// What the user has trusted the project with.
    pub granted: BTreeSet<AccessGrant>,
}

impl ConfigOrigins {
    /// The usual ones of a project, whose folder need not exist.
    pub fn of(env: &Env, folder: &Path) -> Self {
        Self {
            project: Some(folder.to_owned()),
            config_home: env.config_home.clone(),
            variables: env.settings.clone(),
            set: Vec::new(),
            granted: match (TrustStore::of(env), folder.parent()) {
                (Some(store), Some(root)) => store.granted(root),
                _ => BTreeSet::new(),
            },
        }
    }

    /// The same without the project: what the user says alone.
    #[must_use]
    pub fn without_project(&self) -> Self {
        Self {
            project: None,
            ..self.clone()
        }
    }
}

/// All layers together.
#[derive(Debug)]
pub struct ConfigLayers {
    /// Where everything was read.
    pub sources: SourceFiles,
    /// Everything that is said, with places.
    pub node: YamlNode,
}

/// Everything that is said in all layers.
pub(super) fn read(origins: &ConfigOrigins) -> Result<(Config, ConfigLayers), Error> {
    let mut sources = SourceFiles::default();
    let result = gather(origins, &mut sources);
    let gathered = match result {
        Ok(found) => found,
        Err(LayerError::Io(error)) => return Err(error),
        Err(LayerError::Faults(faults)) => return Err(sources.problems(faults).into()),
    };
    let full = as_config(&gathered.node).map_err(|faults| sources.problems(faults))?;
    full.checked(&gathered.node, &gathered.project)
        .map_err(|faults| sources.problems(faults))?;
    let (mut config, node) = match origins.project.as_deref() {
        None => (full, gathered.node),
        Some(folder) => {
            let root = folder.parent().unwrap_or(folder);
            let narrowed = narrow(full, gathered, root, &origins.granted, &sources);
            narrowed.map_err(|faults| sources.problems(faults))?
        }
    };
    config.flow = node.get("workflow").filter(|node| !node.is_null()).cloned();
    config.roles = node.get("roles").cloned();
    config.notes = later::notes(&node, &sources);
    config
        .notes
        .extend(config.requests.iter().filter_map(left_out));
    config.sources = sources.clone();
    let source_of = ConfigLayers { sources, node };
    Ok((config, source_of))
}

/// What a tree says, but for its workflow and roles.
fn as_config(node: &YamlNode) -> Result<Config, Vec<Diagnostic>> {
    let mut rest = node.clone();
    rest.take("workflow");
    rest.take("roles");
    let config: Result<Config, Vec<Diagnostic>> = typed_by_key(&rest);
    config.map_err(|faults| nearer(&rest, faults))
}

/// The configuration without what the project asks for and the user has not trusted it with.
fn narrow(
    full: Config,
    gathered: MergedLayers,
    root: &Path,
    granted: &BTreeSet<AccessGrant>,
    sources: &SourceFiles,
) -> Result<(Config, YamlNode), Vec<Diagnostic>> {
    let MergedLayers {
        node, without, own, ..
    } = gathered;
    let allowed = as_config(&without)?;
    let included = access::included_patterns(root);
    let comparison = AccessComparison {
        full: &full,
        allowed: &allowed,
        own: &own,
        included: &included,
    };
    let judged = access::judge(&comparison, granted, &node, &without, sources);
    let (mut config, node) = match judged.narrowed {
        None => (full, node),
        Some(narrowed) => {
            let within = as_config(&narrowed).ok().filter(|config| {
                let full = config;
                access::is_within(&AccessComparison { full, ..comparison }, &judged.requests)
            });
            match within {
                Some(config) => (config, narrowed),
                // Nothing of the project is better than more than the user allows.
                None => (allowed, without),
            }
        }
    };
    let is_trusted = |request: &AccessRequest| {
        request.access.key == access::INCLUDES && request.state == RequestState::Trusted
    };
    if judged.requests.iter().any(is_trusted) {
        config.included = included;
    }
    config.requests = judged.requests;
    Ok((config, node))
}

/// Says that a request is not in force, and why.
fn left_out(request: &AccessRequest) -> Option<String> {
    let why = match request.state {
        RequestState::Trusted => return None,
        RequestState::Open => "the repository is not trusted with it (`codeteam trust`)",
        RequestState::Forbidden => "your own configuration forbids it (`trust`)",
    };
    // A name in it is the repository's, and may have line breaks.
    let key: Vec<&str> = request.access.key.split_whitespace().collect();
    let (key, place) = (key.join(" "), &request.place);
    Some(format!("`{key}` ({place}) is left out: {why}"))
}

enum LayerError {
    Io(Error),
    Faults(Vec<Diagnostic>),
}

impl From<Diagnostic> for LayerError {
    fn from(fault: Diagnostic) -> Self {
        Self::Faults(vec![fault])
    }
}

/// All layers put together.
struct MergedLayers {
    /// Everything.
    node: YamlNode,
    /// Everything but what the project says.
    without: YamlNode,
    /// That without what is built in.
    own: YamlNode,
    /// What the project alone says.
    project: YamlNode,
}

/// All layers put together, or what is wrong with any of them.
fn gather(origins: &ConfigOrigins, sources: &mut SourceFiles) -> Result<MergedLayers, LayerError> {
    let mut faults = Vec::new();
    let mut read = |layer: Result<YamlNode, LayerError>| match layer {
        Ok(node) => Ok(node),
        Err(LayerError::Faults(found)) => {
            faults.extend(found);
            Ok(YamlNode::empty(SourcePosition::NONE))
        }
        Err(error) => Err(error),
    };
    let built_in = yaml::read(sources, "built-in configuration", built_in::config())?;
    let user = origins
        .config_home
        .as_ref()
        .map(|home| home.join("codeteam"));
    let user = read(layer(sources, user.as_deref(), None))?;
    let folder = origins.project.as_deref();
    let mut project = read(layer(sources, folder, folder.and_then(Path::parent)))?;
    let mine = project.clone();
    sandbox_in_full(&mut project);
    let mut own = user.clone();
    sandbox_in_full(&mut own);
    let mut below = merge(built_in, user.clone());
    sandbox_in_full(&mut below);
    keep_keys_home(&user, &mut project);
    let mut without = below.clone();
    let mut node = merge(without_servers_of(below, &project), project);
    if let Some(prices) = user.get("prices").cloned() {
        // What something costs the user, the user knows best.
        let all = node
            .take("prices")
            .unwrap_or_else(|| YamlNode::empty(prices.place));
        node.set("prices", merge(all, prices));
    }
    let mut over = Vec::new();
    for (name, value) in &origins.variables {
        let path = name.to_lowercase().replace("__", ".");
        let source = format!("environment variable `CODETEAM_{name}`");
        let said = said(sources, &source, &path, value);
        over.push(read(said.map_err(LayerError::from))?);
    }
    for set in &origins.set {
        over.push(read(set_by_hand(sources, set).map_err(LayerError::from))?);
    }
    for layer in over {
        own = merge(own, layer.clone());
        without = merge(without, layer.clone());
        node = merge(node, layer);
    }
    for tree in [&mut node, &mut without, &mut own] {
        sandbox_in_full(tree);
    }
    if faults.is_empty() {
        Ok(MergedLayers {
            node,
            without,
            own,
            project: mine,
        })
    } else {
        Err(LayerError::Faults(faults))
    }
}

/// `--set key=value`, as one layer.
fn set_by_hand(sources: &mut SourceFiles, set: &str) -> Result<YamlNode, Diagnostic> {
    let Some((path, value)) = set.split_once('=') else {
        let source = sources.add("command line", "");
        let place = SourcePosition {
            source,
            ..SourcePosition::NONE
        };
        let fault = Diagnostic::at(place, format!("`--set {set}` sets nothing"));
        return Err(fault.hint("write it as `--set limits.max_minutes=30`"));
    };
    let source = "command line (`--set`)";
    // What has no braces is no mapping to whoever writes it, and what is only a comment is not nothing.
    let plain = !value.trim_start().starts_with('{');
    if plain && (value.contains(": ") || value.trim_start().starts_with('#')) {
        let read = yaml::read(sources, source, value)?;
        if read.as_map().is_some() {
            let fault = Diagnostic::at(read.place, format!("`{value}` is no text to YAML"));
            return Err(fault.hint(quoted(path.trim(), value)));
        }
    }
    said(sources, source, path.trim(), value)
        .map_err(|fault| fault.hint(quoted(path.trim(), value)))
}

/// How a value is written for a shell that is a text to YAML, whatever is in it.
fn quoted(path: &str, value: &str) -> String {
    let text = value.replace('\\', r"\\").replace('"', r#"\""#);
    let text = text.replace('\'', r"'\''");
    format!("a text goes between quotes: `--set '{path}=\"{text}\"'`")
}

/// A value at a path, as one layer.
fn said(
    sources: &mut SourceFiles,
    source: &str,
    path: &str,
    value: &str,
) -> Result<YamlNode, Diagnostic> {
    let mut node = yaml::read(sources, source, value)?;
    if node.as_map().is_some_and(<[_]>::is_empty) && !value.contains('{') {
        // Nothing: takes back what is said below.
        node = YamlNode::at(node.place, YamlValue::Scalar(YamlScalar::plain("~")));
    }
    node.place.line = 0;
    let place = node.place;
    for part in path.rsplit('.') {
        if part.is_empty() {
            return Err(Diagnostic::at(
                place,
                format!("`{path}` is no key of the configuration"),
            ));
        }
        let key = YamlKey {
            name: part.to_owned(),
            place,
        };
        node = YamlNode::at(place, YamlValue::Map(vec![(key, node)]));
    }
    Ok(node)
}

/// The configuration file of a folder; if it is a repository's, it stays in there.
fn layer(
    sources: &mut SourceFiles,
    folder: Option<&Path>,
    root: Option<&Path>,
) -> Result<YamlNode, LayerError> {
    for name in ["config.yml", "config.yaml"] {
        let Some(path) = folder.map(|folder| folder.join(name)) else {
            break;
        };
        match inside::read(&path, root, MAX_BYTES) {
            Ok(Some(text)) => {
                let node = yaml::read(sources, &path.display().to_string(), &text)?;
                if node.as_map().is_none() {
                    let message = format!("expected a mapping, found {}", node.kind());
                    return Err(Diagnostic::at(node.place, message).into());
                }
                let mut faults = DocumentKind::Config.misplaced(&node);
                faults.extend(version_fault(&node));
                faults.extend(later::refused(&node));
                faults.extend(elsewhere(&node));
                return if faults.is_empty() {
                    Ok(node)
                } else {
                    Err(LayerError::Faults(faults))
                };
            }
            Ok(None) => {}
            Err(source) => return Err(LayerError::Io(Error::Read { path, source })),
        }
    }
    Ok(YamlNode::empty(SourcePosition::NONE))
}

/// Two keys are read as trees, so their types do not know that they are keys too.
fn nearer(node: &YamlNode, mut faults: Vec<Diagnostic>) -> Vec<Diagnostic> {
    for (key, _) in node.as_map().unwrap_or_default() {
        let message = format!("unknown key `{}`", key.name);
        let own = |fault: &&mut Diagnostic| fault.place == key.place && fault.message == message;
        if let Some(fault) = faults.iter_mut().find(own)
            && let Some(near) = nearest(&key.name, ["workflow", "roles"])
        {
            fault.hint = Some(format!("did you mean `{near}`?"));
        }
    }
    faults
}

/// Workers that would be on other machines: other tools have them.
fn elsewhere(node: &YamlNode) -> Vec<Diagnostic> {
    let workers = node.get("workers").and_then(YamlNode::as_map);
    let mut faults = Vec::new();
    for (name, worker) in workers.unwrap_or_default() {
        let Some(place) = worker.get("type").map(|node| node.place) else {
            continue;
        };
        let message = format!("the worker `{}` has a `type`", name.name);
        let hint = "leave it out: workers are subprocesses on this machine, and a `dialect` says \
                    how one is spoken to";
        faults.push(Diagnostic::at(place, message).hint(hint));
    }
    faults
}

/// `sandbox: none` is `sandbox: { backend: none }`.
fn sandbox_in_full(node: &mut YamlNode) {
    if let Some(sandbox) = node.get_mut("sandbox")
        && sandbox.as_text().is_some()
    {
        let place = sandbox.place;
        let backend = std::mem::replace(sandbox, YamlNode::empty(place));
        sandbox.set("backend", backend);
    }
}

/// The layers below the project without the MCP servers that it defines anew: what the user gives to
/// a server of theirs is not for another of the same name.
fn without_servers_of(mut below: YamlNode, project: &YamlNode) -> YamlNode {
    let defined = project.get("mcp_servers").and_then(YamlNode::as_map);
    if let Some(servers) = below.get_mut("mcp_servers") {
        let defined = defined.unwrap_or_default().iter();
        for (name, _) in defined.filter(|(_, server)| !server.is_null()) {
            servers.take(&name.name);
        }
    }
    below
}

/// Whoever says where a key goes also says whose key it is: by another dialect or protocol another
/// key would go there.
fn keep_keys_home(user: &YamlNode, project: &mut YamlNode) {
    let Some(workers) = project.get_mut("workers").and_then(YamlNode::as_map_mut) else {
        return;
    };
    for (name, worker) in workers {
        let own = user
            .get("workers")
            .and_then(|workers| workers.get(&name.name));
        let decides = ["base_url", "key", "program", "login"];
        if own.is_some_and(|own| decides.iter().any(|key| own.get(key).is_some())) {
            worker.take("dialect");
            worker.take("protocol");
        }
    }
}
