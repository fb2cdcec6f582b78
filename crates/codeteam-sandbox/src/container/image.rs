//! Builds the image that commands run in.

use std::ffi::OsStr;
use std::io::{self, BufRead as _, BufReader, Write as _, pipe};
use std::process::Stdio;

use rustix::process::{Resource, getrlimit};

use super::{ContainerEngine, ContainerEngineKind};

/// The Containerfile of the image, unless a project has its own.
pub const CONTAINERFILE: &str = include_str!("../../containers/Containerfile");

/// The name of the image, unless a project has its own.
pub const NAME: &str = "localhost/codeteam:latest";

/// The reason no new image was built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no container engine.
    #[error("neither podman nor docker was found; install the packages `podman` and `runc`")]
    NotInstalled,
    /// The build failed; the output says why.
    #[error("{engine} could not build the image `{name}`")]
    Failed {
        /// The engine that was used.
        engine: ContainerEngineKind,
        /// The name of the image.
        name: String,
    },
    /// The engine could not be run.
    #[error("could not run {engine}")]
    System {
        /// The engine that was used.
        engine: ContainerEngineKind,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// An image to build.
#[derive(Debug, Clone)]
pub struct ImageRecipe<'a> {
    /// The text of the Containerfile. It cannot copy other files.
    pub containerfile: &'a str,
    /// The name of the image.
    pub name: &'a str,
    /// The values of its `ARG`s.
    pub args: Vec<(&'a str, &'a str)>,
}

impl Default for ImageRecipe<'_> {
    fn default() -> Self {
        Self {
            containerfile: CONTAINERFILE,
            name: NAME,
            args: Vec::new(),
        }
    }
}

/// Builds an image with the engine that [`probe_containers`](crate::probe::probe_containers) would
/// try first. Each line of output is passed on as it comes.
pub fn build_image(
    path: &OsStr,
    recipe: &ImageRecipe<'_>,
    line: impl FnMut(&str),
) -> Result<ContainerEngineKind, Error> {
    let engine = ContainerEngine::find(path).into_iter().next();
    let engine = engine.ok_or(Error::NotInstalled)?;
    let engine = engine.with_runc().unwrap_or(engine);
    let kind = engine.kind;
    let built = run_build(&engine, recipe, line).map_err(|source| Error::System {
        engine: kind,
        source,
    })?;
    if built {
        return Ok(kind);
    }
    Err(Error::Failed {
        engine: kind,
        name: recipe.name.to_owned(),
    })
}

fn run_build(
    engine: &ContainerEngine,
    recipe: &ImageRecipe<'_>,
    mut line: impl FnMut(&str),
) -> io::Result<bool> {
    let (lines, writer) = pipe()?;
    let mut command = engine.command();
    command.args(["build", "--tag", recipe.name]);
    // The engine would raise the limit, which its caller may not be allowed to do.
    if let Some(most) = getrlimit(Resource::Nofile).maximum {
        command.args(["--ulimit", &format!("nofile={most}:{most}")]);
    }
    for (name, value) in &recipe.args {
        command.args(["--build-arg", &format!("{name}={value}")]);
    }
    // The Containerfile comes from standard input, so no directory of the host is needed.
    let from = match engine.kind {
        ContainerEngineKind::Podman => ["--file", "-"].as_slice(),
        ContainerEngineKind::Docker => &["-"],
    };
    command
        .args(from)
        .stdin(Stdio::piped())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let mut child = command.spawn()?;
    // The command holds the writing end, which must be closed for the reading to end.
    drop(command);
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(recipe.containerfile.as_bytes())?;
    }
    for text in BufReader::new(lines).split(b'\n') {
        line(&String::from_utf8_lossy(&text?));
    }
    Ok(child.wait()?.success())
}
