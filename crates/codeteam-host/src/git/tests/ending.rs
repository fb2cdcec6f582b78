//! Calls that do not end by themselves, or are ended by others.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;
use crate::process::{
    self, CancelToken, CommandGuard, CommandLauncher, CommandSpec, LaunchSpec, SandboxProfile,
    UnconfinedLauncher, WaitLimit,
};

#[test]
fn a_pipe_in_the_users_checkout_is_named_and_not_waited_for() {
    for name in [".gitignore", "sub/.gitignore"] {
        let fixture = GitFixture::new();
        fixture.write("sub/file", "x\n");
        let pipe = fixture.main().join(name);
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let (repo, _) = fixture.open();
        let errors = [
            repo.is_dirty().map(drop).unwrap_err(),
            repo.checkout_files(10).map(drop).unwrap_err(),
            repo.snapshot(&fixture.path().join("scratch")).unwrap_err(),
        ];
        for error in errors {
            let said = format!("`{name}` is a named pipe");
            assert!(error.to_string().contains(&said), "{error}");
        }
    }
}

#[test]
fn a_call_obeys_whoever_cancels_it() {
    let fixture = GitFixture::new();
    let (repo, _) = fixture.open();
    let cancel = CancelToken::new();
    cancel.cancel();
    let _obeys = WaitLimit::obey_cancel(&cancel);
    let error = repo.is_dirty().unwrap_err();
    assert!(matches!(error, Error::Cancelled { .. }), "{error:?}");
}

/// Something that kills what confines a command: as often as it says, and leaves a process behind
/// that keeps the streams open, as bubblewrap does when it is killed at the wrong moment.
struct KillingLauncher {
    left: AtomicU32,
    was_ready: bool,
}

struct KilledSandboxGuard(bool);

impl CommandGuard for KilledSandboxGuard {
    fn on_spawned(
        &mut self,
        _: Duration,
        _: &[std::os::fd::BorrowedFd<'_>],
    ) -> std::io::Result<()> {
        Ok(())
    }

    fn kill_command(&mut self) {}

    fn was_confined(&mut self) -> bool {
        self.0
    }
}

impl CommandLauncher for KillingLauncher {
    fn launch(
        &self,
        spec: &CommandSpec,
        profile: SandboxProfile,
    ) -> Result<LaunchSpec, process::Error> {
        let count = |left: u32| left.checked_sub(1);
        let kills = self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, count)
            .is_ok();
        let mut launch = UnconfinedLauncher::default().launch(spec, profile)?;
        if kills {
            launch.program = "/bin/sh".into();
            launch.args = ["-c", "sleep 1000 & kill -9 $$"].map(Into::into).into();
        }
        launch.stdin = Stdio::null();
        launch.hold = Some(Box::new(KilledSandboxGuard(!kills || self.was_ready)));
        Ok(launch)
    }

    fn describe(&self) -> &'static str {
        "killed"
    }
}

#[test]
fn a_killed_sandbox_is_a_lost_launch() {
    let fixture = GitFixture::new();
    let (repo, head) = fixture.open();
    for (kills, was_ready) in [(1, false), (2, true)] {
        let git_dir = fixture.main().join(".git");
        let private = repo.private_dir(&git_dir, &fixture.main());
        let launcher = Arc::new(KillingLauncher {
            left: AtomicU32::new(kills),
            was_ready,
        });
        let private = private.confined(launcher, Vec::new(), "test");
        private.checkout(&head.tree).unwrap();
    }
    let private = repo.private_dir(&fixture.main().join(".git"), &fixture.main());
    let launcher = Arc::new(KillingLauncher {
        left: AtomicU32::new(u32::MAX),
        was_ready: false,
    });
    let private = private.confined(launcher, Vec::new(), "test");
    let error = private.checkout(&head.tree).unwrap_err();
    assert!(
        matches!(error, Error::Lost { launches: 3, .. }),
        "{error:?}"
    );
    let said = error.to_string();
    assert!(
        said.contains("SIGKILL") && said.contains("not by codeteam"),
        "{said}"
    );
}

#[test]
fn a_call_that_takes_too_long_leaves_no_lock_behind() {
    let fixture = GitFixture::new();
    let (repo, head) = fixture.open();
    // An editor of the user's that never ends stands for anything that does not.
    let private = repo.private_dir(&fixture.main().join(".git"), &fixture.main());
    let _limit = WaitLimit::limit_to(Duration::ZERO);
    let error = private.checkout(&head.tree).unwrap_err();
    assert!(matches!(error, Error::TimedOut { .. }), "{error:?}");
    assert!(!fixture.main().join(".git/index.lock").exists());
}

#[test]
fn a_folder_that_is_swapped_for_a_link_brings_nothing_in() {
    let fixture = GitFixture::new();
    let (repo, head) = fixture.open();
    let outside = fixture.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret"), "secret\n").unwrap();
    // As git saw it while the link was there.
    fixture.write("folder/secret", "secret\n");
    let tree = fixture.tree_of_checkout();
    assert_eq!(repo.first_foreign_file(&head.tree, &tree).unwrap(), None);
    std::fs::remove_dir_all(fixture.main().join("folder")).unwrap();
    std::os::unix::fs::symlink(&outside, fixture.main().join("folder")).unwrap();
    let found = repo.first_foreign_file(&head.tree, &tree).unwrap();
    assert_eq!(
        found.as_deref(),
        Some(std::path::Path::new("folder/secret"))
    );
    std::fs::remove_file(fixture.main().join("folder")).unwrap();
    fixture.write("folder/secret", "mine\n");
    assert!(
        repo.first_foreign_file(&head.tree, &tree)
            .unwrap()
            .is_some()
    );
    // What git stores otherwise than it lies there is no less known.
    fixture.write(".gitattributes", "*.txt text eol=crlf\n");
    fixture.write("lines.txt", "one\r\ntwo\r\n");
    std::os::unix::fs::symlink("lines.txt", fixture.main().join("link")).unwrap();
    repo.snapshot(&fixture.path().join("scratch")).unwrap();
}
