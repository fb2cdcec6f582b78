//! A full disk stops a run with a clear word; when there is room again it goes on.
//!
//! Each run has a tiny disk in a mount namespace of its own. Where that cannot be had the tests
//! fail: a machine that cannot show this has not shown it.

use crate::project::{CommandResult, Project};
use crate::samples::THREE_TASKS;

/// Runs on a disk of this many kilobytes at `$disk`, makes room, and resumes. Standard output has
/// the exit codes, then the run as JSON; standard error has what the first part said.
fn on_a_small_disk(project: &Project, disk: &str, kilobytes: u32) -> CommandResult {
    let script = project.script(THREE_TASKS);
    let checks = project.read(".codeteam/config.yml");
    let config = project.write_outside("config.yml", &checks);
    let full = 64 * 1024 - kilobytes;
    let lines = format!(
        "mount -t tmpfs -o size=64m small {disk} || exit 99
         head -c {full}K /dev/zero > {disk}/filler
         mkdir -p .codeteam; cp {config} .codeteam/config.yml
         codeteam run x --script {script} --baseline must_pass
         echo $?
         rm {disk}/filler
         codeteam resume --json 2>{disk}/resumed || cat {disk}/resumed >&2"
    );
    let lines = lines.replace('\'', "'\\''");
    let user = if rustix::process::geteuid().is_root() {
        ""
    } else {
        "--user --map-root-user"
    };
    let done = project.paste(&format!("unshare {user} --mount sh -c '{lines}'"));
    assert!(
        done.code.is_some_and(|code| code != 99) && !done.stderr.contains("unshare:"),
        "a small disk cannot be mounted here, which this test needs (root, or user namespaces):\n{}",
        done.stderr
    );
    done
}

/// Counts the disks that were too small for the run, which completes on all of them in the end.
fn too_small(disk: impl Fn(&Project) -> String, sizes: &[u32]) -> usize {
    let mut stopped = 0;
    for size in sizes {
        let project = Project::new();
        let before = project.checkout();
        let disk = disk(&project);
        std::fs::create_dir_all(&disk).unwrap();
        let done = on_a_small_disk(&project, &disk, *size).expect(0);
        let (code, run) = done.stdout.split_once('\n').unwrap();
        let said = &done.stderr;
        if code != "0" {
            stopped += 1;
            assert_eq!(code, "1", "{said}");
            assert!(said.contains("error: "), "{said}");
            assert!(
                said.contains("full") || said.contains("No space left"),
                "{said}"
            );
            assert!(said.contains("`codeteam resume`"), "{said}");
            assert!(!said.contains("not done:"), "nothing has failed: {said}");
        }
        let run: serde_json::Value = serde_json::from_str(run).unwrap_or_else(|e| {
            panic!("{size} kB: {e}\n{}\n{said}", done.stdout);
        });
        assert_eq!(run["status"], "completed", "{size} kB");
        let branch = run["branch"].as_str().unwrap();
        assert_eq!(project.trees(branch).len(), 3, "{size} kB");
        assert_eq!(
            project.git(&["show", &format!("{branch}:three.txt")]),
            "done"
        );
        assert_eq!(project.checkout(), before);
        assert_eq!(project.survivors(), Vec::<String>::new());
    }
    stopped
}

#[test]
fn under_the_log() {
    let disk = |project: &Project| project.path(".codeteam").display().to_string();
    let stopped = too_small(disk, &[140, 220, 260, 320]);
    assert!(stopped >= 3, "{stopped}");
}

#[test]
fn under_the_worktrees() {
    let disk = |project: &Project| project.home().join(".local/state").display().to_string();
    let stopped = too_small(disk, &[8, 60, 100, 120]);
    assert!(stopped >= 3, "{stopped}");
}
