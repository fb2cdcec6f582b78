//! The folders in which codeteam keeps its files: in the project, and outside of it.

use std::fs;
use std::path::{Path, PathBuf};

use super::Error;
use super::names::slug;
use crate::env::Env;
use codeteam_host::repo_files;

/// The content of `.codeteam/.gitignore`: what codeteam writes stays out of the user's commits,
/// what people write does not.
pub const IGNORE: &str = "# Written by codeteam. What people write (configuration, roles, workflows, strategies) is\n\
    # not ignored; what codeteam writes is.\n/*\n!/config.yml\n!/config.yaml\n!/roles/\n\
    !/agents/\n!/workflows/\n!/prompts/\n!/strategies/\n!/context/\n!/schema/\n";

/// Creates `.codeteam`, with a `.gitignore` that keeps what codeteam writes out of the user's
/// commits. Refuses symbolic links in every place where codeteam writes.
pub fn make_project_folder(folder: &Path) -> Result<(), Error> {
    let io = |doing, path: &Path| {
        let path = path.to_owned();
        move |source| Error::Io {
            doing,
            path,
            source,
        }
    };
    // Whoever made the repository may have put links where codeteam writes.
    for place in [
        "",
        ".gitignore",
        "state.db",
        "runs",
        "planning",
        "reports",
        "bodies",
    ] {
        let path = folder.join(place);
        refuse_links(folder, &path)?;
        let below = fs::read_dir(&path).into_iter().flatten().flatten();
        for entry in below.filter(|_| ["planning", "reports", "bodies"].contains(&place)) {
            refuse_links(folder, &entry.path())?;
        }
    }
    fs::create_dir_all(folder).map_err(io("make the folder", folder))?;
    let ignore = folder.join(".gitignore");
    if !ignore.exists() {
        fs::write(&ignore, IGNORE).map_err(io("write", &ignore))?;
    }
    Ok(())
}

/// Refuses to write a file below `.codeteam` if a symbolic link is on the way there.
pub(crate) fn refuse_links(folder: &Path, path: &Path) -> Result<(), Error> {
    repo_files::ensure_no_links(folder, path).map_err(|(path, source)| Error::Io {
        doing: "write",
        path,
        source,
    })
}

/// Returns the folder for the workspaces of a repository: outside of it, one folder per repository.
pub(super) fn workspaces_root(env: &Env, common_dir: &Path) -> Result<PathBuf, Error> {
    let state = state_folder(env)?;
    let hash = blake3::hash(common_dir.as_os_str().as_encoded_bytes()).to_hex();
    let parent = if common_dir.ends_with(".git") {
        common_dir.parent()
    } else {
        Some(common_dir)
    };
    let name = parent
        .and_then(Path::file_name)
        .map(|n| slug(&n.to_string_lossy()));
    let name = name.unwrap_or_else(|| "repository".to_owned());
    Ok(state.join(format!("{name}-{}", &hash[..12])))
}

/// Returns the folder for state that does not belong to a single repository.
pub(super) fn state_folder(env: &Env) -> Result<PathBuf, Error> {
    let state = env.state_home.as_ref().ok_or(Error::NoHome)?;
    Ok(state.join("codeteam"))
}
