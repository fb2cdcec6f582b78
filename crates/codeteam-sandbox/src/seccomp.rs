//! Decides which system calls a confined command may make.
//!
//! There are two filters. The first lists what may be called at all: a number that is not on it,
//! such as one that a newer kernel has added, fails with `ENOSYS` as on a kernel without it, so
//! programs fall back to what they did before. The second refuses, with `EPERM`, calls that get
//! around the other barriers: other processes' memory, kernel interfaces with a history of holes,
//! namespaces and mounts, sockets that are not confined by a network namespace, setuid files,
//! changes to files that leave their times as they were.
//!
//! The kernel runs both and takes the strictest answer. Programs of another architecture, whose
//! calls have other numbers, are killed.

mod allowed;

use std::collections::{BTreeMap, BTreeSet};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use crate::policy::SandboxProfile;

#[cfg(target_arch = "x86_64")]
const ARCH: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCH: TargetArch = TargetArch::aarch64;

/// Returns the filters, each as the bytes of a BPF program.
pub(crate) fn filter_programs(profile: SandboxProfile) -> Vec<Vec<u8>> {
    let filters = filters(profile);
    let as_bytes = |program: &BpfProgram| program.iter().flat_map(bytes).collect();
    filters.iter().map(as_bytes).collect()
}

/// Applies the filters to this process and everything it starts, for good.
pub(crate) fn apply_filters(profile: SandboxProfile) -> Result<(), seccompiler::Error> {
    let filters = filters(profile);
    filters
        .iter()
        .try_for_each(|f| seccompiler::apply_filter(f))
}

fn filters(profile: SandboxProfile) -> Vec<BpfProgram> {
    let refused = refused_calls(profile);
    // Refused calls have their own error, so the list lets them through to the second filter.
    let known = allowed::CALLS.iter().chain(allowed::CALLS_HERE);
    let known = known.copied().chain(refused.keys().copied());
    let listed = allow_only(known.collect());
    vec![compile(refused, libc::EPERM), listed]
}

type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that are refused whatever their arguments.
const REFUSED: &[i64] = &[
    // Other processes, and descriptors of other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Keyrings are not part of any namespace.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Large kernel interfaces nobody needs to build software.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Files by number instead of by name.
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // The machine.
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_settimeofday,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_vhangup,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
    libc::SYS__sysctl,
];
#[cfg(target_arch = "aarch64")]
const REFUSED_HERE: &[i64] = &[];

fn refused_calls(profile: SandboxProfile) -> SyscallRules {
    let mut rules = refuse_always(REFUSED.iter().chain(REFUSED_HERE).copied());
    // Sockets of these families stay within the network namespace. UNIX ones do not: a socket of
    // the host in a visible directory, read-only or not, can be connected to. A pair of stream
    // sockets keeps its peer for good; a datagram socket can be connected to anybody, or send
    // without connecting. (The kernel turns a raw UNIX socket into a datagram socket.)
    let mut families = vec![libc::AF_INET, libc::AF_INET6];
    if profile != SandboxProfile::Executor {
        families.push(libc::AF_NETLINK);
    }
    let other = families.iter().map(|family| is_not(0, *family)).collect();
    rules.insert(libc::SYS_socket, vec![rule(other)]);
    let datagrams = [libc::SOCK_DGRAM, libc::SOCK_RAW].map(|kind| {
        rule(vec![condition(
            1,
            SeccompCmpOp::MaskedEq(SOCKET_KIND),
            kind,
        )])
    });
    let mut pair = vec![rule(vec![is_not(0, libc::AF_UNIX)])];
    pair.extend(datagrams);
    rules.insert(libc::SYS_socketpair, pair);

    let namespaces = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        CLONE_NEWTIME,
    ];
    rules.insert(libc::SYS_clone, any_bit(0, &namespaces));

    // The first two type into the terminal, should there ever be one. The others change the content
    // of a file and not its times, from which codeteam knows what a worker has touched.
    let requests = [TIOCSTI, TIOCLINUX, EXT4_IOC_MOVE_EXT, XFS_IOC_SWAPEXT];
    let requests = requests.map(|request| rule(vec![is(1, request)]));
    rules.insert(libc::SYS_ioctl, requests.into());

    refuse_privileged_modes(&mut rules);
    rules
}

const CLONE_NEWTIME: i32 = 0x80;
/// The part of a socket's type that is not its flags.
const SOCKET_KIND: u64 = 0xf;
const TIOCSTI: i32 = 0x5412;
const TIOCLINUX: i32 = 0x541c;
const EXT4_IOC_MOVE_EXT: i32 = 0xc028_660f_u32.cast_signed();
const XFS_IOC_SWAPEXT: i32 = 0xc0c0_586d_u32.cast_signed();
const SYS_FCHMODAT2: i64 = 452;
/// Creates a file without a name: the bits of `O_TMPFILE` without `O_DIRECTORY`.
const UNNAMED: i32 = 0o20_000_000;
const PRIVILEGED: [i32; 2] = [0o4000, 0o2000];

/// Refuses to create setuid files and devices: a setuid file in the work tree would belong to the
/// user of the host, and a device would be the host's.
fn refuse_privileged_modes(rules: &mut SyscallRules) {
    rules.insert(libc::SYS_fchmod, any_bit(1, &PRIVILEGED));
    rules.insert(libc::SYS_fchmodat, any_bit(2, &PRIVILEGED));
    rules.insert(SYS_FCHMODAT2, any_bit(2, &PRIVILEGED));
    rules.insert(libc::SYS_openat, creation_rules(2, 3));
    rules.insert(libc::SYS_mknodat, device_rules(2));
    #[cfg(target_arch = "x86_64")]
    {
        rules.insert(libc::SYS_chmod, any_bit(1, &PRIVILEGED));
        rules.insert(libc::SYS_creat, any_bit(1, &PRIVILEGED));
        rules.insert(libc::SYS_open, creation_rules(1, 2));
        rules.insert(libc::SYS_mknod, device_rules(1));
    }
}

