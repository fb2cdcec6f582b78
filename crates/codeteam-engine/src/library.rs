//! All available roles and workflows: those that ship with codeteam, the user's, and the project's.
//!
//! Roles are `roles/NAME.yml` (or `roles/WORKFLOW/NAME.yml`), or a folder `agents/NAME` (or
//! `agents/WORKFLOW/NAME`) with `prompt.md` and optionally `agent.yaml`. Workflows are
//! `workflows/NAME.yml`. A file that cannot be read does not affect anything that does not need it.

mod check;

pub use self::check::unknown_names;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use codeteam_core::role::RoleKind;
use codeteam_core::spelling::nearest;
use codeteam_workflow::language::{self, CompileInputs, CompiledWorkflow, SETTINGS};
use codeteam_workflow::roles::{ResolvedRole, RoleCatalog, SourceLayer};
use codeteam_workflow::yaml::{
    self, Diagnostic, FileProblem, FileProblems, SourceFiles, SourcePosition, YamlNode, YamlValue,
};

use crate::built_in;
use crate::config::Config;
use crate::context::strategies::StrategyCatalog;
use codeteam_host::repo_files;

/// The maximum length of a file.
const MAX_BYTES: u64 = 1 << 20;

/// The reasons why something cannot be obtained from the library.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name is neither built in nor that of a file.
    #[error("there is no {what} `{name}`")]
    Unknown {
        /// `role` or `workflow`.
        what: &'static str,
        /// The name that was asked for.
        name: String,
        /// A suggestion of what may have been meant.
        near: Option<String>,
    },
    /// A file is invalid.
    #[error(transparent)]
    Invalid(#[from] FileProblems),
}

/// The folders in which files are looked up.
#[derive(Clone, Debug, Default)]
pub struct LibraryFolders {
    /// The user's own folder.
    pub user: Option<PathBuf>,
    /// The project's folder, and the repository that its files must not lead out of.
    pub project: Option<(PathBuf, PathBuf)>,
}

/// The name of the workflow that the configuration itself defines, by changes or steps of its own.
pub const CONFIGURED: &str = "project";

/// A workflow in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowListing {
    /// The name by which it is selected.
    pub name: String,
    /// The layer it comes from.
    pub layer: SourceLayer,
    /// Its file, as the user would name it.
    pub file: String,
}

/// All available roles and workflows.
///
/// [`Library::read`] reads all role files at once, from the built-in ones up to the project's;
/// workflows are read when they are compiled. Faulty role files are recorded and reported only when
/// a role is used or validated. After reading, [`Library::infer_kinds`] fills in the kinds of roles
/// that only their use in a sequence determines; then [`Library::compile_configured`],
/// [`Library::compile_for_session`] and [`Library::compile`] compile workflows.
///
/// Files of a repository must not lead out of it, whether by links or by the names of other files
/// in them.
#[derive(Debug, Default)]
pub struct Library {
    /// The files and other sources that were read.
    pub sources: SourceFiles,
    /// The roles that could be parsed, in layers.
    pub role_catalog: RoleCatalog,
    folders: LibraryFolders,
    /// The faults in role files, by the roles' names.
    broken: BTreeMap<String, Vec<Diagnostic>>,
    /// The files of roles, topmost layer first.
    files: BTreeMap<String, Vec<(SourceLayer, String)>>,
    /// The roles in the configuration.
    configured: BTreeMap<String, YamlNode>,
}

impl Library {
    /// Reads all roles. `configured` are those of the configuration, with their sources.
    pub fn read(
        places: LibraryFolders,
        sources: SourceFiles,
        configured: Option<&YamlNode>,
    ) -> Self {
        let mut library = Self {
            sources,
            folders: places,
            ..Self::default()
        };
        for (name, text) in built_in::folder("roles", ".yml") {
            library.add_role(
                SourceLayer::BuiltIn,
                name,
                &format!("built-in role `{name}`"),
                text,
            );
        }
        for (layer, folder, inside) in library.folders() {
            library.read_roles(layer, &folder, inside.as_deref());
            library.read_agents(layer, &folder, inside.as_deref());
        }
        for (key, node) in configured.and_then(YamlNode::as_map).unwrap_or_default() {
            let mut node = node.clone();
            if node.is_null() {
                node = YamlNode::empty(key.place);
            }
            library.configured.insert(key.name.clone(), node.clone());
            library
                .role_catalog
                .add(SourceLayer::Project, &key.name, node);
        }
        library
    }

