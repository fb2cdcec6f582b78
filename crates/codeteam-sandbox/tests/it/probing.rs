//! What a person is told when commands cannot be confined.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use codeteam_sandbox::probe;

use crate::harness::{Host, backend, shim};

/// The complaint about a `bwrap` that is this script.
fn complaint(script: &str) -> String {
    let host = Host::new();
    let fake = host.write("bin/bwrap", &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).unwrap();
    let found = probe(fake.parent().unwrap().as_os_str(), shim(), &host.path(""));
    found.unwrap_err().to_string()
}

#[test]
fn a_usable_bubblewrap_is_found() {
    assert!(backend().bwrap().unwrap().ends_with("bwrap"));
}

#[test]
fn a_missing_package_is_named() {
    let missing = probe(OsStr::new("/nowhere"), shim(), Path::new("/nowhere")).unwrap_err();
    let told = "bubblewrap (`bwrap`) was not found; install the package `bubblewrap`";
    assert_eq!(missing.to_string(), told);
}

#[test]
fn an_old_version_is_told_what_it_lacks() {
    let told = complaint("echo '--ro-bind SRC DEST'");
    assert!(told.contains("has no option `--ro-bind-fd`"), "{told}");
    assert!(told.contains("package `bubblewrap`"), "{told}");
}

#[test]
fn a_refusal_is_handed_on() {
    let told = complaint(
        "case $1 in --help) echo '--ro-bind-fd --add-seccomp-fd --disable-userns --size FD';;
         *) echo 'no luck today' >&2; exit 1;; esac",
    );
    assert!(
        told.ends_with("could not confine a command: no luck today"),
        "{told}"
    );
}
