//! System calls that reach round the other walls, made raw.

use codeteam_sandbox::SandboxProfile;

use crate::harness::{SandboxCase, TestHost, everywhere, unconfined};

const EPERM: i32 = libc::EPERM;
const ENOSYS: i32 = libc::ENOSYS;

/// A name for people, the number of the call, its arguments in Perl.
type SyscallCase = (&'static str, i64, &'static str);

/// Makes each call with these arguments and prints the error number, 0 for
/// success. Text becomes a pointer.
fn script(calls: &[SyscallCase]) -> String {
    let call = |(_, number, args): &SyscallCase| {
        format!("$! = 0; my $r = syscall({number}, {args}); print $r == -1 ? $! + 0 : 0, \"\\n\";")
    };
    let before = "my $buffer = \"\\0\" x 4096; my $path = \"/proc/self/exe\";".to_owned();
    calls.iter().map(call).fold(before, |all, one| all + &one)
}

#[track_caller]
fn refused(case: impl Into<SandboxCase>, calls: &[SyscallCase], errno: i32) {
    let host = TestHost::new();
    let case = case.into();
    let ended = host.run(case, host.policy(case), "perl", &["-e", &script(calls)]);
    let got: Vec<_> = ended
        .stdout
        .lines()
        .zip(calls)
        .map(|(got, call)| (call.0, got))
        .collect();
    let errno = errno.to_string();
    let wanted: Vec<_> = calls.iter().map(|call| (call.0, errno.as_str())).collect();
    assert_eq!(got, wanted, "{ended:?}");
}

const DANGEROUS: &[SyscallCase] = &[
    ("ptrace", libc::SYS_ptrace, "0, 0, 0, 0"),
    (
        "process_vm_readv",
        libc::SYS_process_vm_readv,
        "$$, 0, 0, 0, 0, 0",
    ),
    (
        "process_vm_writev",
        libc::SYS_process_vm_writev,
        "$$, 0, 0, 0, 0, 0",
    ),
    ("pidfd_getfd", libc::SYS_pidfd_getfd, "0, 0, 0"),
    ("keyctl", libc::SYS_keyctl, "0, -3, 0"),
    ("add_key", libc::SYS_add_key, "$path, $path, $path, 1, -3"),
    ("request_key", libc::SYS_request_key, "$path, $path, 0, 0"),
    ("io_uring_setup", libc::SYS_io_uring_setup, "1, $buffer"),
    (
        "io_uring_enter",
        libc::SYS_io_uring_enter,
        "0, 0, 0, 0, 0, 0",
    ),
    (
        "io_uring_register",
        libc::SYS_io_uring_register,
        "0, 0, 0, 0",
    ),
    ("bpf", libc::SYS_bpf, "0, $buffer, 64"),
    (
        "perf_event_open",
        libc::SYS_perf_event_open,
        "$buffer, 0, -1, -1, 0",
    ),
    ("userfaultfd", libc::SYS_userfaultfd, "1"),
    ("mount", libc::SYS_mount, "$path, $path, $path, 4096, 0"),
    ("umount2", libc::SYS_umount2, "$path, 0"),
    ("pivot_root", libc::SYS_pivot_root, "$path, $path"),
    ("chroot", libc::SYS_chroot, "$path"),
    ("open_tree", libc::SYS_open_tree, "-100, $path, 1"),
    ("fsopen", libc::SYS_fsopen, "$path, 0"),
    (
        "mount_setattr",
        libc::SYS_mount_setattr,
        "-100, $path, 0, $buffer, 32",
    ),
    ("unshare", libc::SYS_unshare, "0x10000000"),
    ("unshare nothing", libc::SYS_unshare, "0"),
    ("setns", libc::SYS_setns, "0, 0"),
    (
        "name_to_handle_at",
        libc::SYS_name_to_handle_at,
        "-100, $path, $buffer, $buffer, 0",
    ),
    (
        "open_by_handle_at",
        libc::SYS_open_by_handle_at,
        "-100, $buffer, 0",
    ),
    (
        "mknodat device",
        libc::SYS_mknodat,
        "-100, $path, 0020666, 259",
    ),
    (
        "mknodat disk",
        libc::SYS_mknodat,
        "-100, $path, 0060666, 259",
    ),
    (
        "mknodat setuid",
        libc::SYS_mknodat,
        "-100, $path, 0104755, 0",
    ),
    ("clock_settime", libc::SYS_clock_settime, "0, $buffer"),
    ("syslog", libc::SYS_syslog, "10, 0, 0"),
    ("clone NEWUSER", libc::SYS_clone, "0x10000011, 0, 0, 0, 0"),
    ("clone NEWNET", libc::SYS_clone, "0x40000011, 0, 0, 0, 0"),
    ("clone NEWNS", libc::SYS_clone, "0x20011, 0, 0, 0, 0"),
    ("ioctl TIOCSTI", libc::SYS_ioctl, "0, 0x5412, $path"),
    ("ioctl TIOCLINUX", libc::SYS_ioctl, "0, 0x541c, $path"),
    (
        "ioctl EXT4_IOC_MOVE_EXT",
        libc::SYS_ioctl,
        "0, 0xc028660f, $path",
    ),
    (
        "ioctl XFS_IOC_SWAPEXT",
        libc::SYS_ioctl,
        "0, 0xc0c0586d, $path",
    ),
    // The kernel looks at half of the register only.
    (
        "ioctl TIOCSTI in disguise",
        libc::SYS_ioctl,
        "0, 0x100005412, $path",
    ),
    ("fchmodat2 setuid", 452, "-100, $path, 04755, 0"),
    ("socket UNIX", libc::SYS_socket, "1, 1, 0"),
    ("socket ALG", libc::SYS_socket, "38, 5, 0"),
    ("socket VSOCK", libc::SYS_socket, "40, 1, 0"),
    ("socket PACKET", libc::SYS_socket, "17, 3, 0"),
    ("socket BLUETOOTH", libc::SYS_socket, "31, 3, 0"),
    (
        "socket UNIX in disguise",
        libc::SYS_socket,
        "0x100000001, 1, 0",
    ),
    ("socketpair TIPC", libc::SYS_socketpair, "30, 1, 0, $buffer"),
    // One end of such a pair can send to anybody who has an address.
    (
        "socketpair of datagrams",
        libc::SYS_socketpair,
        "1, 2, 0, $buffer",
    ),
    (
        "socketpair of datagrams, with flags",
        libc::SYS_socketpair,
        "1, 0x80802, 0, $buffer",
    ),
    ("socketpair raw", libc::SYS_socketpair, "1, 3, 0, $buffer"),
    (
        "socketpair of datagrams in disguise",
        libc::SYS_socketpair,
        "1, 0x100000002, 0, $buffer",
    ),
];