    /// Returns the names of the available context strategies.
    pub fn strategies(&self) -> BTreeSet<String> {
        let folders = self.folders();
        StrategyCatalog::names_in(folders.iter().map(|(_, folder, _)| folder.as_path()))
    }

    /// Returns the user's folder and the project's.
    fn folders(&self) -> Vec<(SourceLayer, PathBuf, Option<PathBuf>)> {
        let user = self
            .folders
            .user
            .clone()
            .map(|folder| (SourceLayer::User, folder, None));
        let project = self.folders.project.clone();
        let project = project.map(|(folder, root)| {
            let root = fs::canonicalize(&root).unwrap_or(root);
            (SourceLayer::Project, folder, Some(root))
        });
        user.into_iter().chain(project).collect()
    }

    fn read_roles(&mut self, layer: SourceLayer, folder: &Path, inside: Option<&Path>) {
        let root = folder.join("roles");
        let mut files = yaml_files(&root, "");
        for scope in entries(&root).into_iter().filter(|path| path.is_dir()) {
            let name = file_name(&scope);
            files.extend(yaml_files(&scope, &format!("{name}/")));
        }
        for (name, path) in files {
            self.read_role_file(layer, &name, &path, inside);
        }
    }

    /// Reads roles in folder form: a prompt, and optionally more.
    fn read_agents(&mut self, layer: SourceLayer, folder: &Path, inside: Option<&Path>) {
        let folders = |path: &Path| entries(path).into_iter().filter(|path| path.is_dir());
        for agent in folders(&folder.join("agents")) {
            let name = file_name(&agent);
            self.read_agent(layer, &name, &agent, inside);
            for own in folders(&agent) {
                self.read_agent(layer, &format!("{name}/{}", file_name(&own)), &own, inside);
            }
        }
    }

    fn read_agent(&mut self, layer: SourceLayer, name: &str, agent: &Path, inside: Option<&Path>) {
        for file in ["agent.yaml", "agent.yml"] {
            let path = agent.join(file);
            if path.exists() {
                self.read_role_file(layer, name, &path, inside);
            }
        }
        let path = agent.join("prompt.md");
        match read(&path, inside) {
            Ok(Some(text)) => {
                let file = path.display().to_string();
                let source = self.sources.add(&file, &text);
                let place = SourcePosition {
                    source,
                    line: 1,
                    column: 1,
                };
                let prompt = without_comment(&text);
                self.role_catalog.add_prompt(layer, name, place, &prompt);
                self.note_role_file(layer, name, file);
            }
            Ok(None) => {}
            Err(problem) => self.break_role(layer, name, &path, problem),
        }
    }

    fn read_role_file(
        &mut self,
        layer: SourceLayer,
        name: &str,
        path: &Path,
        inside: Option<&Path>,
    ) {
        match read(path, inside) {
            Ok(Some(text)) => self.add_role(layer, name, &path.display().to_string(), &text),
            Ok(None) => {}
            Err(problem) => self.break_role(layer, name, path, problem),
        }
    }

    fn add_role(&mut self, layer: SourceLayer, name: &str, file: &str, text: &str) {
        match yaml::read(&mut self.sources, file, text) {
            Ok(node) => self.role_catalog.add(layer, name, node),
            Err(fault) => self.add_fault(layer, name, fault),
        }
        self.note_role_file(layer, name, file.to_owned());
    }

    fn note_role_file(&mut self, layer: SourceLayer, name: &str, file: String) {
        let files = self.files.entry(name.to_owned()).or_default();
        files.insert(0, (layer, file));
    }

