//! The worker as a process of its own: its signals, its environment, its trust.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use codeteam_agent::builtin::Protocol::Openai;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;

use crate::job::KEY;
use crate::model::{FakeModel, calls};

/// A work tree with an assignment above it.
fn tree() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("tree")).unwrap();
    let assignment = json!({"instructions": {"prompt": "Do it."}, "writable": true});
    fs::write(dir.path().join("assignment.json"), assignment.to_string()).unwrap();
    dir
}

#[expect(clippy::disallowed_methods, reason = "the harness of these tests")]
fn worker(dir: &Path, url: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_builtin-worker"));
    command
        .args(["openai", url, "test-model", "../assignment.json"])
        .current_dir(dir.join("tree"))
        .env("CODETEAM_API_KEY", KEY)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

#[test]
fn a_command_does_not_see_the_key() {
    let dir = tree();
    let model = FakeModel::start(vec![
        calls(Openai, "", &[("run_command", r#"{"command":"env"}"#)]),
        calls(Openai, "", &[("submit", "{}")]),
    ]);
    let output = worker(dir.path(), &model.url).output().unwrap();
    assert!(output.status.success());
    let asked = &model.received()[1];
    assert_eq!(
        asked.header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
    assert!(asked.text.contains("PATH="), "{}", asked.text);
    assert!(!asked.text.contains(KEY), "{}", asked.text);
}

/// Returns true once nobody holds the other end of a pipe any more; gives up after a while.
fn is_closed(pipe: &File) -> bool {
    let patience = Timespec::try_from(Duration::from_secs(20)).unwrap();
    let mut fds = [PollFd::new(pipe, PollFlags::empty())];
    poll(&mut fds, Some(&patience)).unwrap() == 1
}

#[test]
fn a_signal_ends_it_and_its_command() {
    let dir = tree();
    let pipe = dir.path().join("tree/pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    // The command holds the pipe open for as long as it lives.
    let command = r#"{"command":"exec 3>pipe; echo there >&3; sleep 1000"}"#;
    let model = FakeModel::start(vec![calls(Openai, "", &[("run_command", command)])]);
    let mut child = worker(dir.path(), &model.url).spawn().unwrap();
    let mut reader = BufReader::new(File::open(pipe).unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert_eq!(line, "there\n");
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert!(is_closed(reader.get_ref()), "the command is gone");
}

/// Serves one request by TLS, with a certificate that it writes to a file.
fn serve_tls(certificate: &Path, body: String) -> u16 {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(certificate, made.cert.pem()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.unwrap())
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        // A client that does not trust the certificate goes, and comes again.
        for stream in listener.incoming() {
            let connection = rustls::ServerConnection::new(Arc::new(config.clone())).unwrap();
            let mut stream = rustls::StreamOwned::new(connection, stream.unwrap());
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"}") && stream.read_exact(&mut byte).is_ok() {
                request.push(byte[0]);
            }
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    port
}

#[test]
fn tls_is_spoken_with_whom_this_host_trusts() {
    let dir = tree();
    let certificate = dir.path().join("certificate.pem");
    let body = calls(Openai, "", &[("submit", r#"{"summary":"x"}"#)]).body;
    let port = serve_tls(&certificate, body);
    let url = format!("https://localhost:{port}/v1");
    let run = |trusted: &Path| {
        let mut worker = worker(dir.path(), &url);
        worker
            .env("SSL_CERT_FILE", trusted)
            .env_remove("SSL_CERT_DIR");
        let output = worker.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (code, output) = run(&certificate);
    assert_eq!(code, Some(0), "{output}");

    let (code, output) = run(&dir.path().join("none.pem"));
    assert_eq!(code, Some(1), "{output}");
    let last = output
        .lines()
        .rfind(|line| line.contains("\"error\""))
        .unwrap();
    assert!(last.contains("UnknownIssuer"), "{last}");
    assert!(!output.contains("asking again"), "{output}");
}