#[test]
fn dangerous_calls_are_refused() {
    for case in everywhere() {
        refused(case, DANGEROUS, EPERM);
    }
    refused(
        SandboxProfile::Executor,
        &[("socket NETLINK", libc::SYS_socket, "16, 3, 0")],
        EPERM,
    );
    refused(
        SandboxProfile::Worker,
        &[("socket NETLINK", libc::SYS_socket, "16, 3, 0")],
        0,
    );
}

#[test]
fn calls_with_older_forms_do_not_exist() {
    let mut calls = vec![
        ("clone3", libc::SYS_clone3, "$buffer, 88"),
        ("openat2", libc::SYS_openat2, "-100, $path, $buffer, 24"),
    ];
    if cfg!(target_arch = "x86_64") {
        calls.push(("getpid of x32", 0x4000_0000 + libc::SYS_getpid, "0"));
        calls.push(("ptrace of x32", 0x4000_0000 + 521, "0, 0, 0, 0"));
    }
    for case in everywhere() {
        refused(case, &calls, ENOSYS);
    }
}

#[test]
fn calls_that_nobody_knows_yet_do_not_exist() {
    // All of them exist in some kernel, or may one day.
    let calls = [
        ("quotactl_fd", 443, "0, 0, 0, 0"),
        ("memfd_secret", 447, "0"),
        ("process_mrelease", 448, "0, 0"),
        ("cachestat", 451, "0, $buffer, $buffer, 0"),
        ("statmount", 457, "$buffer, $buffer, 4096, 0"),
        ("listmount", 458, "$buffer, $buffer, 512, 0"),
        ("lsm_list_modules", 461, "$buffer, $buffer, 0"),
        ("setxattrat", 463, "-100, $path, 0, $path, $buffer, 16"),
        ("open_tree_attr", 467, "-100, $path, 1, $buffer, 32"),
        ("file_setattr", 469, "-100, $path, $buffer, 24, 0"),
        ("one that is still to come", 480, "0"),
        ("another", 999, "0"),
        ("the last number", 0x3fff_ffff, "0"),
    ];
    for case in everywhere() {
        refused(case, &calls, ENOSYS);
    }
}

#[test]
fn the_attacks_are_real() {
    // Without a sandbox they reach the kernel: no EPERM of a filter.
    let host = TestHost::new();
    let calls = [
        ("ptrace", libc::SYS_ptrace, "0, 0, 0, 0"),
        (
            "process_vm_readv",
            libc::SYS_process_vm_readv,
            "$$, 0, 0, 0, 0, 0",
        ),
        ("socket UNIX", libc::SYS_socket, "1, 1, 0"),
    ];
    let perl = script(&calls).replace('\'', "'\\''");
    let ended = unconfined(&host.tree(), &format!("perl -e '{perl}'"));
    assert_eq!(ended.stdout, "0\n0\n0\n", "{ended:?}");
}

#[test]
fn there_is_no_terminal() {
    let host = TestHost::new();
    for case in everywhere() {
        let ended = host.sh(
            case,
            "(: < /dev/tty) 2>/dev/null && echo opened; ls /dev/pts",
        );
        assert_eq!(ended.stdout, "ptmx\n", "{ended:?}");
    }
}

#[test]
fn ordinary_programs_run() {
    let host = TestHost::new();
    let script = "set -e; perl -e 'fork; wait' ; sh -c 'sleep 0 & wait'; sort /etc/passwd | cat
                  perl -e 'open(F, \"+>\", undef) or die; chmod 0755, \"/tmp\"'; tar cf /tmp/x src
                  tar xf /tmp/x -C /tmp; git --version";
    for case in everywhere() {
        let ended = host.sh(case, script);
        assert_eq!(
            (ended.code, ended.stderr.as_str()),
            (Some(0), ""),
            "{ended:?}"
        );
    }
}
