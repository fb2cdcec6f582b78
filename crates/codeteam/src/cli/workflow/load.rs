//! Where workflows come from: the project's files, the user's, those built in. All loading of this
//! command is here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use codeteam_core::workflow::{Check, Compiled};
use codeteam_core::yaml::{self, nearest};
use codeteam_engine::config::Config;
use codeteam_engine::engine::{self, Engine};
use codeteam_engine::{rehearsals, workflows};
use serde::Serialize;
use serde_json::Value;

use crate::cli::Scene;
use crate::problem::Problem;

/// The workflows of a project, a user and codeteam.
pub(super) struct Library {
    /// `.codeteam` of the project, or of where one could be.
    pub(super) project: PathBuf,
    folders: Vec<(Layer, PathBuf)>,
    checks: Vec<Check>,
    default: String,
}

/// Who says what a workflow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Layer {
    Project,
    User,
    BuiltIn,
    File,
}

impl Layer {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
            Self::BuiltIn => "built in",
            Self::File => "file",
        }
    }
}

/// A workflow's text and where it is from.
#[derive(Debug, Serialize)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) layer: Layer,
    pub(super) file: Option<PathBuf>,
    pub(super) text: String,
}

impl Source {
    /// What it says of itself.
    pub(super) fn description(&self) -> Option<String> {
        let value: Value = yaml::parse(&self.name, &self.text).ok()?;
        Some(value.get("description")?.as_str()?.trim().to_owned())
    }
}

impl Library {
    /// Needs no project, and uses its files if there is one.
    pub(super) fn open(scene: &Scene) -> Result<Self, Problem> {
        let top = match Engine::discover(&scene.folder, &scene.env) {
            Ok((repo, _)) => repo.top_level().to_owned(),
            Err(_) => scene.folder.clone(),
        };
        let project = top.join(".codeteam");
        let config = Config::load(&project, scene.env.config_home.as_deref());
        let config = config.map_err(engine::Error::from)?;
        let mut folders = vec![(Layer::Project, project.join("workflows"))];
        if let Some(home) = &scene.env.config_home {
            folders.push((Layer::User, home.join("codeteam/workflows")));
        }
        let default = match &config.workflow {
            Some(file) if is_file(file) => top.join(file).display().to_string(),
            Some(name) => name.clone(),
            None => workflows::DEFAULT.to_owned(),
        };
        Ok(Self {
            project,
            folders,
            checks: config.checks(),
            default,
        })
    }

    /// What the user means: a name, a file seen from `folder`, or the project's own workflow.
    pub(super) fn name(&self, said: Option<&str>, folder: &Path) -> String {
        match said {
            None => self.default.clone(),
            Some(file) if is_file(file) => folder.join(file).display().to_string(),
            Some(name) => name.to_owned(),
        }
    }

    /// Compiles a workflow by [`Library::name`], with settings over its own.
    pub(super) fn compile(
        &self,
        name: &str,
        settings: &BTreeMap<String, Value>,
    ) -> Result<Compiled, Problem> {
        let folders: Vec<PathBuf> = self.folders.iter().map(|(_, f)| f.clone()).collect();
        let compiled = workflows::load(name, &folders, &self.checks);
        let mut compiled = compiled.map_err(engine::Error::from)?;
        for (setting, value) in settings {
            let known = &mut compiled.workflow.settings;
            let Some(on) = value.as_bool().filter(|_| known.contains_key(setting)) else {
                let problem = if known.contains_key(setting) {
                    Problem::user(format!("the setting `{setting}` is `true` or `false`"))
                } else {
                    Problem::user(format!("the workflow `{name}` has no setting `{setting}`"))
                };
                let near = nearest(setting, known.keys().map(String::as_str));
                return Err(match near.filter(|near| near != setting) {
                    Some(near) => problem.hint(format!("did you mean `{near}`?")),
                    None => problem,
                });
            };
            known.insert(setting.clone(), on);
        }
        Ok(compiled)
    }

    /// The text of a workflow by [`Library::name`].
    pub(super) fn source(&self, name: &str) -> Result<Source, Problem> {
        if is_file(name) {
            let path = PathBuf::from(name);
            let text = read(&path)?;
            return Ok(Source {
                name: name.to_owned(),
                layer: Layer::File,
                file: Some(path),
                text,
            });
        }
        for (layer, folder) in &self.folders {
            for ending in ["yml", "yaml"] {
                let path = folder.join(format!("{name}.{ending}"));
                if path.is_file() {
                    return Ok(Source {
                        name: name.to_owned(),
                        layer: *layer,
                        text: read(&path)?,
                        file: Some(path),
                    });
                }
            }
        }
        built_in(name).ok_or_else(|| {
            let all = self.names();
            let near = nearest(name, all.iter().map(String::as_str)).map(str::to_owned);
            let name = name.to_owned();
            engine::Error::from(workflows::Error::Unknown { name, near }).into()
        })
    }

    /// The names of all workflows, those of nearer layers first.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (_, folder) in &self.folders {
            let files = files(folder).into_iter();
            names.extend(files.filter_map(|f| Some(f.file_stem()?.to_str()?.to_owned())));
        }
        names.extend(
            workflows::BUILT_IN
                .iter()
                .map(|(name, _)| (*name).to_owned()),
        );
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }

    /// The files of the project's own tests.
    pub(super) fn tests(&self) -> Vec<PathBuf> {
        files(&self.project.join("workflows/tests"))
    }
}

/// A built-in workflow, whatever else has its name.
pub(super) fn built_in(name: &str) -> Option<Source> {
    let (name, text) = workflows::BUILT_IN.iter().find(|(n, _)| *n == name)?;
    Some(Source {
        name: (*name).to_owned(),
        layer: Layer::BuiltIn,
        file: None,
        text: (*text).to_owned(),
    })
}

/// The tests that ship with codeteam, by the name of their workflow.
pub(super) fn built_in_tests() -> impl Iterator<Item = (&'static str, &'static str)> {
    rehearsals::BUILT_IN.iter().copied()
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

/// Whether a name is that of a file.
pub(super) fn is_file(name: &str) -> bool {
    let ending = Path::new(name).extension();
    ending.is_some_and(|e| e == "yml" || e == "yaml")
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
