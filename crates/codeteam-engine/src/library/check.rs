//! Checks roles and the configuration beyond their form: finds references to things that do not
//! exist.

use std::collections::BTreeSet;

use codeteam_core::ids::WorkerName;
use codeteam_core::spelling::{nearest, suggest_word};
use codeteam_workflow::roles::{RoleFile, SourceLayer};
use codeteam_workflow::yaml::{
    Diagnostic, FileProblem, SourcePosition, YamlNode, deserialize_by_key,
};

use super::Library;
use crate::config::Config;
use crate::dialect::tools;
use crate::prompt::{self, TemplateCatalog};
use crate::workers::Worker;

impl Library {
    /// Returns everything that is wrong with a role and what it builds on. Workers and servers are
    /// checked against the configuration, if it can be read.
    pub fn role_faults(&self, name: &str, config: Option<&Config>) -> Vec<Diagnostic> {
        if let Some(faults) = self.broken.get(name) {
            return faults.clone();
        }
        match self.role_catalog.resolve(name) {
            Ok(resolved) => self.unknown(&resolved.node, config),
            Err(mut faults) => {
                // The fault may be in what the role builds on; that must not hide its own faults.
                let own = self.layers_of(name).into_iter();
                for node in own.filter_map(|layer| self.role_catalog.layer_node(name, layer)) {
                    let form = deserialize_by_key::<RoleFile>(node)
                        .err()
                        .unwrap_or_default();
                    let own = form.into_iter().chain(self.unknown(node, config));
                    for fault in own {
                        if faults.iter().all(|known| known.place != fault.place) {
                            faults.push(fault);
                        }
                    }
                }
                faults
            }
        }
    }
}

impl Library {
    /// Returns the roles of the user and the project that cannot be used, each with its first
    /// fault.
    pub fn broken_roles(&self, config: &Config) -> Vec<(String, String)> {
        let names = self.role_names().into_iter();
        let own = names.filter(|name| self.layers_of(name).first() > Some(&SourceLayer::BuiltIn));
        own.filter_map(|name| {
            let fault = self.role_faults(name, Some(config)).into_iter().next()?;
            let problem = self
                .sources
                .to_problems([fault])
                .problems
                .into_iter()
                .next()?;
            let place = match problem.line {
                0 => problem.file,
                line => format!("{}:{line}", problem.file),
            };
            Some((name.to_owned(), format!("{place}: {}", problem.message)))
        })
        .collect()
    }
}

impl Library {
    /// Returns what is wrong with the prompt of a role that can be resolved: its templates and
    /// variables.
    pub fn prompt_problems(&self, name: &str, templates: &TemplateCatalog) -> Vec<FileProblem> {
        let Ok(resolved) = self.role_catalog.resolve(name) else {
            return Vec::new();
        };
        let problems = match templates.check([&resolved.role]) {
            Ok(()) => return Vec::new(),
            Err(prompt::Error::Invalid(problems)) => problems.problems,
            Err(error) => {
                let place = resolved.node.get("template").map(|node| node.place);
                let mut fault =
                    Diagnostic::at(place.unwrap_or(resolved.node.place), error.to_string());
                if let prompt::Error::Unknown { near, .. } = error {
                    fault = fault
                        .with_optional_hint(near.map(|near| format!("did you mean `{near}`?")));
                }
                self.sources.to_problems([fault]).problems
            }
        };
        let above = resolved.chain.iter().map(|(name, _)| name.as_str());
        let names: Vec<&str> = [name].into_iter().chain(above).collect();
        let located = |problem| self.locate_problem(&names, problem);
        problems.into_iter().map(located).collect()
    }

    /// Moves a problem of a prompt to the line of the file that contains it, if that is found.
    fn locate_problem(&self, names: &[&str], problem: FileProblem) -> FileProblem {
        let Some(said) = problem.text.clone().filter(|text| !text.trim().is_empty()) else {
            return problem;
        };
        let files = names.iter().flat_map(|name| self.files_of(name));
        for (_, file) in files {
            let lines = self.sources.text(file).unwrap_or_default().lines();
            for (number, line) in (1..).zip(lines) {
                let Some(before) = line.find(said.trim_end()) else {
                    continue;
                };
                let before = u32::try_from(line[..before].chars().count()).unwrap_or(0);
                return FileProblem {
                    file: file.clone(),
                    line: number,
                    column: problem.column + before,
                    text: Some(line.to_owned()),
                    ..problem
                };
            }
        }
        problem
    }
}

