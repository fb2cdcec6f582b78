//! The layers of the configuration: built-in, user, project, environment, command line. They are
//! merged as trees, so that the origin of every value is known.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use codeteam_core::event::AccessGrant;
use codeteam_core::spelling::nearest;
use codeteam_workflow::format_version::version_fault;
use codeteam_workflow::misplaced_file::DocumentKind;
use codeteam_workflow::yaml::{
    self, Diagnostic, SourceFiles, SourcePosition, YamlKey, YamlNode, YamlScalar, YamlValue,
    deserialize_by_key, merge,
};

use super::access::{self, AccessComparison, AccessRequest, RequestState};
use super::{Config, Error, WorkerConfig, planned_keys};
use crate::built_in;
use crate::env::Env;
use crate::trust::TrustStore;
use codeteam_host::repo_files;

/// The maximum length of a configuration file.
const MAX_BYTES: u64 = 1 << 20;

/// The key of the approval policy.
const APPROVAL_GATES: &str = "approval_gates";

/// The origins of the configuration: files, environment, command line, and what is trusted.
#[derive(Clone, Debug, Default)]
pub struct ConfigOrigins {
    /// The project's `.codeteam` folder.
    pub project: Option<PathBuf>,
    /// The folder in which the user's programs keep their configuration.
    pub config_home: Option<PathBuf>,
    /// Variables of the environment that begin with `CODETEAM_`, without that prefix.
    pub variables: Vec<(String, String)>,
    /// Values that the command line sets, such as `limits.max_minutes=5`.
    pub set: Vec<String>,
    /// The requests that the user has trusted the project with.
    pub granted: BTreeSet<AccessGrant>,
    /// Whether keys that no project may set are left out; otherwise they are errors.
    pub leaves_out_user_keys: bool,
}

impl ConfigOrigins {
    /// Returns the usual origins for a project, whose folder need not exist.
    pub fn for_project(env: &Env, folder: &Path) -> Self {
        Self {
            project: Some(folder.to_owned()),
            config_home: env.config_home.clone(),
            variables: env.settings.clone(),
            set: Vec::new(),
            granted: match (TrustStore::for_user(env), folder.parent()) {
                (Some(store), Some(root)) => store.granted(root),
                _ => BTreeSet::new(),
            },
            leaves_out_user_keys: false,
        }
    }

    /// Returns the same origins without the project: the user's own configuration.
    #[must_use]
    pub fn without_project(&self) -> Self {
        Self {
            project: None,
            ..self.clone()
        }
    }
}

/// The merged layers, with the origin of each value.
#[derive(Debug)]
pub struct ConfigLayers {
    /// The files and other sources that were read.
    pub sources: SourceFiles,
    /// The merged tree; every node has its position.
    pub node: YamlNode,
}

/// Reads and merges all layers, and removes what the project is not trusted with.
pub(super) fn read(origins: &ConfigOrigins) -> Result<(Config, ConfigLayers), Error> {
    let mut sources = SourceFiles::default();
    let result = merge_layers(origins, &mut sources);
    let gathered = match result {
        Ok(found) => found,
        Err(LayerError::Io(error)) => return Err(error),
        Err(LayerError::Faults(faults)) => return Err(sources.to_problems(faults).into()),
    };
    let mut full = as_config(&gathered.node).map_err(|faults| sources.to_problems(faults))?;
    let gates = gathered
        .project
        .get(APPROVAL_GATES)
        .filter(|node| !node.is_null());
    if let Some(gates) = gates {
        full.project_approval_gates =
            yaml::deserialize_node(gates).map_err(|faults| sources.to_problems(faults))?;
    }
    let project_gates = full.project_approval_gates.clone();
    full.validate(&gathered.node, &gathered.project)
        .map_err(|faults| sources.to_problems(faults))?;
    let built_in = gathered.built_in;
    let (mut config, node) = match origins.project.as_deref() {
        None => (full, gathered.node),
        Some(folder) => {
            let root = folder.parent().unwrap_or(folder);
            let narrowed = narrow(full, gathered, root, &origins.granted, &sources);
            narrowed.map_err(|faults| sources.to_problems(faults))?
        }
    };
    config.project_approval_gates = project_gates;
    config.flow = node.get("workflow").filter(|node| !node.is_null()).cloned();
    let flow = config.flow.as_ref();
    config.names_workflow = flow.is_some_and(|flow| flow.place.source != built_in);
    config.roles = node.get("roles").cloned();
    config.notes = planned_keys::list_ineffective_keys(&node, &sources);
    config
        .notes
        .extend(config.requests.iter().filter_map(describe_withheld));
    config.sources = sources.clone();
    let source_of = ConfigLayers { sources, node };
    Ok((config, source_of))
}

