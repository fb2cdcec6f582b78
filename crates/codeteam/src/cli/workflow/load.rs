//! Loads workflows from the project's files, the user's, and the built-in ones. All loading of this
//! command is here.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use codeteam_core::spelling::nearest;
use codeteam_engine::config::{Config, ConfigOrigins};
use codeteam_engine::engine::{self, Engine, Project, RunRequest};
use codeteam_engine::library::{self, CONFIGURED, LibraryFolders, WorkflowListing};
use codeteam_engine::{built_in, library::is_file};
use codeteam_workflow::language::{CompileInputs, CompiledWorkflow};
use codeteam_workflow::roles::SourceLayer;
use codeteam_workflow::yaml::{self, SourcePosition, YamlKey, YamlNode, YamlScalar};
use serde::Serialize;
use serde_json::Value;

use crate::cli::{CliContext, read_named_file};
use codeteam_engine::problem::Problem;

/// The workflows of a project, a user and codeteam.
pub(super) struct WorkflowLibrary {
    /// The `.codeteam` folder of the project, or where it would be.
    pub(super) folder: PathBuf,
    project: Option<Project>,
    surroundings: CompileInputs,
    known: RefCell<library::Library>,
}

/// A workflow's text and origin.
#[derive(Debug, Serialize)]
pub(super) struct WorkflowSource {
    pub(super) name: String,
    pub(super) file: String,
    pub(super) text: String,
}

impl WorkflowLibrary {
    /// Opens the library. No project is needed, but its files are used if there is one.
    pub(super) fn open(scene: &CliContext) -> Result<Self, Problem> {
        let is_project = Engine::discover(&scene.folder, &scene.env).is_ok();
        if is_project {
            let project = scene.find_project()?;
            return Ok(Self {
                folder: project.folder.clone(),
                surroundings: project.config.surroundings(),
                known: RefCell::new(project.library()),
                project: Some(project),
            });
        }
        let folder = scene.folder.join(".codeteam");
        let origins = ConfigOrigins::for_project(&scene.env, &folder);
        let (config, layers) = Config::load_with_layers(&origins).map_err(engine::Error::from)?;
        let home = scene.env.config_home.as_ref();
        let places = LibraryFolders {
            user: home.map(|home| home.join("codeteam")),
            project: Some((folder.clone(), scene.folder.clone())),
        };
        let library = library::Library::read(places, layers.sources, config.roles.as_ref());
        Ok(Self {
            folder,
            project: None,
            surroundings: config.surroundings(),
            known: RefCell::new(library),
        })
    }

    /// Returns the workflow that a run would follow by default.
    pub(super) fn default_workflow(&self) -> Result<CompiledWorkflow, Problem> {
        match &self.project {
            Some(project) => Ok(project.workflow(&RunRequest::default())?),
            None => self.compile(&Config::default_workflow(), &BTreeMap::new()),
        }
    }

    /// Returns the workflow that the user names, or the default one.
    pub(super) fn find_workflow(
        &self,
        name: Option<&str>,
        folder: &Path,
    ) -> Result<CompiledWorkflow, Problem> {
        match name {
            Some(name) => self.compile(&resolve_from(folder, name), &BTreeMap::new()),
            None => self.default_workflow(),
        }
    }

    /// Compiles a workflow by its name or file, with settings over its own.
    pub(super) fn compile(
        &self,
        name: &str,
        settings: &BTreeMap<String, Value>,
    ) -> Result<CompiledWorkflow, Problem> {
        Ok(self
            .try_compile(name, settings)
            .map_err(engine::Error::from)?)
    }

    /// Does the same, and returns the problems one by one.
    pub(super) fn try_compile(
        &self,
        name: &str,
        settings: &BTreeMap<String, Value>,
    ) -> Result<CompiledWorkflow, library::Error> {
        let surroundings = self.surroundings.clone();
        if let Some(own) = self.configured_as(name) {
            let mut node = own.clone();
            if !settings.is_empty() {
                node = yaml::merge(node, settings_node(settings));
            }
            let mut library = self.known.borrow_mut();
            return library.compile_configured(Some(&node), surroundings);
        }
        let mut library = self.known.borrow_mut();
        if settings.is_empty() {
            return library.compile(name, surroundings);
        }
        // A missing workflow is reported as such, not as one that cannot be extended.
        if library.workflow_text(name, 0)?.is_none() {
            drop(library);
            return Err(self.unknown_workflow(name));
        }
        let mut node = settings_node(settings);
        node.set("extends", YamlNode::text(name));
        library.compile_node("a case", node, surroundings)
    }

    /// Returns the text of a workflow by its name or file.
    pub(super) fn source(&self, name: &str) -> Result<WorkflowSource, Problem> {
        if let Some(own) = self.configured_as(name) {
            return Ok(WorkflowSource {
                name: name.to_owned(),
                file: self.configured_file(own),
                text: yaml::write(own, yaml::OriginComments::Omitted),
            });
        }
        let text = self.known.borrow().workflow_text(name, 0);
        let text = text
            .map_err(library::Error::from)
            .map_err(engine::Error::from)?;
        let (file, text) = text.ok_or_else(|| engine::Error::from(self.unknown_workflow(name)))?;
        let name = name.to_owned();
        Ok(WorkflowSource { name, file, text })
    }

