//! How much a command can take, and that others do not feel it.

use std::fs;
use std::io::{BufRead as _, BufReader};

use codeteam_sandbox::SandboxLimits;
use codeteam_sandbox::cgroup::CgroupHierarchy;

use crate::harness::{TestHost, backend, everywhere, spawn};

const MIB: u64 = 1024 * 1024;

/// Root is not bound by the limit that works without a cgroup.
fn processes_are_limited() -> bool {
    backend().enforceable_limits().processes || !rustix::process::geteuid().is_root()
}

#[test]
fn a_fork_bomb_stays_within_its_sandbox() {
    let bomb = "my $count = 0;
                while ($count < 400) {
                    my $pid = fork; last unless defined $pid;
                    if (!$pid) { sleep 1000; exit }
                    $count++;
                }
                $| = 1; print \"$count\\n\"; sleep 1000;";
    for case in everywhere() {
        let host = TestHost::new();
        let limits = SandboxLimits {
            processes: 48,
            ..SandboxLimits::default()
        };
        let confined = host.confine(case, host.limited(case, limits), "perl", &["-e", bomb]);
        let (lifeline, mut child) = spawn(&confined);
        let mut first = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut first).unwrap();
        let count: u64 = first.trim().parse().unwrap();
        assert_eq!(count < 48, processes_are_limited(), "{count}");

        // It is still full; others are free to fork.
        let other = TestHost::new();
        let ended = other.sh(case, "for i in 1 2 3 4 5 6 7 8; do (echo $i); done");
        assert_eq!(ended.stdout.lines().count(), 8, "{ended:?}");

        drop(lifeline);
        child.wait().unwrap();
        assert_eq!(stdout.read_line(&mut first).unwrap(), 0);
    }
}

#[test]
fn a_memory_hog_is_ended_alone() {
    let hog = "my $x = \"a\" x (200 << 20); my $y = \"b\" x (200 << 20); print \"survived\\n\"";
    for case in everywhere() {
        let host = TestHost::new();
        let limits = SandboxLimits {
            memory: 64 * MIB,
            ..SandboxLimits::default()
        };
        let ended = host.run(case, host.limited(case, limits), "perl", &["-e", hog]);
        assert_eq!(
            ended.stdout.is_empty(),
            backend().enforceable_limits().memory,
            "{ended:?}"
        );

        let limits = SandboxLimits {
            address_space: 256 * MIB,
            ..SandboxLimits::default()
        };
        let ended = host.run(case, host.limited(case, limits), "perl", &["-e", hog]);
        assert_eq!(ended.stdout, "", "{ended:?}");
    }
}

#[test]
fn scratch_space_is_bounded_and_there_is_no_other() {
    let bomb = "for d in /tmp /var/tmp /dev/shm ~ /dev /run / /etc /home; do
                    head -c 8388608 /dev/zero > $d/bomb
                    rm -f $d/second; cp $d/bomb $d/second
                done 2>/dev/null
                for d in /dev /run / /etc /home; do [ ! -s $d/bomb ] || echo $d; done
                du -skx /tmp /dev/shm ~ | cut -f 1";
    for case in everywhere() {
        let host = TestHost::new();
        let limits = SandboxLimits {
            scratch: MIB,
            ..SandboxLimits::default()
        };
        let ended = host.run(case, host.limited(case, limits), "sh", &["-c", bomb]);
        // Each of the three is full, and nothing went anywhere else.
        assert_eq!(ended.stdout, "1024\n1024\n1024\n", "{ended:?}");
    }
}

#[test]
fn a_file_cannot_fill_the_hosts_disk() {
    for case in everywhere() {
        let host = TestHost::new();
        let limits = SandboxLimits {
            file_size: MIB,
            ..SandboxLimits::default()
        };
        host.run(
            case,
            host.limited(case, limits),
            "sh",
            &[
                "-c",
                "head -c 8388608 /dev/zero > bomb; truncate -s 1G sparse",
            ],
        );
        assert_eq!(fs::metadata(host.tree().join("bomb")).unwrap().len(), MIB);
        let sparse = fs::metadata(host.tree().join("sparse"));
        assert!(sparse.map_or(0, |found| found.len()) <= MIB);
    }
}

#[test]
fn limits_cannot_be_raised() {
    let host = TestHost::new();
    let script = "ulimit -Hn; ulimit -Hc; ulimit -n 100000; ulimit -Hn; ulimit -c 1; ulimit -c";
    let limits = SandboxLimits {
        open_files: 256,
        ..SandboxLimits::default()
    };
    for case in everywhere() {
        for line in script
            .split("; ")
            .filter(|line| line.starts_with("ulimit -H"))
        {
            let ended = host.run(case, host.limited(case, limits), "sh", &["-c", line]);
            let wanted = if line.ends_with('n') { "256\n" } else { "0\n" };
            assert_eq!(ended.stdout, wanted);
        }
        let ended = host.run(
            case,
            host.limited(case, limits),
            "sh",
            &["-c", "ulimit -Hn 100000 || ulimit -Hc 1 || echo refused"],
        );
        assert!(!ended.stdout.contains("100000"), "{ended:?}");
    }
}

#[test]
fn a_cgroup_goes_with_its_command_and_leftovers_are_swept() {
    let hierarchy = CgroupHierarchy::detect();
    let made = hierarchy.create(&SandboxLimits::default()).unwrap();
    let directories: Vec<_> = made
        .membership_files()
        .iter()
        .map(|file| file.parent().unwrap().to_owned())
        .collect();
    assert!(directories.iter().all(|directory| directory.is_dir()));
    drop(made);
    assert!(directories.iter().all(|directory| !directory.exists()));

    // No process can have this id.
    let left: Vec<_> = directories
        .iter()
        .map(|directory| directory.with_file_name("codeteam-4194305-0"))
        .collect();
    for directory in &left {
        fs::create_dir(directory).unwrap();
    }
    CgroupHierarchy::detect();
    assert!(left.iter().all(|directory| !directory.exists()));
}

#[test]
fn without_cgroups_it_is_said_that_memory_has_no_limit() {
    let limited = backend().clone().without_cgroups().enforceable_limits();
    assert!(!limited.memory && !limited.processes);
}