/// Returns unknown names in the configuration: its worker, and roles that are not in `roles`.
pub fn unknown_names(
    node: &YamlNode,
    config: &Config,
    roles: &BTreeSet<String>,
) -> Vec<Diagnostic> {
    let mut faults = unknown_workers(node, "worker", config);
    let continuity = node.get("continuity");
    let continues = continuity.and_then(|node| node.get("continuation_roles"));
    let mut named = texts(node.get("security_role"));
    named.extend(texts(continues));
    let counted = node.get("verifier_instances").and_then(YamlNode::as_map);
    let counted = counted.unwrap_or_default().iter();
    named.extend(counted.map(|(key, _)| (key.name.as_str(), key.place)));
    for (name, place) in named {
        if !roles.contains(name) {
            let near = nearest(name, roles.iter().map(String::as_str));
            let hint = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`codeteam role list` lists all of them".to_owned(),
            };
            faults
                .push(Diagnostic::at(place, format!("there is no role `{name}`")).with_hint(hint));
        }
    }
    faults
}

/// Returns the unknown workers that a key names.
fn unknown_workers(node: &YamlNode, key: &str, config: &Config) -> Vec<Diagnostic> {
    let known = Worker::names(config);
    let mut faults = Vec::new();
    for (name, place) in texts(node.get(key)) {
        if Worker::find(config, &WorkerName(name.to_owned())).is_none() {
            let message = format!("codeteam does not know the worker `{name}`");
            let hint = suggest_word(name, known.iter().map(String::as_str));
            faults.push(Diagnostic::at(place, message).with_optional_hint(hint));
        }
    }
    faults
}

impl Library {
    /// Returns the unknown names in a role.
    fn unknown(&self, node: &YamlNode, config: Option<&Config>) -> Vec<Diagnostic> {
        let mut faults = Vec::new();
        let context = node.get("context");
        if let Some(strategy) = context.and_then(|context| context.get("strategy"))
            && let Some(name) = strategy.as_text()
            && !self.strategies().contains(name)
        {
            let message = format!("there is no context strategy `{name}`");
            let known = self.strategies();
            let known = known.iter().map(String::as_str);
            faults.push(
                Diagnostic::at(strategy.place, message)
                    .with_optional_hint(suggest_word(name, known)),
            );
        }
        if texts(node.get("mcp_servers")).is_empty() {
            for (name, place) in texts(node.get("allowed_tools")) {
                if !tools::is_known_tool(name) {
                    let message = format!("no worker has a tool `{name}`");
                    let hint = nearest(name, tools::list_tool_words());
                    let hint = match hint {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => {
                            "tools of your own come from an MCP server: name it under `mcp_servers`"
                                .to_owned()
                        }
                    };
                    faults.push(Diagnostic::at(place, message).with_hint(hint));
                }
            }
        }
        let Some(config) = config else {
            return faults;
        };
        for key in ["worker", "workers"] {
            faults.extend(unknown_workers(node, key, config));
        }
        for (name, place) in texts(node.get("mcp_servers")) {
            if !config.knows_server(name) {
                let message = format!("no MCP server `{name}` is configured");
                let hint = suggest_word(name, config.mcp_servers.keys().map(String::as_str));
                let hint =
                    hint.unwrap_or("name it under `mcp_servers:` in the configuration".to_owned());
                faults.push(Diagnostic::at(place, message).with_hint(hint));
            }
        }
        faults
    }
}

/// Returns one text, or those of a list, with their positions.
fn texts(node: Option<&YamlNode>) -> Vec<(&str, SourcePosition)> {
    let node = node.into_iter();
    let all = node.flat_map(|node| match node.as_list() {
        Some(list) => list.iter().collect(),
        None => vec![node],
    });
    all.filter_map(|node| Some((node.as_text()?, node.place)))
        .collect()
}
