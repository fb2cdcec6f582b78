//! Finds where a command works that starts no run: in a repository with its `.codeteam` folder, or
//! with the user's own files only.

use std::fs;
use std::path::{Path, PathBuf};

use codeteam_context::redact::Redactor;
use codeteam_workflow::language::CompiledWorkflow;
use codeteam_workflow::yaml::SourceFiles;

use super::{Error, RunRequest, make_project_folder, project, redactor, refuse_links};
use crate::config::{self, Config, ConfigLayers, ConfigOrigins, SchemaKind, json_schema};
use crate::context::strategies::StrategyCatalog;
use crate::env::Env;
use crate::library::{Library, LibraryFolders};
use crate::prompt::TemplateCatalog;
use codeteam_host::git::{self, Oid, Repo};

/// The place where a command works that starts no run: a repository, or none.
#[derive(Clone, Debug)]
pub struct CommandLocation {
    /// The top level of the repository, if the command was started in one.
    pub root: Option<PathBuf>,
    /// Everything codeteam reads from its own environment.
    pub env: Env,
}

impl CommandLocation {
    /// Finds the repository that contains `start`. It need not have a commit, and there may be
    /// none.
    pub fn find(start: &Path, env: Env) -> Result<Self, Error> {
        let root = match project::discover(start, &env) {
            Ok((repo, _)) => Some(repo.top_level().to_owned()),
            Err(Error::Git(git::Error::NotARepository { .. } | git::Error::Bare { .. })) => None,
            Err(Error::Git(git::Error::NoCommits { .. })) => {
                let mut above = start.ancestors();
                above
                    .find(|folder| folder.join(".git").exists())
                    .map(Path::to_owned)
            }
            Err(error) => return Err(error),
        };
        Ok(Self { root, env })
    }

    /// Returns the repository and the commit of its checkout, or `None` without a commit.
    pub fn head_commit(&self) -> Result<Option<(Repo, Oid)>, Error> {
        let Some(root) = &self.root else {
            return Ok(None);
        };
        match project::discover(root, &self.env) {
            Ok((repo, head)) => Ok(Some((repo, head.commit))),
            Err(Error::Git(git::Error::NoCommits { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the path of the repository's `.codeteam` folder, whether it exists or not.
    pub fn project_folder(&self) -> Option<PathBuf> {
        self.root.as_ref().map(|root| root.join(".codeteam"))
    }

    /// Returns the path of the user's own folder, whether it exists or not.
    pub fn user_folder(&self) -> Option<PathBuf> {
        self.env.user_folder()
    }

    /// Loads the configuration, with values that the command line sets as `key=value`.
    pub fn load_config(&self, set: &[String]) -> Result<(Config, ConfigLayers), config::Error> {
        let origins = match self.project_folder() {
            Some(folder) => ConfigOrigins::for_project(&self.env, &folder),
            None => ConfigOrigins {
                config_home: self.env.config_home.clone(),
                variables: self.env.settings.clone(),
                ..ConfigOrigins::default()
            },
        };
        Config::load_with_layers(&ConfigOrigins {
            set: set.to_vec(),
            ..origins
        })
    }

    /// Reads all roles and workflows available here. `sources` are the files of the configuration.
    pub fn library(&self, config: &Config, sources: SourceFiles) -> Library {
        let places = LibraryFolders {
            user: self.user_folder(),
            project: self.project_folder().zip(self.root.clone()),
        };
        let mut library = Library::read(places, sources, config.roles.as_ref());
        library.infer_kinds(config.flow.as_ref());
        library
    }

    /// Loads the prompt templates available here.
    pub fn templates(&self) -> Result<TemplateCatalog, Error> {
        let project = self.project_folder().zip(Some(self.root.as_deref()));
        let user = self.user_folder().map(|folder| (folder, None));
        let folders = [project, user].into_iter().flatten();
        let folders: Vec<_> = folders
            .map(|(folder, root)| (folder.join("prompts"), root))
            .collect();
        Ok(TemplateCatalog::load(&folders)?)
    }

    /// Loads the context strategies available here: the project's override the user's, which
    /// override the built-in ones.
    pub fn strategies(&self) -> Result<StrategyCatalog, Error> {
        let project = self.project_folder().zip(Some(self.root.as_deref()));
        let user = self.user_folder().map(|folder| (folder, None));
        let folders: Vec<_> = [user, project].into_iter().flatten().collect();
        Ok(StrategyCatalog::load(&folders)?)
    }

    /// Returns the workflow that runs follow here.
    pub fn workflow(
        &self,
        config: &Config,
        library: &mut Library,
    ) -> Result<CompiledWorkflow, Error> {
        project::requested_workflow(config, library, &RunRequest::default())
    }

    /// Returns the redactor for what is shown.
    pub fn redactor(&self, config: &Config) -> Result<Redactor, Error> {
        redactor(&self.env, config)
    }

    /// Writes a file that must not exist yet, and creates its parent folders.
    pub fn write_new(&self, path: &Path, text: &str) -> Result<(), Error> {
        use std::io::Write as _;
        self.make_room(path)?;
        let made = fs::File::create_new(path);
        let written = made.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|source| Error::Io {
            doing: "write",
            path: path.to_owned(),
            source,
        })
    }

    /// Writes the JSON Schema of a kind of file into one of codeteam's folders, for editors.
    /// Returns its path and whether the file changed.
    pub fn write_schema(&self, folder: &Path, of: SchemaKind) -> Result<(PathBuf, bool), Error> {
        let path = folder.join("schema").join(format!("{}.json", of.as_str()));
        let text = format!("{:#}\n", json_schema(of));
        if fs::read_to_string(&path).is_ok_and(|known| known == text) {
            return Ok((path, false));
        }
        self.make_room(&path)?;
        fs::write(&path, text).map_err(|source| Error::Io {
            doing: "write",
            path: path.clone(),
            source,
        })?;
        Ok((path, true))
    }

    fn make_room(&self, path: &Path) -> Result<(), Error> {
        let project = self.project_folder();
        if let Some(folder) = project.filter(|folder| path.starts_with(folder)) {
            refuse_links(&folder, path)?;
            make_project_folder(&folder)?;
        }
        let folder = path.parent().unwrap_or(path);
        fs::create_dir_all(folder).map_err(|source| Error::Io {
            doing: "make the folder",
            path: folder.to_owned(),
            source,
        })
    }
}
