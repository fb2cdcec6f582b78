//! Creates role files for people to edit.

use std::path::{Path, PathBuf};

use codeteam_engine::config::SchemaKind;
use codeteam_engine::engine::CommandLocation;

use crate::cli::CliContext;
use crate::cli::config::short_path;
use codeteam_engine::problem::Problem;

/// Returns the folder for a new role: the user's or the project's.
pub(super) fn role_folder(
    scene: &CliContext,
    ground: &CommandLocation,
    user: bool,
) -> Result<PathBuf, Problem> {
    if user {
        return ground.user_folder().ok_or_else(|| {
            Problem::environment("neither `HOME` nor `XDG_CONFIG_HOME` is set")
                .hint("roles of your own are kept in `~/.config/codeteam/roles`")
        });
    }
    ground.project_folder().ok_or_else(|| {
        let folder = scene.folder.display();
        Problem::user(format!("`{folder}` is not in a git repository"))
            .hint("with `--user` the role is one of your own, for all projects")
    })
}

/// Checks that a role's name can be a file name: `coder`, or `adversarial/coder`.
pub(super) fn check_name(name: &str) -> Result<(), Problem> {
    let plain = |part: &str| {
        let mut chars = part.chars();
        let first = chars.next().is_some_and(char::is_alphanumeric);
        first && chars.all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
    };
    if name.split('/').count() <= 2 && name.split('/').all(plain) {
        return Ok(());
    }
    Err(
        Problem::user(format!("`{name}` cannot be the name of a role"))
            .hint("letters, digits, `_` and `-`, such as `rust_dev`; `adversarial/qa` is the `qa` of a workflow"),
    )
}

/// Fails if the folder already has the role, in whatever form.
pub(super) fn check_free(scene: &CliContext, folder: &Path, name: &str) -> Result<(), Problem> {
    let taken = [
        folder.join("roles").join(format!("{name}.yml")),
        folder.join("roles").join(format!("{name}.yaml")),
        folder.join("agents").join(name),
    ];
    match taken.iter().find(|path| path.symlink_metadata().is_ok()) {
        None => Ok(()),
        Some(path) => {
            let path = short_path(scene, &path.display().to_string());
            Err(Problem::user(format!("there is `{path}` already"))
                .hint("it was not touched; change it, or choose another name"))
        }
    }
}

/// Returns the line that tells an editor which schema a file has.
pub(super) fn editor_line(file: &Path, folder: &Path) -> String {
    let below = file.strip_prefix(folder).unwrap_or(file);
    let up = "../".repeat(below.components().count().saturating_sub(1));
    format!("# yaml-language-server: $schema={up}schema/role.json\n")
}

/// Writes a role's files, none of which may exist, and the schema that their first line names.
pub(super) fn write_role_files(
    ground: &CommandLocation,
    folder: &Path,
    files: &[(PathBuf, String)],
) -> Result<(), Problem> {
    for (path, text) in files {
        ground.write_new(path, text)?;
    }
    ground.write_schema(folder, SchemaKind::Role)?;
    Ok(())
}
