//! Where workflows come from: the project's files, the user's, those built in. All loading of this
//! command is here.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use codeteam_core::role::SourceLayer;
use codeteam_core::workflow::{CompileInputs, CompiledWorkflow};
use codeteam_core::yaml::{self, SourcePosition, YamlKey, YamlNode, YamlScalar, nearest};
use codeteam_engine::config::{Config, ConfigOrigins};
use codeteam_engine::engine::{self, Engine, Project, RunRequest};
use codeteam_engine::library::{self, CONFIGURED, LibraryFolders, WorkflowListing};
use codeteam_engine::{built_in, library::is_file};
use serde::Serialize;
use serde_json::Value;

use crate::cli::CliContext;
use crate::problem::Problem;

/// The workflows of a project, a user and codeteam.
pub(super) struct WorkflowLibrary {
    /// `.codeteam` of the project, or of where one could be.
    pub(super) folder: PathBuf,
    project: Option<Project>,
    surroundings: CompileInputs,
    known: RefCell<library::Library>,
}

/// A workflow's text and where it is from.
#[derive(Debug, Serialize)]
pub(super) struct WorkflowSource {
    pub(super) name: String,
    pub(super) file: String,
    pub(super) text: String,
}

impl WorkflowLibrary {
    /// Needs no project, and uses its files if there is one.
    pub(super) fn open(scene: &CliContext) -> Result<Self, Problem> {
        let is_project = Engine::discover(&scene.folder, &scene.env).is_ok();
        if is_project {
            let project = scene.project()?;
            return Ok(Self {
                folder: project.folder.clone(),
                surroundings: project.config.surroundings(),
                known: RefCell::new(project.library()),
                project: Some(project),
            });
        }
        let folder = scene.folder.join(".codeteam");
        let origins = ConfigOrigins::of(&scene.env, &folder);
        let (config, layers) = Config::layers(&origins).map_err(engine::Error::from)?;
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

    /// What a run would follow if nothing is said.
    pub(super) fn usual(&self) -> Result<CompiledWorkflow, Problem> {
        match &self.project {
            Some(project) => Ok(project.workflow(&RunRequest::default())?),
            None => self.compile(&Config::usual_workflow(), &BTreeMap::new()),
        }
    }

    /// A workflow that the user names, or the usual one.
    pub(super) fn named(
        &self,
        name: Option<&str>,
        folder: &Path,
    ) -> Result<CompiledWorkflow, Problem> {
        match name {
            Some(name) => self.compile(&seen_from(folder, name), &BTreeMap::new()),
            None => self.usual(),
        }
    }

    /// Compiles a workflow by its name or its file, with settings over its own.
    pub(super) fn compile(
        &self,
        name: &str,
        settings: &BTreeMap<String, Value>,
    ) -> Result<CompiledWorkflow, Problem> {
        Ok(self.attempt(name, settings).map_err(engine::Error::from)?)
    }

    /// The same, with what is wrong one by one.
    pub(super) fn attempt(
        &self,
        name: &str,
        settings: &BTreeMap<String, Value>,
    ) -> Result<CompiledWorkflow, library::Error> {
        let surroundings = self.surroundings.clone();
        if let Some(own) = self.own(name) {
            let mut node = own.clone();
            if !settings.is_empty() {
                node = yaml::merge(node, with_settings(settings));
            }
            let mut library = self.known.borrow_mut();
            return library.compile_configured(Some(&node), surroundings);
        }
        let mut library = self.known.borrow_mut();
        if settings.is_empty() {
            return library.compile(name, surroundings);
        }
        // One that is not there is told as such, and not as something that cannot be extended.
        if library.workflow_text(name, 0)?.is_none() {
            drop(library);
            return Err(self.unknown(name));
        }
        let mut node = with_settings(settings);
        node.set("extends", YamlNode::text(name));
        library.build("a case", node, surroundings)
    }

    /// The text of a workflow by its name or its file.
    pub(super) fn source(&self, name: &str) -> Result<WorkflowSource, Problem> {
        if let Some(own) = self.own(name) {
            return Ok(WorkflowSource {
                name: name.to_owned(),
                file: self.own_file(own),
                text: yaml::write(own, yaml::OriginComments::Left),
            });
        }
        let text = self.known.borrow().workflow_text(name, 0);
        let text = text
            .map_err(library::Error::from)
            .map_err(engine::Error::from)?;
        let (file, text) = text.ok_or_else(|| engine::Error::from(self.unknown(name)))?;
        let name = name.to_owned();
        Ok(WorkflowSource { name, file, text })
    }

    fn unknown(&self, name: &str) -> library::Error {
        let all = self.all();
        let near = nearest(name, all.iter().map(|listed| listed.name.as_str()));
        library::Error::Unknown {
            what: "workflow",
            name: name.to_owned(),
            near: near.map(str::to_owned),
        }
    }

    /// All workflows there are, that of the configuration first.
    pub(super) fn all(&self) -> Vec<WorkflowListing> {
        let mut all = self.known.borrow().workflows();
        if let Some(own) = self.own(CONFIGURED) {
            let listed = WorkflowListing {
                name: CONFIGURED.to_owned(),
                layer: SourceLayer::Project,
                file: self.own_file(own),
            };
            all.insert(0, listed);
        }
        all
    }

    /// The name of what a run would follow if nothing is said.
    pub(super) fn usual_name(&self) -> String {
        match self.flow() {
            Some(node) => node.as_text().unwrap_or(CONFIGURED).to_owned(),
            None => Config::usual_workflow(),
        }
    }

    /// What the workflow of the configuration changes, if it changes one.
    pub(super) fn changed(&self, name: &str) -> Option<String> {
        let own = self.own(name)?;
        let said = own.get("extends").or_else(|| own.get("template"));
        let is_whole = own.get("steps").is_some() || own.get("sequence").is_some();
        match said {
            Some(said) => said.as_text().map(str::to_owned),
            None => (!is_whole).then(Config::usual_workflow),
        }
    }

    /// What the configuration says of the workflow.
    fn flow(&self) -> Option<&YamlNode> {
        self.project.as_ref()?.config.flow.as_ref()
    }

    /// The workflow of the configuration, if it is meant by this name and no file has it.
    fn own(&self, name: &str) -> Option<&YamlNode> {
        let flow = self.flow().filter(|node| node.as_map().is_some())?;
        let is_free = name == CONFIGURED && !self.known.borrow().has_workflow(CONFIGURED);
        is_free.then_some(flow)
    }

    fn own_file(&self, own: &YamlNode) -> String {
        let known = self.known.borrow();
        known
            .sources
            .file(own.place)
            .unwrap_or(CONFIGURED)
            .to_owned()
    }

    /// The files of the project's own tests.
    pub(super) fn tests(&self) -> Vec<PathBuf> {
        files(&self.folder.join("workflows/tests"))
    }
}

/// A workflow that says nothing but settings.
fn with_settings(settings: &BTreeMap<String, Value>) -> YamlNode {
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

/// The names of the built-in workflows.
pub(super) fn built_in_names() -> Vec<&'static str> {
    let all = built_in::folder("workflows", ".yml");
    all.map(|(name, _)| name)
        .filter(|name| !name.contains('/'))
        .collect()
}

/// A built-in workflow's text, whatever else has its name.
pub(super) fn built_in_text(name: &str) -> Option<&'static str> {
    built_in::text(&format!("workflows/{name}.yml")).filter(|_| !name.contains('/'))
}

/// The tests that ship with codeteam, by the name of their file.
pub(super) fn built_in_tests() -> impl Iterator<Item = (&'static str, &'static str)> {
    built_in::folder("workflows/tests", ".yml")
}

/// A name, or a file as it is seen from a folder.
pub(super) fn seen_from(folder: &Path, name: &str) -> String {
    if is_file(name) {
        folder.join(name).display().to_string()
    } else {
        name.to_owned()
    }
}

/// Reads a file that the user named.
pub(super) fn read(path: &Path) -> Result<String, Problem> {
    fs::read_to_string(path).map_err(|error| {
        let what = format!("could not read `{}`", path.display());
        match error.kind() {
            std::io::ErrorKind::NotFound => Problem::user(what).caused_by(&error),
            _ => Problem::environment(what).caused_by(&error),
        }
    })
}

/// The YAML files of a folder, which need not be there, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_file() && path.to_str().is_some_and(is_file))
        .collect();
    files.sort();
    files
}
