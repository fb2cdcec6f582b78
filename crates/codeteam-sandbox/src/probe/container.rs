//! Tests whether containers can be used here, by starting one.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::backend::{SandboxBackend, Shim};
use crate::container::{ContainerBackend, ContainerEngine, ContainerEngineKind};
use crate::lifeline::Lifeline;
use crate::policy::{SandboxLimits, SandboxPolicy, SandboxProfile};

/// The reason commands cannot be confined in containers here, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum ContainersUnavailable {
    /// There is no container engine.
    #[error(
        "neither podman nor docker was found; install the packages `podman` and `runc` (or docker)"
    )]
    NotInstalled,
    /// The engine seems to work, but the image does not exist.
    #[error(
        "{engine} has no image `{image}`; `codeteam sandbox image` makes one, \
         or name an image that is there"
    )]
    Image {
        /// The engine that was tried.
        engine: ContainerEngineKind,
        /// The image that was requested.
        image: String,
    },
    /// codeteam's own program does not run in the image.
    #[error(
        "codeteam cannot run inside the image `{image}`, whose C library is another or older one \
         than codeteam was built for ({reason}); use an image with a newer one, or a codeteam \
         built for musl"
    )]
    Library {
        /// The name of the image.
        image: String,
        /// The error output.
        reason: String,
    },
    /// Podman does not start containers, and there is no second runtime to try.
    #[error("podman could not start a container: {reason}; installing the package `runc` may help")]
    Runtime {
        /// The error output.
        reason: String,
    },
    /// The engine does not start containers.
    #[error("{engine} could not start a container: {reason}")]
    Failed {
        /// The engine that was tried.
        engine: ContainerEngineKind,
        /// The error output.
        reason: String,
    },
    /// The test could not be run.
    #[error("could not try {engine}")]
    System {
        /// The engine that was tried.
        engine: ContainerEngineKind,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl ContainersUnavailable {
    /// Returns true if trying again may help: podman reads all images, and fails if another process
    /// adds or removes one meanwhile, whichever it is.
    fn is_passing(&self) -> bool {
        let (Self::Failed { reason, .. } | Self::Runtime { reason }) = self else {
            return false;
        };
        reason.contains("locating item named")
    }
}

/// Looks for podman and docker in a `PATH` and runs `true` in a container of `image`, through the
/// shim, with everything a command gets. `scratch` is a directory for small files.
pub fn probe_containers(
    path: &OsStr,
    shim: &Shim,
    image: &str,
    scratch: &Path,
) -> Result<SandboxBackend, ContainersUnavailable> {
    let mut first = None;
    for engine in ContainerEngine::find(path) {
        let probe = || probe_engine(engine.clone(), shim, image, scratch);
        match probe().or_else(|missing| {
            if missing.is_passing() {
                probe()
            } else {
                Err(missing)
            }
        }) {
            Ok(backend) => return Ok(backend),
            // The error of the preferred engine is the one to act on.
            Err(missing) => first = first.or(Some(missing)),
        }
    }
    Err(first.unwrap_or(ContainersUnavailable::NotInstalled))
}

fn probe_engine(
    engine: ContainerEngine,
    shim: &Shim,
    image: &str,
    scratch: &Path,
) -> Result<SandboxBackend, ContainersUnavailable> {
    let kind = engine.kind;
    let system = |source| ContainersUnavailable::System {
        engine: kind,
        source,
    };
    let found = engine
        .run_command(["image", "inspect", image])
        .map_err(system)?;
    if !found.status.success() {
        return Err(image_error(kind, image, &found));
    }
    let second = engine.with_runc();
    let has_second = second.is_some();
    let mut failed = String::new();
    for engine in [Some(engine), second].into_iter().flatten() {
        let container = ContainerBackend {
            engine,
            image: image.to_owned(),
        };
        let backend = SandboxBackend::container(container, shim.clone());
        let tried = run_trial(&backend, scratch).map_err(system)?;
        if tried.status.success() {
            return Ok(backend);
        }
        failed = output_text(&tried);
    }
    Err(explain_failure(kind, image, failed, has_second))
}

fn run_trial(backend: &SandboxBackend, scratch: &Path) -> io::Result<Output> {
    let policy = SandboxPolicy::new(
        SandboxProfile::Executor,
        Vec::new(),
        SandboxLimits::default(),
    );
    let spec = scratch.join(format!("probe-{}", std::process::id()));
    let confined = backend.confine(policy, &spec, OsStr::new("true"), &[])?;
    let (_lifeline, stdin) = Lifeline::new()?;
    let mut command = new_command(&confined.program);
    command
        .args(&confined.args)
        .env_clear()
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
}

#[expect(
    clippy::disallowed_methods,
    reason = "only trying it shows whether it works"
)]
fn new_command(program: &Path) -> Command {
    Command::new(program)
}

fn output_text(output: &Output) -> String {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&text).trim().to_owned()
}

fn image_error(engine: ContainerEngineKind, image: &str, output: &Output) -> ContainersUnavailable {
    let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let lower = reason.to_lowercase();
    if lower.contains("no such image") || lower.contains("image not known") {
        let image = image.to_owned();
        return ContainersUnavailable::Image { engine, image };
    }
    ContainersUnavailable::Failed { engine, reason }
}

fn explain_failure(
    engine: ContainerEngineKind,
    image: &str,
    reason: String,
    has_second: bool,
) -> ContainersUnavailable {
    // The message is about the loader of another C library, or a symbol that an older one lacks.
    // The shim itself exists, so the file that is missing is its loader.
    let is_library = reason.contains("GLIBC")
        || reason.contains("Error loading shared library")
        || reason.contains("Error relocating")
        || (reason.contains(crate::container::options::SHIM)
            && reason.contains("no such file or directory"));
    if is_library {
        let image = image.to_owned();
        return ContainersUnavailable::Library { image, reason };
    }
    if engine == ContainerEngineKind::Podman && !has_second {
        return ContainersUnavailable::Runtime { reason };
    }
    ContainersUnavailable::Failed { engine, reason }
}
