use std::process::{Command, Stdio};

use super::*;
use codeteam_http::ClientLimits;

fn clients(silent: Duration) -> Arc<ClientRegistry> {
    let limits = ClientLimits {
        silence_timeout: silent,
        ..ClientLimits::default()
    };
    Arc::new(ClientRegistry::new(Arc::new(ClientSessions::new(limits))))
}

/// One with a session of its own, which has ended unless there is one of that name.
fn session(name: &str) -> RequestCaller {
    RequestCaller {
        session: Some(name.to_owned()),
        label: name.to_owned(),
        connection: None,
    }
}

/// One without a session that calls from a process.
fn of(process: &PeerProcess, label: &str) -> ClientIdentity {
    ClientIdentity {
        session: None,
        process: Some(process.clone()),
        label: label.to_owned(),
    }
}

fn hold(clients: &ClientRegistry, client: ClientIdentity) {
    *clients.holder() = Some(LeadingClient {
        client,
        calls: 0,
        last: Instant::now(),
    });
}

fn leader(refused: Result<LeadGuard, LeadRefusal>) -> String {
    match refused.err() {
        Some(LeadRefusal::LedByOther(leader)) => leader.label,
        other => panic!("{other:?}"),
    }
}

#[test]
fn two_who_begin_at_once_do_not_both_lead() {
    let clients = clients(Duration::ZERO);
    let begins = clients.begin_call(session("a"), false).unwrap();
    assert_eq!(leader(clients.begin_call(session("b"), false)), "a");
    assert!(clients.begin_call(session("a"), true).is_ok());
    drop(begins);
    // There is no task any more.
    assert!(clients.begin_call(session("b"), false).is_ok());
}

#[test]
fn a_session_that_has_ended_leads_no_more() {
    let clients = clients(Duration::from_mins(1));
    drop(clients.begin_call(session("a"), true).unwrap());
    assert!(clients.begin_call(session("b"), true).is_ok());
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "another process is what this is about"
)]
fn clients_without_sessions_are_told_apart_by_their_processes() {
    let own = PeerProcess::from_pid(std::process::id()).unwrap();
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let other = PeerProcess::from_pid(child.id()).unwrap();
    assert!(of(&own, "mcp 1").is_same_client(&of(&own, "mcp 1")));
    assert!(!of(&own, "mcp 1").is_same_client(&of(&other, "mcp 1")));
    assert!(!of(&own, "mcp 1").is_same_client(&of(&own, "mcp 2")));

    let clients = clients(Duration::from_mins(30));
    hold(&clients, of(&other, "mcp 1"));
    assert_eq!(leader(clients.begin_call(session("b"), true)), "mcp 1");
    // With its process, it has left.
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(clients.begin_call(session("b"), true).is_ok());
}

#[test]
#[cfg(target_os = "linux")]
fn one_that_cannot_be_told_from_others_is_refused() {
    let clients = clients(Duration::from_mins(1));
    let unknown = RequestCaller {
        session: None,
        label: "mcp 1".to_owned(),
        connection: None,
    };
    assert_eq!(
        clients.begin_call(unknown, false).err(),
        Some(LeadRefusal::Unknown)
    );
}
