//! What confining costs at the start of a command: the executor profile beside
//! bare bubblewrap with the same options, and beside no sandbox at all; and the
//! worker profile with its proxy beside the executor.
//!
//! The machine may be noisy, so they take turns and the medians are compared.
//!
//! The shim is that of the tests here. With the path of a codeteam as an
//! argument it is what that codeteam uses, which is what people have.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints figures, and spawns what it measures"
)]

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use codeteam_sandbox::bwrap::{self, DescriptorSource};
use codeteam_sandbox::egress::{EgressLog, EgressProxy, EgressRules, PortServer};
use codeteam_sandbox::{
    Lifeline, MountAccess, SandboxBackend, SandboxLimits, SandboxPolicy, SandboxProfile, Shim,
    probe, system,
};
use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create, open};

const ROUNDS: usize = 200;

/// The most that confining should cost, times bare bubblewrap.
const GOAL: f64 = 1.3;

/// The most that a worker's network may add to it.
const NETWORK: Duration = Duration::from_millis(10);

const PORT: u16 = 3128;

type BenchResult<T> = Result<T, Box<dyn Error>>;

fn main() -> BenchResult<()> {
    // `cargo test --all-targets` also runs this; figures are for `cargo bench`.
    if !std::env::args().any(|arg| arg == "--bench") {
        return Ok(());
    }
    let scratch = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("startup-bench");
    std::fs::create_dir_all(&scratch)?;
    let shim = shim();
    println!("the shim is `{}`", shim.program.display());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let backend = probe(&path, shim, &scratch)?;
    let mut policy = SandboxPolicy::new(
        SandboxProfile::Executor,
        system::root_entries(),
        SandboxLimits::default(),
    );
    policy.show(&scratch.canonicalize()?, MountAccess::Writable);
    let mut worker = policy.clone();
    worker.profile = SandboxProfile::Worker;
    worker.ports = vec![PORT];

    // Joining a cgroup makes the kernel wait for a moment of quiet, and what
    // forks next too: measured apart, so that it does not fall on the others.
    let single = backend.clone().without_cgroups();
    let (mut nothing, mut bare, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    let mut served = Vec::new();
    for _ in 0..ROUNDS {
        nothing.push(plain()?);
        bare.push(bubblewrap(&single, &policy)?);
        ours.push(confined(&single, &policy, &scratch)?);
        served.push(confined(&single, &worker, &scratch)?);
    }
    let mut grouped = Vec::new();
    for _ in 0..ROUNDS / 4 {
        grouped.push(confined(&backend, &policy, &scratch)?);
    }
    let (nothing, bare, ours) = (median(nothing), median(bare), median(ours));
    let grouped = median(grouped);
    let ratio = ours.as_secs_f64() / bare.as_secs_f64();
    let verdict = if ratio <= GOAL { "ok" } else { "MISSED" };
    println!("{nothing:>10.2?}  no sandbox");
    println!("{bare:>10.2?}  bare bubblewrap, the same options");
    let more = ours.saturating_sub(bare);
    println!("{ours:>10.2?}  confined: {more:.2?} more, {ratio:.2} times  goal {GOAL}  {verdict}");
    let served = median(served);
    let more = served.saturating_sub(ours);
    let verdict = if more <= NETWORK { "ok" } else { "MISSED" };
    println!(
        "{served:>10.2?}  a worker with its proxy: {more:.2?} more  goal {NETWORK:?}  {verdict}"
    );
    println!("{grouped:>10.2?}  confined, in a cgroup where there is one");
    std::fs::remove_dir_all(&scratch)?;
    Ok(())
}

fn shim() -> Shim {
    let given = std::env::args_os().skip(1).find(|arg| arg != "--bench");
    given.map_or_else(
        || Shim::standalone(env!("CARGO_BIN_EXE_sandbox-shim").into()),
        |codeteam| Shim::for_codeteam(codeteam.as_ref(), "sandbox-shim"),
    )
}

fn plain() -> BenchResult<Duration> {
    timed(Command::new("true").stdin(Stdio::null()))
}

/// The descriptors and filters that its options refer to are part of a start: whoever starts it has
/// to make them, each time. One thread here, so that they may be inheritable for a moment.
fn bubblewrap(backend: &SandboxBackend, policy: &SandboxPolicy) -> BenchResult<Duration> {
    let started = Instant::now();
    let mut held = Vec::new();
    let options = bwrap::bwrap_options(policy, |source| -> BenchResult<_> {
        let fd = match source {
            DescriptorSource::Path(path) => open(path, OFlags::PATH, Mode::empty())?,
            DescriptorSource::Contents(path) => open(path, OFlags::RDONLY, Mode::empty())?,
            DescriptorSource::Data(bytes) => memory(bytes)?.into(),
        };
        let number = fd.as_raw_fd();
        held.push(fd);
        Ok(number)
    })?;
    let mut bytes = Vec::new();
    for option in options {
        bytes.extend_from_slice(option.as_encoded_bytes());
        bytes.push(0);
    }
    let args = memory(&bytes)?;
    let mut command = Command::new(backend.bwrap_path().ok_or("not bubblewrap")?);
    command.arg("--args").arg(args.as_raw_fd().to_string());
    timed(
        command
            .args(["--", "true"])
            .env_clear()
            .stdin(Stdio::null()),
    )?;
    drop((held, args));
    Ok(started.elapsed())
}

fn memory(bytes: &[u8]) -> BenchResult<File> {
    let mut file = File::from(memfd_create("bench", MemfdFlags::empty())?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

fn confined(
    backend: &SandboxBackend,
    policy: &SandboxPolicy,
    scratch: &Path,
) -> BenchResult<Duration> {
    let started = Instant::now();
    let policy = policy.clone();
    let ports = policy.ports.len();
    let no_args: [OsString; 0] = [];
    let confined = backend.confine(policy, &scratch.join("spec"), OsStr::new("true"), &no_args)?;
    let (lifeline, stdin) = Lifeline::new()?;
    let mut child = Command::new(&confined.program)
        .args(&confined.args)
        .stdin(stdin)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let served = serve(&lifeline, ports)?;
    succeeded(child.wait()?)?;
    drop((served, confined));
    Ok(started.elapsed())
}

/// A proxy on each of the ports.
fn serve(lifeline: &Lifeline, ports: usize) -> BenchResult<Vec<PortServer>> {
    let listeners = lifeline.receive_listeners(ports, Duration::from_secs(10))?;
    let serve = |listener| {
        let log: EgressLog = Arc::new(|_| {});
        Ok(EgressProxy::new(EgressRules::default(), log).serve(listener)?)
    };
    listeners.into_iter().map(serve).collect()
}

fn timed(command: &mut Command) -> BenchResult<Duration> {
    let started = Instant::now();
    command.stdout(Stdio::null()).stderr(Stdio::null());
    succeeded(command.status()?)?;
    Ok(started.elapsed())
}

fn succeeded(status: ExitStatus) -> BenchResult<()> {
    if status.success() {
        return Ok(());
    }
    Err(format!("{status}").into())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