    fn add_fault(&mut self, layer: SourceLayer, name: &str, fault: Diagnostic) {
        self.role_catalog.add_broken(layer, name, fault.clone());
        self.broken.entry(name.to_owned()).or_default().push(fault);
    }

    fn break_role(&mut self, layer: SourceLayer, name: &str, path: &Path, problem: String) {
        let source = self.sources.add(&path.display().to_string(), "");
        let place = SourcePosition {
            source,
            ..SourcePosition::NONE
        };
        self.add_fault(layer, name, Diagnostic::at(place, problem));
        self.note_role_file(layer, name, path.display().to_string());
    }

    /// Infers the kinds of roles that do not state theirs from the sequences that name them: the
    /// one in the configuration, and those in the workflows that people have written.
    pub fn infer_kinds(&mut self, flow: Option<&YamlNode>) {
        let mut flows: Vec<YamlNode> = flow.cloned().into_iter().collect();
        for (_, folder, inside) in self.folders() {
            for (_, path) in yaml_files(&folder.join("workflows"), "") {
                let text = read(&path, inside.as_deref()).ok().flatten();
                let text = text.unwrap_or_default();
                flows.extend(yaml::read(&mut SourceFiles::default(), "", &text));
            }
        }
        for flow in flows {
            let flow = flow.get("workflow").unwrap_or(&flow);
            for member in flow
                .get("sequence")
                .and_then(YamlNode::as_list)
                .unwrap_or_default()
            {
                let role = member.get("role").and_then(YamlNode::as_text);
                let kind = member.get("type").or_else(|| member.get("kind"));
                let kind = kind.and_then(YamlNode::as_text);
                let kind =
                    kind.and_then(|word| RoleKind::ALL.into_iter().find(|k| k.as_str() == word));
                if let (Some(role), Some(kind)) = (role, kind) {
                    self.role_catalog.add_kind(role, kind);
                }
            }
        }
    }

    /// Returns an error if there is no role of this name, not even among a workflow's own.
    pub fn unknown_role(&self, name: &str) -> Option<Error> {
        let names = self.role_names();
        let own = |known: &str| known.rsplit('/').next().unwrap_or(known).to_owned();
        if names
            .iter()
            .any(|known| *known == name || own(known) == name)
        {
            return None;
        }
        Some(Error::Unknown {
            what: "role",
            name: name.to_owned(),
            near: nearest(name, names).map(str::to_owned),
        })
    }

