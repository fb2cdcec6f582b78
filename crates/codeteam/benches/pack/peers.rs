//! Those who do the same, installed below `target/peers`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Outcome;

const REPOMIX: &str = "1.14.0";
const CODE2PROMPT: &str = "4.3.0";
const YEK: &str = "0.25.5";
const DJANGO: &str = "5.2.8";

/// Installs what is not there yet, and says where.
pub(crate) fn install() -> Outcome<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../peers");
    fs::create_dir_all(&folder)?;
    let folder = folder.canonicalize()?;
    if !folder.join("node_modules/.bin/repomix").exists() {
        let mut npm = Command::new("npm");
        npm.args([
            "install",
            "--no-audit",
            "--no-fund",
            &format!("repomix@{REPOMIX}"),
        ]);
        must(npm.arg("--prefix").arg(&folder))?;
    }
    for (name, version) in [("code2prompt", CODE2PROMPT), ("yek", YEK)] {
        if !folder.join("bin").join(name).exists() {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["install", name, "--locked", "--version", version]);
            cargo.env("CARGO_TARGET_DIR", folder.join("build"));
            must(cargo.arg("--root").arg(&folder))?;
        }
    }
    Ok(folder)
}

/// Django's source package.
pub(crate) fn django(peers: &Path) -> Outcome<PathBuf> {
    let folder = peers.join(format!("django-{DJANGO}"));
    if !folder.exists() {
        let package = format!("django=={DJANGO}");
        let mut pip = Command::new("python3");
        pip.args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--no-binary",
            ":all:",
            &package,
            "-d",
        ]);
        must(pip.arg(peers))?;
        let mut tar = Command::new("tar");
        tar.args(["xzf", &format!("django-{DJANGO}.tar.gz")]);
        must(tar.current_dir(peers))?;
    }
    Ok(folder)
}

fn must(command: &mut Command) -> Outcome<()> {
    let status = command
        .status()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?} failed: {status}").into())
    }
}
