//! Ports inside that are served from outside.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::time::Duration;

use codeteam_sandbox::{Lifeline, MountAccess, SandboxPolicy, SandboxProfile};
use rustix::io::{FdFlags, fcntl_getfd};

use crate::containers;
use crate::harness::{SandboxCase, TestHost, end, spawn};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn serving(host: &TestHost, ports: &[u16]) -> SandboxPolicy {
    let mut policy = host.policy(SandboxProfile::Worker);
    policy.ports = ports.to_vec();
    policy
}

#[test]
fn the_first_connection_of_a_command_finds_a_listener() {
    let host = TestHost::new();
    let contained = containers::backend().map(|backend| SandboxCase {
        backend,
        profile: SandboxProfile::Worker,
    });
    let cases = [SandboxProfile::Worker, SandboxProfile::Setup].map(SandboxCase::from);
    for case in cases.into_iter().chain(contained) {
        let mut policy = serving(&host, &[3128, 4000]);
        policy.profile = case.profile;
        let script = "use IO::Socket::INET;
            for my $port (4000, 3128) {
                my $s = IO::Socket::INET->new(\"127.0.0.1:$port\") or die $!;
                print $s \"$port\\n\"; print scalar <$s>;
            }";
        let confined = host.confine(case, policy, "perl", &["-e", script]);
        let (lifeline, mut child) = spawn(&confined);
        let listeners = lifeline.receive_listeners(2, PATIENCE).unwrap();
        for (listener, port) in listeners.iter().zip([3128, 4000]) {
            assert_eq!(listener.local_addr().unwrap().port(), port);
            let flags = fcntl_getfd(listener).unwrap();
            assert!(flags.contains(FdFlags::CLOEXEC));
        }
        for (listener, port) in listeners.iter().zip([3128, 4000]).rev() {
            let (mut peer, _) = listener.accept().unwrap();
            let mut asked = String::new();
            let mut reader = BufReader::new(peer.try_clone().unwrap());
            reader.read_line(&mut asked).unwrap();
            assert_eq!(asked, format!("{port}\n"));
            writeln!(peer, "hello from {port}").unwrap();
        }
        let ended = end(&mut child);
        assert_eq!(ended.stdout, "hello from 4000\nhello from 3128\n");
    }
}

#[test]
fn no_copy_of_a_listener_stays_inside() {
    let host = TestHost::new();
    let script = "use IO::Socket::INET; $| = 1;
        my $s = IO::Socket::INET->new(\"127.0.0.1:3128\") or die $!;
        sysread $s, my $x, 1;
        print IO::Socket::INET->new(\"127.0.0.1:3128\") ? \"connected\" : \"$!\", \"\\n\";
        opendir my $d, \"/proc/self/fd\"; print join(\" \", sort grep /^[0-9]/, readdir $d), \"\\n\"";
    let confined = host.confine(
        SandboxProfile::Worker,
        serving(&host, &[3128]),
        "perl",
        &["-e", script],
    );
    let (lifeline, mut child) = spawn(&confined);
    let listeners = lifeline.receive_listeners(1, PATIENCE).unwrap();
    let (mut peer, _) = listeners[0].accept().unwrap();
    drop(listeners);
    peer.write_all(b"x").unwrap();
    // The command's own descriptors are its streams, its socket, its directory.
    let ended = end(&mut child);
    assert_eq!(ended.stdout, "Connection refused\n0 1 2 3 4\n", "{ended:?}");
}

#[test]
fn a_port_that_cannot_be_had_is_an_error_on_both_sides() {
    let host = TestHost::new();
    for (ports, named) in [(&[3128, 3128][..], "3128"), (&[80], "80")] {
        let confined = host.confine(
            SandboxProfile::Worker,
            serving(&host, ports),
            "touch",
            &["started"],
        );
        let (lifeline, mut child) = spawn(&confined);
        let error = lifeline
            .receive_listeners(ports.len(), PATIENCE)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{error}");
        let ended = end(&mut child);
        assert_eq!(ended.code, Some(125));
        let told = format!("could not listen on port {named} in the sandbox");
        assert!(ended.stderr.contains(&told), "{ended:?}");
        assert!(!host.tree().join("started").exists());
    }
}

#[test]
fn listeners_that_never_come_are_not_waited_for() {
    let host = TestHost::new();
    let (lifeline, _stdin) = Lifeline::new().unwrap();
    assert!(lifeline.receive_listeners(0, PATIENCE).unwrap().is_empty());
    let late = lifeline.receive_listeners(1, Duration::ZERO).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::TimedOut);
    assert!(!lifeline.was_ready());

    let mut policy = serving(&host, &[3128]);
    policy.show(&host.path("missing"), MountAccess::ReadOnly);
    let confined = host.confine(SandboxProfile::Worker, policy, "true", &[]);
    let (lifeline, mut child) = spawn(&confined);
    let ended = lifeline.receive_listeners(1, PATIENCE).unwrap_err();
    assert_eq!(ended.kind(), ErrorKind::UnexpectedEof);
    assert_eq!(child.wait().unwrap().code(), Some(125));
    assert!(!lifeline.was_ready());

    let confined = host.confine(
        SandboxProfile::Worker,
        host.policy(SandboxProfile::Worker),
        "false",
        &[],
    );
    let (lifeline, mut child) = spawn(&confined);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(lifeline.was_ready());

    let confined = host.confine(
        SandboxProfile::Worker,
        serving(&host, &[3128, 3129]),
        "sleep",
        &["1000"],
    );
    let (lifeline, mut child) = spawn(&confined);
    let fewer = lifeline.receive_listeners(1, PATIENCE).unwrap_err();
    assert_eq!(fewer.kind(), ErrorKind::InvalidData, "{fewer}");
    drop(lifeline);
    child.wait().unwrap();
}

#[test]
fn an_executor_has_no_ports() {
    let host = TestHost::new();
    let mut policy = serving(&host, &[3128]);
    policy.profile = SandboxProfile::Executor;
    let ended = host.run(SandboxProfile::Worker, policy, "touch", &["started"]);
    assert_eq!(ended.code, Some(125));
    assert!(ended.stderr.contains("an executor has no network"));
    assert!(!host.tree().join("started").exists());
}

#[test]
fn a_served_command_ends_with_its_lifeline() {
    let host = TestHost::new();
    let script = "use IO::Socket::INET;
        my $s = IO::Socket::INET->new(\"127.0.0.1:3128\") or die $!; sleep 1000";
    let confined = host.confine(
        SandboxProfile::Worker,
        serving(&host, &[3128]),
        "perl",
        &["-e", script],
    );
    let (lifeline, mut child) = spawn(&confined);
    let listeners = lifeline.receive_listeners(1, PATIENCE).unwrap();
    let (mut peer, _) = listeners[0].accept().unwrap();
    drop(lifeline);
    assert_eq!(peer.read(&mut [0]).unwrap(), 0);
    child.wait().unwrap();
}