    /// Returns the files that define a role, topmost layer first.
    pub fn files_of(&self, name: &str) -> &[(SourceLayer, String)] {
        self.files.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns what the configuration says about a role, and where.
    pub fn configured(&self, name: &str) -> Option<(String, &YamlNode)> {
        let node = self.configured.get(name)?;
        Some((self.sources.describe(node.place), node))
    }

    /// Returns the layers that define a role, topmost first.
    pub fn layers_of(&self, name: &str) -> Vec<SourceLayer> {
        let mut layers: Vec<SourceLayer> = self.role_catalog.layers(name).collect();
        for (layer, _) in self.files_of(name) {
            if !layers.contains(layer) {
                layers.push(*layer);
            }
        }
        layers.sort_by(|a, b| b.cmp(a));
        layers
    }

    /// Returns the names of all roles, including those that cannot be read.
    pub fn role_names(&self) -> BTreeSet<&str> {
        let known = self.role_catalog.names().map(|(name, _)| name);
        known
            .chain(self.broken.keys().map(String::as_str))
            .collect()
    }

    /// Resolves a role by its full name, with everything it builds on.
    pub fn resolve(&self, name: &str) -> Result<ResolvedRole, Error> {
        if let Some(faults) = self.broken.get(name) {
            return Err(self.sources.to_problems(faults.clone()).into());
        }
        if !self.role_catalog.contains(name) {
            let names = self.role_names();
            return Err(Error::Unknown {
                what: "role",
                name: name.to_owned(),
                near: nearest(name, names).map(str::to_owned),
            });
        }
        let resolved = self.role_catalog.resolve(name);
        Ok(resolved.map_err(|faults| self.sources.to_problems(faults))?)
    }

    /// Returns the workflows that use each role, by the full name of every role that contributes to
    /// what they refer to by a name. Workflows that cannot be compiled are skipped:
    /// `workflow validate` reports them.
    pub fn workflows_by_role(
        &mut self,
        surroundings: &CompileInputs,
    ) -> BTreeMap<String, BTreeSet<String>> {
        let mut users: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let names: Vec<String> = self.workflows().into_iter().map(|one| one.name).collect();
        for name in names {
            let Ok(compiled) = self.compile(&name, surroundings.clone()) else {
                continue;
            };
            for role in compiled.roles.keys() {
                let sources = compiled.sources.get(role).into_iter().flatten();
                for (full, _) in sources {
                    users.entry(full.clone()).or_default().insert(name.clone());
                }
            }
        }
        users
    }

    /// Returns true if there is a workflow of this name.
    pub fn has_workflow(&self, name: &str) -> bool {
        self.workflows().iter().any(|listed| listed.name == name)
    }

    /// Returns all workflows, each from its topmost layer.
    pub fn workflows(&self) -> Vec<WorkflowListing> {
        let mut found: BTreeMap<String, WorkflowListing> = BTreeMap::new();
        for (name, _) in built_in::folder("workflows", ".yml") {
            if !name.contains('/') {
                let listed = WorkflowListing {
                    name: name.to_owned(),
                    layer: SourceLayer::BuiltIn,
                    file: format!("built-in workflow `{name}`"),
                };
                found.insert(name.to_owned(), listed);
            }
        }
        for (layer, folder, _) in self.folders() {
            for (name, path) in yaml_files(&folder.join("workflows"), "") {
                let file = path.display().to_string();
                let listed = WorkflowListing {
                    name: name.clone(),
                    layer,
                    file,
                };
                found.insert(name, listed);
            }
        }
        found.into_values().collect()
    }

    /// Returns the file and the text of a workflow, given as a path or a name; `below` skips that
    /// many of the topmost layers that have it.
    pub fn workflow_text(
        &self,
        name: &str,
        below: usize,
    ) -> Result<Option<(String, String)>, FileProblems> {
        let problem = |path: &Path, message: String| {
            FileProblems::from_problem(FileProblem::for_file(path.display().to_string(), message))
        };
        if is_file(name) {
            let path = Path::new(name);
            let text = read(path, None).map_err(|message| problem(path, message))?;
            return Ok(text
                .filter(|_| below == 0)
                .map(|text| (name.to_owned(), text)));
        }
        let mut below = below;
        for (_, folder, inside) in self.folders().into_iter().rev() {
            for ending in ["yml", "yaml"] {
                let path = folder.join("workflows").join(format!("{name}.{ending}"));
                let text = read(&path, inside.as_deref());
                let Some(text) = text.map_err(|message| problem(&path, message))? else {
                    continue;
                };
                if below == 0 {
                    return Ok(Some((path.display().to_string(), text)));
                }
                below -= 1;
            }
        }
        let text = built_in::text(&format!("workflows/{name}.yml")).filter(|_| below == 0);
        Ok(text.map(|text| (format!("built-in workflow `{name}`"), text.to_owned())))
    }

    /// Compiles a workflow, given by its name or its file.
    pub fn compile(
        &mut self,
        name: &str,
        surroundings: CompileInputs,
    ) -> Result<CompiledWorkflow, Error> {
        self.compile_named(name, surroundings, is_file(name))
    }

    /// Returns true if a file is not the repository's: then the files it refers to may be anywhere.
    fn is_trusted(&self, file: &str) -> bool {
        let project = self.folders.project.as_ref();
        project.is_none_or(|(folder, _)| !Path::new(file).starts_with(folder))
    }

    fn compile_named(
        &mut self,
        name: &str,
        surroundings: CompileInputs,
        trusts: bool,
    ) -> Result<CompiledWorkflow, Error> {
        if !trusts && let Some(why) = self.refusal(name) {
            return Err(FileProblems::from_problem(FileProblem::for_file(name, why)).into());
        }
        let Some((file, text)) = self.workflow_text(name, 0)? else {
            let known = self.workflows();
            let near = nearest(name, known.iter().map(|listed| listed.name.as_str()));
            return Err(Error::Unknown {
                what: "workflow",
                name: name.to_owned(),
                near: near.map(str::to_owned),
            });
        };
        let node = yaml::read(&mut self.sources, &file, &text);
        let node = node.map_err(|fault| self.sources.to_problems([fault]))?;
        let name = if is_file(name) {
            Path::new(name)
                .file_stem()
                .map_or("workflow".into(), |stem| stem.to_string_lossy())
        } else {
            name.into()
        };
        let trusts = trusts || self.is_trusted(&file);
        self.compile_node_from(&name, node, surroundings, trusts)
    }

    /// Returns why a file that the repository names is not read.
    fn refusal(&self, name: &str) -> Option<String> {
        let (_, root) = self.folders.project.as_ref().filter(|_| is_file(name))?;
        let path = Path::new(name);
        let refused = path
            .exists()
            .then(|| repo_files::ensure_inside(path, root).err())?;
        refused.map(|error| error.to_string())
    }

    /// Compiles the workflow that the configuration defines: a name, changes to a workflow, or one
    /// of its own. Changes without a name apply to the default workflow.
    pub fn compile_configured(
        &mut self,
        flow: Option<&YamlNode>,
        surroundings: CompileInputs,
    ) -> Result<CompiledWorkflow, Error> {
        let Some(node) = flow else {
            return self.compile(&Config::default_workflow(), surroundings);
        };
        let said_in = self.sources.file(node.place).unwrap_or_default();
        let trusts = self.is_trusted(said_in);
        if let Some(name) = node.as_text() {
            return self.compile_named(name, surroundings, trusts);
        }
        let mut node = node.clone();
        let mut ignored = None;
        if !names_its_steps(&node) {
            let usual = Config::default_workflow();
            if node.get("rebound").is_some() && !self.offers_rebound(&usual, &surroundings)? {
                node.take("rebound");
                ignored = Some(format!(
                    "`workflow.rebound` changes sessions alone: no step of `{usual}` offers another approach"
                ));
            }
            node.set("extends", YamlNode::text(usual));
        }
        let mut compiled = self.compile_node_from(CONFIGURED, node, surroundings, trusts)?;
        compiled.notes.extend(ignored);
        Ok(compiled)
    }

    /// Returns true if a step of a workflow offers another approach after a number of rejections.
    fn offers_rebound(&mut self, name: &str, surroundings: &CompileInputs) -> Result<bool, Error> {
        let compiled = self.compile(name, surroundings.clone())?;
        let mut steps = compiled.workflow.steps.values();
        Ok(steps.any(|step| step.rebound.is_some()))
    }

    /// Compiles the workflow for a session: one that the configuration writes out or names with
    /// `extends`; otherwise `base`, with the configured changes that apply to any workflow. Changes
    /// to single steps belong to the workflow of runs.
    pub fn compile_for_session(
        &mut self,
        flow: Option<&YamlNode>,
        base: &str,
        surroundings: CompileInputs,
    ) -> Result<CompiledWorkflow, Error> {
        let Some(node) = flow.filter(|node| node.as_map().is_some()) else {
            return self.compile(base, surroundings);
        };
        if names_its_steps(node) {
            return self.compile_configured(flow, surroundings);
        }
        let mut changes = node.clone();
        for (key, _) in node.as_map().unwrap_or_default() {
            if !ANY_WORKFLOW.contains(&key.name.as_str()) {
                changes.take(&key.name);
            }
        }
        if let Some(YamlValue::Map(settings)) =
            changes.get_mut("settings").map(|node| &mut node.value)
        {
            let known = |name: &str| SETTINGS.iter().any(|setting| setting.name == name);
            settings.retain(|(key, _)| known(&key.name));
        }
        if changes.as_map().is_none_or(<[_]>::is_empty) {
            return self.compile(base, surroundings);
        }
        let said_in = self.sources.file(node.place).unwrap_or_default();
        let trusts = self.is_trusted(said_in);
        changes.set("extends", YamlNode::text(base));
        self.compile_node_from(CONFIGURED, changes, surroundings, trusts)
    }

    /// Compiles a workflow that is part of the configuration.
    pub fn compile_node(
        &mut self,
        name: &str,
        node: YamlNode,
        surroundings: CompileInputs,
    ) -> Result<CompiledWorkflow, Error> {
        self.compile_node_from(name, node, surroundings, true)
    }

    /// Compiles a workflow; unless it is trusted, the files it names must not lead out of the
    /// repository.
    fn compile_node_from(
        &mut self,
        name: &str,
        node: YamlNode,
        mut surroundings: CompileInputs,
        trusts: bool,
    ) -> Result<CompiledWorkflow, Error> {
        surroundings.roles = self.role_catalog.clone();
        let mut sources = std::mem::take(&mut self.sources);
        let mut find = |name: &str, below: usize| {
            if !trusts && let Some(why) = self.refusal(name) {
                return Err(vec![Diagnostic::at(
                    SourcePosition::NONE,
                    format!("`{name}` {why}"),
                )]);
            }
            let found = self.workflow_text(name, below);
            let found = found.map_err(|problems| {
                let said = problems.to_string();
                vec![Diagnostic::at(SourcePosition::NONE, said)]
            })?;
            match found {
                None => Ok(None),
                Some((file, text)) => {
                    let node = yaml::read(&mut sources, &file, &text);
                    node.map(Some).map_err(|fault| vec![fault])
                }
            }
        };
        let built = language::compile_workflow(name, node, &mut surroundings, &mut find);
        self.sources = sources;
        let broken = |faults: Vec<Diagnostic>| self.sources.to_problems(faults);
        Ok(built.map_err(broken)?)
    }
}

/// The keys that a configuration may set for any workflow, whatever its steps are.
const ANY_WORKFLOW: [&str; 17] = [
    "version",
    "limits",
    "max_iterations",
    "max_rounds",
    "on_max_iterations",
    "on_exhausted",
    "rebound",
    "severity_floor",
    "quality_threshold",
    "digest_from",
    "settings",
    "roles",
    "rules",
    "policies",
    "checks",
    "hooks",
    "description",
];

/// Returns true if the configured workflow has its own steps, or names the workflow whose steps
/// they are.
fn names_its_steps(flow: &YamlNode) -> bool {
    let own = ["steps", "sequence", "extends", "template"];
    own.iter().any(|key| flow.get(key).is_some())
}

/// Returns true if a name is that of a file.
pub fn is_file(name: &str) -> bool {
    let ending = Path::new(name).extension();
    ending.is_some_and(|ending| ending == "yml" || ending == "yaml")
}

/// Reads a file, if it exists. A file of a repository must not lead out of it, because roles are
/// sent to models.
fn read(path: &Path, inside: Option<&Path>) -> Result<Option<String>, String> {
    repo_files::read_text(path, inside, MAX_BYTES).map_err(|error| {
        if error.raw_os_error().is_none() && error.kind() == std::io::ErrorKind::Other {
            error.to_string()
        } else {
            format!("could not be read: {error}")
        }
    })
}

/// Returns the YAML files of a folder by their names, sorted.
fn yaml_files(folder: &Path, prefix: &str) -> Vec<(String, PathBuf)> {
    let files = entries(folder).into_iter().filter(|path| !path.is_dir());
    files
        .filter_map(|path| {
            let ending = path.extension()?;
            let is_yaml = ending == "yml" || ending == "yaml";
            let stem = path.file_stem()?.to_str()?;
            is_yaml.then(|| (format!("{prefix}{stem}"), path.clone()))
        })
        .collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| !file_name(path).starts_with('.'));
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Returns a prompt without the comment with which some begin.
fn without_comment(text: &str) -> String {
    let rest = text.trim_start().strip_prefix("<!--");
    let rest = rest.and_then(|rest| rest.split_once("-->"));
    rest.map_or(text, |(_, rest)| rest).trim_start().to_owned()
}

#[cfg(test)]
mod tests;
