//! What a person is told when commands cannot be confined.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use codeteam_sandbox::{Shim, probe};

use crate::harness::{TestHost, backend, command, end, shim};

/// The complaint about a `bwrap` that is this script.
fn complaint(script: &str) -> String {
    let host = TestHost::new();
    let fake = host.write("bin/bwrap", &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).unwrap();
    let found = probe(fake.parent().unwrap().as_os_str(), shim(), &host.path(""));
    found.unwrap_err().to_string()
}

#[test]
fn a_usable_bubblewrap_is_found() {
    assert!(backend().bwrap_path().unwrap().ends_with("bwrap"));
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

/// A codeteam of which only its place matters.
fn codeteam(host: &TestHost) -> PathBuf {
    host.path("codeteam")
}

fn itself(host: &TestHost) -> Shim {
    Shim {
        program: codeteam(host),
        entry: vec!["entry".to_owned()],
    }
}

#[test]
fn the_shim_is_the_program_beside_codeteam() {
    let host = TestHost::new();
    let beside = host.path("codeteam-shim");
    // Not a copy: while it is written, another test may fork, and the program would be busy.
    std::fs::hard_link(shim().program, &beside).unwrap();
    let found = Shim::for_codeteam(&codeteam(&host), "entry");
    assert_eq!(found, Shim::standalone(beside));
}

#[test]
fn without_a_program_beside_it_codeteam_is_the_shim() {
    let host = TestHost::new();
    assert_eq!(Shim::for_codeteam(&codeteam(&host), "entry"), itself(&host));
}

#[test]
fn a_shim_of_another_build_is_not_used_and_does_nothing() {
    let host = TestHost::new();
    let program = shim().program;
    // What it would be told by a caller of another build.
    let script = format!(
        "#!/bin/sh\nshift\nexec {} another-build \"$@\"\n",
        program.display()
    );
    let beside = host.write("codeteam-shim", &script);
    std::fs::set_permissions(&beside, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(Shim::for_codeteam(&codeteam(&host), "entry"), itself(&host));

    let spec = host.write("spec", "{}");
    for args in [&["another-build", "outer"][..], &["outer"], &[]] {
        let mut args: Vec<_> = args.iter().map(Into::into).collect();
        args.extend([spec.clone().into(), "true".into()]);
        let mut child = command(&program, &args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let ended = end(&mut child);
        assert_eq!(ended.code, Some(125), "{ended:?}");
        assert!(ended.stderr.contains("another build"), "{ended:?}");
        assert!(spec.exists());
    }
}
