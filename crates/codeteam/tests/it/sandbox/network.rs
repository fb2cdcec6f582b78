//! A worker's way out: the proxy, what the log says of it, and no other way.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpListener;
use std::thread::JoinHandle;

use serde_json::Value;

use super::{attack, by, coder, reviewer};
use crate::project::{CommandResult, Project};

/// Connects through the proxy as programs do that are told of one, and says what came of it.
pub(super) const THROUGH: &str = r#"
through() {
    perl -MIO::Socket::INET -e '
        alarm 20; my ($to) = @ARGV; my ($proxy) = $ENV{HTTPS_PROXY} =~ m{^http://(.+)$} or die "no proxy\n";
        my $s = IO::Socket::INET->new($proxy) or die "no way to the proxy\n";
        print $s "CONNECT $to HTTP/1.1\r\nHost: $to\r\n\r\n"; $s->flush;
        my $line = <$s>; my ($status) = $line =~ m{ (\d+)}; print "$status\n"; exit if $status != 200;
        while (<$s>) { last if $_ eq "\r\n" } print $s "hello\n"; $s->flush; print scalar <$s>' $1
}
"#;

/// A host on this machine that answers the first who comes.
pub(super) fn host() -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answering = std::thread::spawn(move || {
        let (mut from, _) = listener.accept().unwrap();
        let mut hello = [0; 6];
        from.read_exact(&mut hello).unwrap();
        assert_eq!(&hello, b"hello\n");
        from.write_all(b"welcome\n").unwrap();
    });
    (port, answering)
}

/// A host on this machine to which nobody is to come.
pub(super) fn lonely() -> (u16, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    (listener.local_addr().unwrap().port(), listener)
}

#[track_caller]
pub(super) fn nobody_came(listener: &TcpListener) {
    let came = listener.accept().map(|(_, from)| from);
    assert_eq!(came.unwrap_err().kind(), ErrorKind::WouldBlock);
}

/// Returns the log's record of each host, by who asked for it.
pub(super) fn asked(project: &Project) -> Vec<Value> {
    let events = project.events();
    let used = events
        .iter()
        .filter(|event| event["event"]["type"] == "network_used");
    used.flat_map(|event| event["event"]["hosts"].as_array().unwrap().clone())
        .collect()
}

fn logged(project: &Project) -> CommandResult {
    project.run(&["log"]).expect(0)
}

#[test]
fn a_host_that_is_not_configured_is_refused_and_the_log_says_so() {
    let project = Project::new();
    let (port, listener) = lonely();
    let call = format!(
        "{THROUGH}
        through example.org:443; through localhost:{port}; through 127.0.0.1:{port}
        perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(PeerAddr => shift, Timeout => 2) ? \"direct\\n\" : \"no way\\n\"' 127.0.0.1:{port}
        perl -e 'print gethostbyname(\"example.org\") ? \"resolved\\n\" : \"no name\\n\"'"
    );
    let plays = [coder(&by("coder", &call)), reviewer("")];
    let done = attack(&project, &plays, &[]).expect(0);
    assert_eq!(
        done.said("coder"),
        ["403", "403", "403", "no way", "no name"]
    );
    nobody_came(&listener);
    let asked = asked(&project);
    let denied: Vec<&str> = asked
        .iter()
        .map(|host| host["host"].as_str().unwrap())
        .collect();
    assert!(denied.contains(&"example.org:443"), "{asked:#?}");
    assert!(
        asked
            .iter()
            .all(|host| host["denied"] == 1 && host["allowed"].is_null())
    );
    let log = logged(&project);
    let line = log
        .stdout
        .lines()
        .find(|line| line.contains("refused a connection"));
    assert!(line.unwrap().contains("example.org:443"), "{}", log.stdout);
}

#[test]
fn a_configured_host_is_reached_and_counted() {
    let project = Project::new();
    let (port, answering) = host();
    let hosts =
        format!("sandbox: {{ hosts: [ {{ host: 'localhost:{port}', private: true }} ] }}\n");
    project.user_config(&hosts);
    let call = format!("{THROUGH}through localhost:{port}");
    let plays = [coder(&by("coder", &call)), reviewer("")];
    let done = attack(&project, &plays, &[]).expect(0);
    assert_eq!(done.said("coder"), ["200", "welcome"]);
    answering.join().unwrap();
    let asked = asked(&project);
    assert_eq!(asked.len(), 1, "{asked:#?}");
    assert_eq!(asked[0]["host"], format!("localhost:{port}"));
    assert_eq!(asked[0]["allowed"], 1);
    assert!(asked[0]["denied"].is_null());
    assert_eq!(
        (&asked[0]["sent"], &asked[0]["received"]),
        (&6.into(), &8.into())
    );
    assert!(!logged(&project).stdout.contains("refused a connection"));
}

#[test]
fn a_private_address_needs_the_users_own_word() {
    let (port, listener) = lonely();
    let project = Project::new();
    project.user_config(&format!("sandbox: {{ hosts: [ 'localhost:{port}' ] }}\n"));
    let call = format!("{THROUGH}through localhost:{port}");
    let plays = [coder(&by("coder", &call)), reviewer("")];
    let done = attack(&project, &plays, &[]).expect(0);
    assert_eq!(done.said("coder"), ["403"]);

    let project = Project::new();
    project.config(&format!(
        "sandbox: {{ hosts: [ {{ host: 'localhost:{port}', private: true }} ] }}\n"
    ));
    attack(&project, &plays, &[])
        .expect(2)
        .says(&["`private`", ".config/codeteam/config.yml"]);
    nobody_came(&listener);
}
