//! Where a command works that starts no run: a repository with its files, or only the user's own.

use std::fs;
use std::path::{Path, PathBuf};

use codeteam_context::redact::Redactor;
use codeteam_core::workflow::CompiledWorkflow;
use codeteam_core::yaml::SourceFiles;

use super::{Error, RunRequest, make_folder, project, redactor, refuse_links};
use crate::config::{self, Config, ConfigLayers, ConfigOrigins, SchemaKind, schema};
use crate::context::strategies::StrategyCatalog;
use crate::env::Env;
use crate::git::{self, Oid, Repo};
use crate::library::{Library, LibraryFolders};
use crate::prompt::TemplateCatalog;

/// Where a command works.
#[derive(Clone, Debug)]
pub struct CommandLocation {
    /// The top of the repository, if it is in one.
    pub root: Option<PathBuf>,
    /// What codeteam takes from its environment.
    pub env: Env,
}

impl CommandLocation {
    /// The repository that `start` is in, which need not have a commit; or none.
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

    /// The repository and the commit that its checkout is at; none without a commit.
    pub fn history(&self) -> Result<Option<(Repo, Oid)>, Error> {
        let Some(root) = &self.root else {
            return Ok(None);
        };
        match project::discover(root, &self.env) {
            Ok((repo, head)) => Ok(Some((repo, head.commit))),
            Err(Error::Git(git::Error::NoCommits { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// `.codeteam` of the repository, whether it exists or not.
    pub fn project(&self) -> Option<PathBuf> {
        self.root.as_ref().map(|root| root.join(".codeteam"))
    }

    /// The user's own folder, whether it exists or not.
    pub fn user(&self) -> Option<PathBuf> {
        self.env.user_folder()
    }

    /// What is configured here, with some values set by the command line: `key=value`.
    pub fn layers(&self, set: &[String]) -> Result<(Config, ConfigLayers), config::Error> {
        let origins = match self.project() {
            Some(folder) => ConfigOrigins::of(&self.env, &folder),
            None => ConfigOrigins {
                config_home: self.env.config_home.clone(),
                variables: self.env.settings.clone(),
                ..ConfigOrigins::default()
            },
        };
        Config::layers(&ConfigOrigins {
            set: set.to_vec(),
            ..origins
        })
    }

    /// All roles and workflows there are here. `sources` are those of the configuration.
    pub fn library(&self, config: &Config, sources: SourceFiles) -> Library {
        let places = LibraryFolders {
            user: self.user(),
            project: self.project().zip(self.root.clone()),
        };
        let mut library = Library::read(places, sources, config.roles.as_ref());
        library.learn_kinds(config.flow.as_ref());
        library
    }

    /// The templates of prompts that there are here.
    pub fn templates(&self) -> Result<TemplateCatalog, Error> {
        let project = self.project().zip(Some(self.root.as_deref()));
        let user = self.user().map(|folder| (folder, None));
        let folders = [project, user].into_iter().flatten();
        let folders: Vec<_> = folders
            .map(|(folder, root)| (folder.join("prompts"), root))
            .collect();
        Ok(TemplateCatalog::load(&folders)?)
    }

    /// The context strategies there are here: the project's over the user's over the built-in ones.
    pub fn strategies(&self) -> Result<StrategyCatalog, Error> {
        let project = self.project().zip(Some(self.root.as_deref()));
        let user = self.user().map(|folder| (folder, None));
        let folders: Vec<_> = [user, project].into_iter().flatten().collect();
        Ok(StrategyCatalog::load(&folders)?)
    }

    /// The workflow that runs follow here.
    pub fn workflow(
        &self,
        config: &Config,
        library: &mut Library,
    ) -> Result<CompiledWorkflow, Error> {
        project::meant(config, library, &RunRequest::default())
    }

    /// Takes secrets out of what is shown.
    pub fn redactor(&self, config: &Config) -> Result<Redactor, Error> {
        redactor(&self.env, config)
    }

    /// Writes a file that must not exist yet, with the folders above it.
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

    /// Writes the JSON Schema of a kind of file into a folder of codeteam's, for editors. Says
    /// where, and whether it was other before.
    pub fn write_schema(&self, folder: &Path, of: SchemaKind) -> Result<(PathBuf, bool), Error> {
        let path = folder.join("schema").join(format!("{}.json", of.as_str()));
        let text = format!("{:#}\n", schema(of));
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
        let project = self.project();
        if let Some(folder) = project.filter(|folder| path.starts_with(folder)) {
            refuse_links(&folder, path)?;
            make_folder(&folder)?;
        }
        let folder = path.parent().unwrap_or(path);
        fs::create_dir_all(folder).map_err(|source| Error::Io {
            doing: "make the folder",
            path: folder.to_owned(),
            source,
        })
    }
}
