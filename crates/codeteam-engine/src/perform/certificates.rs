//! Provides the certificates of the user's network to commands that reach it.
//!
//! Where a proxy intercepts encrypted connections, programs trust it through a file that variables
//! such as `SSL_CERT_FILE` name. A confined command has neither the variables nor, often, the file.
//! It gets both, if the file contains nothing but certificates.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use codeteam_core::event::SandboxKind;
use codeteam_sandbox::{MountAccess, MountEntry, policy};

use super::Job;
use crate::engine::Engine;
use codeteam_host::process::HostView;

/// The maximum size of a certificate file.
const MAX_BYTES: u64 = 8 << 20;

/// The folder of these files inside the sandbox, below the home.
const FOLDER: &str = ".certificates";

/// Shows the certificate files that the user's variables name, and returns the variables with their
/// values inside the sandbox. Without a sandbox every file keeps its path.
pub(super) fn show_certificates(
    view: &mut HostView,
    job: &Job,
    engine: &Engine,
) -> Vec<(OsString, OsString)> {
    let mut shown: Vec<(PathBuf, PathBuf)> = Vec::new();
    let mut variables = Vec::new();
    for (name, file) in &engine.env.certificate_files {
        let Some(source) = find_certificates(file) else {
            continue;
        };
        let known = shown.iter().find(|(known, _)| *known == source);
        let target = match known {
            Some((_, target)) => target.clone(),
            None if job.sandbox == SandboxKind::None => source.clone(),
            None => Path::new(policy::HOME)
                .join(FOLDER)
                .join(format!("{}.pem", shown.len())),
        };
        if known.is_none() {
            shown.push((source, target.clone()));
        }
        variables.push((name.into(), target.into_os_string()));
    }
    if job.sandbox != SandboxKind::None {
        let files = shown.into_iter();
        view.entries.extend(files.map(|(source, target)| {
            let access = MountAccess::ReadOnly;
            MountEntry::Bind {
                source,
                target,
                access,
            }
        }));
    }
    variables
}

/// Resolves the file if it contains certificates only: it could contain a private key as well.
fn find_certificates(file: &Path) -> Option<PathBuf> {
    let file = file.canonicalize().ok()?;
    let found = fs::metadata(&file).ok()?;
    if !found.is_file() || found.len() > MAX_BYTES {
        return None;
    }
    let text = String::from_utf8_lossy(&fs::read(&file).ok()?).into_owned();
    is_certificates_only(&text).then_some(file)
}

/// Returns true if every block of a PEM file is a certificate.
fn is_certificates_only(text: &str) -> bool {
    let mut blocks = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("-----BEGIN "));
    let mut count = 0;
    blocks.all(|block| {
        count += 1;
        block.starts_with("CERTIFICATE-") || block.starts_with("TRUSTED CERTIFICATE-")
    }) && count > 0
        && !text.contains("PRIVATE KEY")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_of_certificates_counts() {
        let certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
        let key = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n";
        assert!(is_certificates_only(certificate));
        assert!(is_certificates_only(&format!(
            "# corp\n{certificate}{certificate}"
        )));
        assert!(!is_certificates_only(""));
        assert!(!is_certificates_only("password: secret"));
        assert!(!is_certificates_only(key));
        assert!(!is_certificates_only(&format!("{certificate}{key}")));
    }
}
