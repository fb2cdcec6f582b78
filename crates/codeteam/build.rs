//! Links `codeteam-shim` statically, where the C library can be linked so.
//!
//! The shim is executed twice for every confined command, and most of that time goes into loading
//! shared libraries. On stable Rust the linking of one program of a package can be changed only by
//! arguments to the linker, and rustc always asks for the libraries by names that mean the shared
//! ones; so the linker is shown a folder that has only static libraries under these names. A small
//! program is linked that way first: where that fails, or cannot be tried, the shim is linked like
//! every other program and is only slower.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "this is how cargo and a build script talk"
)]

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The libraries that rustc asks for, each with its replacement.
const LIBRARIES: &[(&str, &str)] = &[
    ("libc.a", "libc.a"),
    ("libdl.a", "libdl.a"),
    ("libgcc_s.a", "libgcc_eh.a"),
    ("libm.a", "libm.a"),
    ("libpthread.a", "libpthread.a"),
    ("librt.a", "librt.a"),
    ("libutil.a", "libutil.a"),
];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    if !is_native_gnu() {
        return Ok(());
    }
    let out = PathBuf::from(variable("OUT_DIR"));
    let folder = out.join("static");
    if gather(&folder)? {
        // Still loaded at another address each time.
        let arguments = ["-static-pie".to_owned(), format!("-L{}", folder.display())];
        link("codeteam-shim", &out, &arguments)?;
    }
    Ok(())
}

/// Links a program with these arguments, if that works.
fn link(program: &str, out: &Path, arguments: &[String]) -> io::Result<()> {
    if links(out, arguments)? {
        for argument in arguments {
            println!("cargo::rustc-link-arg-bin={program}={argument}");
        }
    }
    Ok(())
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// Other C libraries are linked statically by default or not at all, and what is built for another
/// machine cannot be tried.
fn is_native_gnu() -> bool {
    let features = variable("CARGO_CFG_TARGET_FEATURE");
    variable("CARGO_CFG_TARGET_OS") == "linux"
        && variable("CARGO_CFG_TARGET_ENV") == "gnu"
        && variable("HOST") == variable("TARGET")
        && !features.split(',').any(|feature| feature == "crt-static")
}

/// Fills the folder, if all of the libraries are there.
fn gather(folder: &Path) -> io::Result<bool> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    for (asked, found) in LIBRARIES {
        let Some(library) = locate(found) else {
            return Ok(false);
        };
        symlink(library, folder.join(asked))?;
    }
    Ok(true)
}

/// Returns the path at which the linker's driver finds a library.
fn locate(library: &str) -> Option<PathBuf> {
    let linker = env::var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned());
    let told = Command::new(linker)
        .arg(format!("-print-file-name={library}"))
        .output()
        .ok()?;
    let path = PathBuf::from(String::from_utf8(told.stdout).ok()?.trim());
    // It repeats the bare name of what it does not find.
    (path.is_absolute() && path.exists()).then_some(path)
}

/// Returns true if a program that is linked with these arguments runs.
fn links(out: &Path, arguments: &[String]) -> io::Result<bool> {
    let (source, program) = (out.join("trial.rs"), out.join("trial"));
    fs::write(
        &source,
        "fn main() { println!(\"{:?}\", std::env::args()); }\n",
    )?;
    let mut rustc = Command::new(variable("RUSTC"));
    rustc
        .args(["--edition=2024", "-o"])
        .arg(&program)
        .arg(&source);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    // Another linker may be chosen there.
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    rustc.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    for argument in arguments {
        rustc.arg(format!("-Clink-arg={argument}"));
    }
    Ok(succeeds(&mut rustc) && succeeds(&mut Command::new(&program)))
}

fn succeeds(command: &mut Command) -> bool {
    let silent = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}
