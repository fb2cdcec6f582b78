//! The workflows that ship with codeteam, and how a name or a file becomes one.

use std::path::{Path, PathBuf};

use codeteam_core::workflow::{Check, Compiled, compile};
use codeteam_core::yaml::{Problems, nearest};

/// The workflows that ship with codeteam, by name.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("codeteam", include_str!("../workflows/codeteam.yml")),
    ("adversarial", include_str!("../workflows/adversarial.yml")),
    ("strict", include_str!("../workflows/strict.yml")),
];

/// The one that is used if nothing is said.
pub const DEFAULT: &str = "codeteam";

/// Why a workflow cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither built in nor a file.
    #[error("there is no workflow `{name}`")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What may have been meant.
        near: Option<String>,
    },
    /// It cannot be read.
    #[error("could not read the workflow `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is not valid.
    #[error(transparent)]
    Invalid(#[from] Problems),
}

/// Finds and compiles a workflow: a path to a file, a file of the project or of the user, or a
/// built-in one.
pub fn load(name: &str, folders: &[PathBuf], checks: &[Check]) -> Result<Compiled, Error> {
    let read = |path: &Path| match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some((path.display().to_string(), text))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Read {
            path: path.to_owned(),
            source,
        }),
    };
    if Path::new(name)
        .extension()
        .is_some_and(|e| e == "yml" || e == "yaml")
    {
        let Some((file, text)) = read(Path::new(name))? else {
            return Err(Error::Unknown {
                name: name.to_owned(),
                near: None,
            });
        };
        return Ok(compile(&file, &text, checks)?);
    }
    for folder in folders {
        for ending in ["yml", "yaml"] {
            if let Some((file, text)) = read(&folder.join(format!("{name}.{ending}")))? {
                return Ok(compile(&file, &text, checks)?);
            }
        }
    }
    let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
    let Some((known, text)) = built_in else {
        let near = nearest(name, BUILT_IN.iter().map(|(known, _)| *known)).map(str::to_owned);
        return Err(Error::Unknown {
            name: name.to_owned(),
            near,
        });
    };
    Ok(compile(
        &format!("built-in workflow `{known}`"),
        text,
        checks,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_compiles() {
        for (name, _) in BUILT_IN {
            let compiled = load(name, &[], &[]).unwrap();
            assert_eq!(compiled.workflow.name, *name);
        }
    }

    #[test]
    fn a_misspelt_name_is_answered_with_the_right_one() {
        let Err(Error::Unknown { near, .. }) = load("codetaem", &[], &[]) else {
            panic!("found")
        };
        assert_eq!(near.as_deref(), Some("codeteam"));
    }
}