/// Deserializes a tree, without its workflow and roles.
fn as_config(node: &YamlNode) -> Result<Config, Vec<Diagnostic>> {
    let mut rest = node.clone();
    rest.take("workflow");
    rest.take("roles");
    let config: Result<Config, Vec<Diagnostic>> = deserialize_by_key(&rest);
    config.map_err(|faults| nearer(&rest, faults))
}

/// Returns the configuration without the project's requests that the user has not trusted it with.
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
    let judged = access::judge_requests(&comparison, granted, &node, &without, sources);
    let (mut config, node) = match judged.narrowed {
        None => (full, node),
        Some(narrowed) => {
            let within = as_config(&narrowed).ok().filter(|config| {
                let full = config;
                access::is_within(&AccessComparison { full, ..comparison }, &judged.requests)
            });
            match within {
                Some(config) => (config, narrowed),
                // It is better to drop the project's configuration than to exceed what the user
                // allows.
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

/// Returns a note that a request is not in effect, and why.
fn describe_withheld(request: &AccessRequest) -> Option<String> {
    let why = match request.state {
        RequestState::Trusted => return None,
        RequestState::Open => "the repository is not trusted with it (`codeteam trust`)",
        RequestState::Forbidden => "your own configuration forbids it (`trust`)",
    };
    // The key may contain a name from the repository, with line breaks in it.
    let key: Vec<&str> = request.access.key.split_whitespace().collect();
    let (key, place) = (key.join(" "), &request.place);
    Some(format!("`{key}` ({place}) is left out: {why}"))
}

/// The reasons why the layers cannot be merged: a file that cannot be read, or faults in their
/// content.
enum LayerError {
    Io(Error),
    Faults(Vec<Diagnostic>),
}

impl From<Diagnostic> for LayerError {
    fn from(fault: Diagnostic) -> Self {
        Self::Faults(vec![fault])
    }
}

/// The merged layers in several combinations.
struct MergedLayers {
    /// All layers.
    node: YamlNode,
    /// All layers except the project's.
    without: YamlNode,
    /// The same without the built-in layer.
    own: YamlNode,
    /// The project's layer alone.
    project: YamlNode,
    /// The number of the built-in layer among the sources.
    built_in: u32,
}

/// Merges all layers, or returns the faults in any of them.
fn merge_layers(
    origins: &ConfigOrigins,
    sources: &mut SourceFiles,
) -> Result<MergedLayers, LayerError> {
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
    let built_in_source = built_in.place.source;
    let user = origins
        .config_home
        .as_ref()
        .map(|home| home.join("codeteam"));
    let user = read(layer(sources, user.as_deref(), None))?;
    let folder = origins.project.as_deref();
    let mut project = read(layer(sources, folder, folder.and_then(Path::parent)))?;
    if origins.leaves_out_user_keys {
        remove_user_keys(&mut project);
    }
    let mine = project.clone();
    // They are a policy of their own: merged into the user's, they could change it.
    project.take(APPROVAL_GATES);
    sandbox_in_full(&mut project);
    let mut own = user.clone();
    sandbox_in_full(&mut own);
    let mut below = merge(built_in, user.clone());
    sandbox_in_full(&mut below);
    keep_keys_home(&user, &mut project);
    let mut without = below.clone();
    let mut node = merge(without_servers_of(below, &project), project);
    if let Some(prices) = user.get("prices").cloned() {
        // The user knows best what something costs them, so their prices take precedence.
        let all = node
            .take("prices")
            .unwrap_or_else(|| YamlNode::empty(prices.place));
        node.set("prices", merge(all, prices));
    }
    let mut over = Vec::new();
    for (name, value) in &origins.variables {
        let path = name.to_lowercase().replace("__", ".");
        let source = format!("environment variable `CODETEAM_{name}`");
        if let Some(fault) = file_only_fault(sources, &source, &path) {
            read(Err(fault.into()))?;
            continue;
        }
        let said = layer_from_value(sources, &source, &path, value);
        over.push(read(said.map_err(LayerError::from))?);
    }
    for set in &origins.set {
        let path = set.split('=').next().unwrap_or_default().trim();
        if let Some(fault) = file_only_fault(sources, "command line (`--set`)", path) {
            read(Err(fault.into()))?;
            continue;
        }
        over.push(read(
            parse_set_option(sources, set).map_err(LayerError::from),
        )?);
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
            built_in: built_in_source,
        })
    } else {
        Err(LayerError::Faults(faults))
    }
}

/// Refuses keys that say who somebody is where whoever starts codeteam could say it of themselves.
fn file_only_fault(sources: &mut SourceFiles, source: &str, path: &str) -> Option<Diagnostic> {
    let key = path.split('.').next().unwrap_or_default();
    let key = ["people", "groups", "approvals"]
        .iter()
        .find(|known| **known == key)?;
    let place = SourcePosition {
        source: sources.add(source, ""),
        ..SourcePosition::NONE
    };
    let message = format!("`{key}` says who may approve changes, so it stands in a file only");
    let hint = "write it into your own `~/.config/codeteam/config.yml`";
    Some(Diagnostic::at(place, message).with_hint(hint))
}

/// Parses `--set key=value` into a layer.
fn parse_set_option(sources: &mut SourceFiles, set: &str) -> Result<YamlNode, Diagnostic> {
    let Some((path, value)) = set.split_once('=') else {
        let source = sources.add("command line", "");
        let place = SourcePosition {
            source,
            ..SourcePosition::NONE
        };
        let fault = Diagnostic::at(place, format!("`--set {set}` sets nothing"));
        return Err(fault.with_hint("write it as `--set limits.max_minutes=30`"));
    };
    let source = "command line (`--set`)";
    // Without braces, nobody means a mapping; and a value that looks like a comment is not meant to
    // be empty.
    let plain = !value.trim_start().starts_with('{');
    if plain && (value.contains(": ") || value.trim_start().starts_with('#')) {
        let read = yaml::read(sources, source, value)?;
        if read.as_map().is_some() {
            let fault = Diagnostic::at(read.place, format!("`{value}` is not text in YAML"));
            return Err(fault.with_hint(quoted(path.trim(), value)));
        }
    }
    layer_from_value(sources, source, path.trim(), value)
        .map_err(|fault| fault.with_hint(quoted(path.trim(), value)))
}

/// Returns how to write a value in a shell so that YAML reads it as a text, whatever it contains.
fn quoted(path: &str, value: &str) -> String {
    let text = value.replace('\\', r"\\").replace('"', r#"\""#);
    let text = text.replace('\'', r"'\''");
    format!("a text goes between quotes: `--set '{path}=\"{text}\"'`")
}

/// Builds a layer with one value at a path.
fn layer_from_value(
    sources: &mut SourceFiles,
    source: &str,
    path: &str,
    value: &str,
) -> Result<YamlNode, Diagnostic> {
    let mut node = yaml::read(sources, source, value)?;
    if node.as_map().is_some_and(<[_]>::is_empty) && !value.contains('{') {
        // An empty value revokes what the layers below set.
        node = YamlNode::at(node.place, YamlValue::Scalar(YamlScalar::plain("~")));
    }
    node.place.line = 0;
    let place = node.place;
    for part in path.rsplit('.') {
        if part.is_empty() {
            return Err(Diagnostic::at(
                place,
                format!("`{path}` is not a key of the configuration"),
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

/// Reads the configuration file of a folder. A repository's file must not lead out of the
/// repository.
fn layer(
    sources: &mut SourceFiles,
    folder: Option<&Path>,
    root: Option<&Path>,
) -> Result<YamlNode, LayerError> {
    let names = ["config.yml", "config.yaml"];
    let both = folder.filter(|folder| names.iter().all(|name| folder.join(name).exists()));
    if let Some(folder) = both {
        // Which of the two somebody means cannot be known, and a setting must not vanish silently.
        let path = folder.to_owned();
        return Err(LayerError::Io(Error::TwoFiles { path }));
    }
    for name in names {
        let Some(path) = folder.map(|folder| folder.join(name)) else {
            break;
        };
        match repo_files::read_text(&path, root, MAX_BYTES) {
            Ok(Some(text)) => {
                let node = yaml::read(sources, &path.display().to_string(), &text)?;
                if node.as_map().is_none() {
                    let message = format!("expected a mapping, found {}", node.kind());
                    return Err(Diagnostic::at(node.place, message).into());
                }
                let mut faults = DocumentKind::Config.find_misplaced(&node);
                faults.extend(version_fault(&node));
                faults.extend(planned_keys::list_refused_keys(&node));
                faults.extend(remote_worker_faults(&node));
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

/// Adds hints for misspelt `workflow` and `roles`: these are read as trees, so the types do not
/// know them as keys.
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

/// Refuses workers on other machines, which other tools have.
fn remote_worker_faults(node: &YamlNode) -> Vec<Diagnostic> {
    let workers = node.get("workers").and_then(YamlNode::as_map);
    let mut faults = Vec::new();
    for (name, worker) in workers.unwrap_or_default() {
        let Some(place) = worker.get("type").map(|node| node.place) else {
            continue;
        };
        let message = format!("the worker `{}` has a `type`", name.name);
        let hint = "leave it out: workers are subprocesses on this machine, and a `dialect` says \
                    how one is spoken to";
        faults.push(Diagnostic::at(place, message).with_hint(hint));
    }
    faults
}

/// Expands `sandbox: none` to `sandbox: { backend: none }`.
fn sandbox_in_full(node: &mut YamlNode) {
    if let Some(sandbox) = node.get_mut("sandbox")
        && sandbox.as_text().is_some()
    {
        let place = sandbox.place;
        let backend = std::mem::replace(sandbox, YamlNode::empty(place));
        sandbox.set("backend", backend);
    }
}

/// Removes the keys from a project's file that only the user may set, and the lists that can
/// contain such values: whoever wants none of the project's requests does without all of them.
fn remove_user_keys(project: &mut YamlNode) {
    if let Some(paths) = project
        .get_mut("risk")
        .and_then(|risk| risk.get_mut("paths"))
    {
        let sets = paths.as_map().unwrap_or_default().iter();
        let revoked = sets.filter(|(_, patterns)| patterns.is_null());
        let revoked: Vec<String> = revoked.map(|(set, _)| set.name.clone()).collect();
        for set in revoked {
            paths.take(&set);
        }
    }
    let is_null = |node: Option<&YamlNode>| node.is_some_and(YamlNode::is_null);
    if is_null(project.get("risk")) || is_null(project.get("risk").and_then(|r| r.get("paths"))) {
        project.take("risk");
    }
    for key in ["trust", "people", "groups", "approvals", "notify"] {
        project.take(key);
    }
    if let Some(sandbox) = project.get_mut("sandbox") {
        for key in ["allow_files", "hosts", "registries", "caches", "toolchains"] {
            sandbox.take(key);
        }
    }
    let Some(workers) = project.get_mut("workers") else {
        return;
    };
    let names: Vec<String> = workers
        .as_map()
        .unwrap_or_default()
        .iter()
        .map(|(key, _)| key.name.clone())
        .collect();
    for name in names {
        if let Some(worker) = workers.get_mut(&name) {
            for key in WorkerConfig::USER_ONLY {
                worker.take(key);
            }
        }
    }
}

/// Returns the layers below the project without the MCP servers that the project redefines: what
/// the user passes to their own server is not meant for another one of the same name.
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

/// Ignores the project's dialect and protocol for workers whose endpoint or key the user sets: with
/// another dialect or protocol, another key would be sent there.
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