    fn unknown_workflow(&self, name: &str) -> library::Error {
        let all = self.list_workflows();
        let near = nearest(name, all.iter().map(|listed| listed.name.as_str()));
        library::Error::Unknown {
            what: "workflow",
            name: name.to_owned(),
            near: near.map(str::to_owned),
        }
    }

    /// Returns all workflows, the configured one first.
    pub(super) fn list_workflows(&self) -> Vec<WorkflowListing> {
        let mut all = self.known.borrow().workflows();
        if let Some(own) = self.configured_as(CONFIGURED) {
            let listed = WorkflowListing {
                name: CONFIGURED.to_owned(),
                layer: SourceLayer::Project,
                file: self.configured_file(own),
            };
            all.insert(0, listed);
        }
        all
    }

    /// Returns the name of the workflow that a run would follow by default.
    pub(super) fn default_name(&self) -> String {
        match self.configured_workflow() {
            Some(node) => node.as_text().unwrap_or(CONFIGURED).to_owned(),
            None => Config::default_workflow(),
        }
    }

    /// Returns the workflow that the configured one extends, if it extends one.
    pub(super) fn extended_workflow(&self, name: &str) -> Option<String> {
        let own = self.configured_as(name)?;
        let said = own.get("extends").or_else(|| own.get("template"));
        let is_whole = own.get("steps").is_some() || own.get("sequence").is_some();
        match said {
            Some(said) => said.as_text().map(str::to_owned),
            None => (!is_whole).then(Config::default_workflow),
        }
    }

    /// Returns the workflow section of the configuration.
    fn configured_workflow(&self) -> Option<&YamlNode> {
        self.project.as_ref()?.config.flow.as_ref()
    }

    /// Returns the configured workflow, if this name means it and no file has the name.
    fn configured_as(&self, name: &str) -> Option<&YamlNode> {
        let flow = self
            .configured_workflow()
            .filter(|node| node.as_map().is_some())?;
        let is_free = name == CONFIGURED && !self.known.borrow().has_workflow(CONFIGURED);
        is_free.then_some(flow)
    }

    fn configured_file(&self, own: &YamlNode) -> String {
        let known = self.known.borrow();
        known
            .sources
            .file(own.place)
            .unwrap_or(CONFIGURED)
            .to_owned()
    }

    /// Returns the files of the project's own tests.
    pub(super) fn test_files(&self) -> Vec<PathBuf> {
        yaml_files(&self.folder.join("workflows/tests"))
    }
}

/// Creates a workflow that contains nothing but settings.
fn settings_node(settings: &BTreeMap<String, Value>) -> YamlNode {
    let settings = settings.iter().map(|(name, value)| {
        let name = name.clone();
        let place = SourcePosition::NONE;
        let value = YamlScalar::plain(value.to_string());
        (
            YamlKey { name, place },
            YamlNode::at(place, yaml::YamlValue::Scalar(value)),
        )
    });
    let settings = yaml::YamlValue::Map(settings.collect());
    let mut node = YamlNode::empty(SourcePosition::NONE);
    node.set("settings", YamlNode::at(SourcePosition::NONE, settings));
    node
}

/// Returns the names of the built-in workflows.
pub(super) fn built_in_names() -> Vec<&'static str> {
    let all = built_in::folder("workflows", ".yml");
    all.map(|(name, _)| name)
        .filter(|name| !name.contains('/'))
        .collect()
}

/// Returns a built-in workflow's text, whatever else has its name.
pub(super) fn built_in_text(name: &str) -> Option<&'static str> {
    built_in::text(&format!("workflows/{name}.yml")).filter(|_| !name.contains('/'))
}

/// Returns the tests that ship with codeteam, by file name.
pub(super) fn built_in_tests() -> impl Iterator<Item = (&'static str, &'static str)> {
    built_in::folder("workflows/tests", ".yml")
}

/// Returns a name unchanged, or a file relative to a folder.
pub(super) fn resolve_from(folder: &Path, name: &str) -> String {
    if is_file(name) {
        folder.join(name).display().to_string()
    } else {
        name.to_owned()
    }
}

/// Reads a file that the user named.
pub(super) fn read_file(path: &Path) -> Result<String, Problem> {
    read_named_file(path).map_err(|error| {
        let what = format!("could not read `{}`", path.display());
        match error.kind() {
            std::io::ErrorKind::NotFound => Problem::user(what).caused_by(&error),
            _ => Problem::environment(what).caused_by(&error),
        }
    })
}

/// Returns the YAML files of a folder, which need not exist, sorted by name.
fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_file() && path.to_str().is_some_and(is_file))
        .collect();
    files.sort();
    files
}