/// Returns rules against opening with a privileged mode. The mode is meaningful only when a file is
/// created; otherwise the register holds anything.
fn creation_rules(flags: u8, mode: u8) -> Vec<SeccompRule> {
    [libc::O_CREAT, UNNAMED]
        .into_iter()
        .flat_map(|creates| PRIVILEGED.map(|bit| rule(vec![has(flags, creates), has(mode, bit)])))
        .collect()
}

/// Returns rules against creating a device, or a file with a privileged mode. Pipes are allowed.
fn device_rules(mode: u8) -> Vec<SeccompRule> {
    let kind = |kind: u32| {
        let operator = SeccompCmpOp::MaskedEq(u64::from(libc::S_IFMT));
        rule(vec![condition(mode, operator, kind.cast_signed())])
    };
    let devices = [libc::S_IFCHR, libc::S_IFBLK].map(kind);
    devices
        .into_iter()
        .chain(any_bit(mode, &PRIVILEGED))
        .collect()
}

fn refuse_always(calls: impl IntoIterator<Item = i64>) -> SyscallRules {
    calls.into_iter().map(|call| (call, Vec::new())).collect()
}

fn any_bit(argument: u8, bits: &[i32]) -> Vec<SeccompRule> {
    bits.iter()
        .map(|bit| rule(vec![has(argument, *bit)]))
        .collect()
}

fn is(argument: u8, value: i32) -> SeccompCondition {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: i32) -> SeccompCondition {
    condition(argument, SeccompCmpOp::Ne, value)
}

fn has(argument: u8, bit: i32) -> SeccompCondition {
    condition(argument, SeccompCmpOp::MaskedEq(unsigned(bit)), bit)
}

fn unsigned(value: i32) -> u64 {
    u64::from(value.cast_unsigned())
}

/// Creates a condition. The kernel reads all arguments that are compared here as 32 bits.
#[expect(clippy::expect_used, reason = "an argument number below six is valid")]
fn condition(argument: u8, operator: SeccompCmpOp, value: i32) -> SeccompCondition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, unsigned(value))
        .expect("argument below six")
}

#[expect(clippy::expect_used, reason = "no rule here is empty")]
fn rule(conditions: Vec<SeccompCondition>) -> SeccompRule {
    SeccompRule::new(conditions).expect("a rule has conditions")
}

#[expect(
    clippy::expect_used,
    reason = "the rules are constant; a test compiles them"
)]
fn compile(rules: SyscallRules, errno: i32) -> BpfProgram {
    let errno = SeccompAction::Errno(errno.cast_unsigned());
    SeccompFilter::new(rules, SeccompAction::Allow, errno, ARCH)
        .and_then(TryInto::try_into)
        .expect("constant rules compile")
}

/// Allows these numbers and no others. Numbers of the x32 ABI, a second set under the same
/// architecture, are above all of them.
fn allow_only(calls: BTreeSet<i64>) -> BpfProgram {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const JUMP_IF_ABOVE: u16 = 0x25;
    const RETURN: u16 = 0x06;
    let unknown: u32 = SeccompAction::Errno(libc::ENOSYS.cast_unsigned()).into();
    let step = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    let mut program = vec![step(LOAD_NUMBER, 0, 0)];
    for (first, last) in ranges(calls) {
        // The ranges ascend: a number below this one was in none of the earlier ranges.
        program.extend([
            step(JUMP_IF_AT_LEAST, 1, first),
            step(RETURN, 0, unknown),
            step(JUMP_IF_ABOVE, 1, last),
            step(RETURN, 0, SeccompAction::Allow.into()),
        ]);
    }
    program.push(step(RETURN, 0, unknown));
    program
}

/// Groups numbers into ranges, each with a first and a last number.
fn ranges(numbers: BTreeSet<i64>) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers.into_iter().filter_map(|n| u32::try_from(n).ok()) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    ranges
}

/// Encodes an instruction as `struct sock_filter`, which the kernel reads.
fn bytes(instruction: &sock_filter) -> [u8; 8] {
    let [c0, c1] = instruction.code.to_ne_bytes();
    let [k0, k1, k2, k3] = instruction.k.to_ne_bytes();
    [c0, c1, instruction.jt, instruction.jf, k0, k1, k2, k3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_compiles_within_what_the_kernel_takes() {
        for profile in [
            SandboxProfile::Worker,
            SandboxProfile::Executor,
            SandboxProfile::Setup,
        ] {
            for program in filter_programs(profile) {
                assert_eq!(program.len() % 8, 0);
                assert!(program.len() / 8 <= 4096, "{}", program.len());
            }
        }
    }

    #[test]
    fn numbers_become_ranges() {
        let numbers = BTreeSet::from([-1, 0, 1, 2, 5, 7, 8]);
        assert_eq!(ranges(numbers), [(0, 2), (5, 5), (7, 8)]);
    }

    #[test]
    fn nothing_is_both_refused_and_allowed_whatever_its_arguments() {
        let always = REFUSED.iter().chain(REFUSED_HERE);
        let allowed: BTreeSet<i64> = allowed::CALLS.iter().copied().collect();
        let allowed: BTreeSet<i64> = &allowed | &allowed::CALLS_HERE.iter().copied().collect();
        let both: Vec<&i64> = always.filter(|call| allowed.contains(call)).collect();
        assert_eq!(both, [&0; 0]);
    }
}
