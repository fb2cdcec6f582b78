//! The endpoint that adds the key.

use std::io::{Read, Write};
use std::sync::{Arc, mpsc};
use std::thread;

use codeteam_sandbox::egress::{
    ApiEndpoint, ApiUpstream, EgressRecord, EgressVerdict, Secret, SecretHeader, TrustRoots,
};
use rustls::pki_types::PrivateKeyDer;

use super::*;

fn endpoint(url: &str, roots: TrustRoots) -> (ApiEndpoint, mpsc::Receiver<EgressRecord>) {
    let header = SecretHeader::new("x-api-key", Secret::new(KEY)).unwrap();
    let upstream = ApiUpstream::parse(url)
        .unwrap()
        .allow_private()
        .with_header(header);
    let (log, records) = log();
    (
        ApiEndpoint::new(upstream, roots, log).with_resolver(home()),
        records,
    )
}

fn no_roots() -> TrustRoots {
    TrustRoots::from_certificates([]).unwrap()
}

/// Takes one request, which has a body of five bytes, and answers it in two
/// pieces, the second when it is told to.
fn model(mut peer: impl Read + Write, go_on: &mpsc::Receiver<()>) -> String {
    let head = read_head(&mut peer);
    let mut body = [0; 5];
    peer.read_exact(&mut body).unwrap();
    assert_eq!(&body, b"hello");
    let answer = format!(
        "HTTP/1.1 200 {KEY}\r\nX-Echo: you sent {KEY}\r\nX-{KEY}: 1\r\nX-Fine: 1\r\n\
         Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n\
         d\r\ndata: first\n\n\r\n"
    );
    peer.write_all(answer.as_bytes()).unwrap();
    peer.flush().unwrap();
    go_on.recv_timeout(PATIENCE).unwrap();
    peer.write_all(b"e\r\ndata: second\n\n\r\n0\r\nX-Trailer: 1\r\n\r\n")
        .unwrap();
    peer.flush().unwrap();
    head
}

/// A worker that believes to have a key.
const CLIENT: &str = r#"my $s = dial();
    print $s "POST /v1/messages?beta=true&key=worker HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n",
        "Authorization: Bearer worker\r\nX-API-Key: worker\r\nx-goog-api-key: worker\r\n",
        "anthropic-version: 1\r\nContent-Length: 5\r\n\r\nhello",
        "POST /v1/second HTTP/1.1\r\nContent-Length: 0\r\n\r\n"; $s->flush;
    while (<$s>) { print }"#;

/// Runs the worker against an endpoint, and lets the second piece come when it
/// has printed the first.
fn streamed(endpoint: ApiEndpoint, go_on: &mpsc::Sender<()>) -> String {
    let host = TestHost::new();
    let (_lifeline, mut child, _serving) =
        start(&host, CLIENT, |listener| endpoint.serve(listener));
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    while !said.contains("data: first\n") {
        assert_ne!(stdout.read_line(&mut said).unwrap(), 0, "{said}");
    }
    assert!(!said.contains("second"));
    go_on.send(()).unwrap();
    stdout.read_to_string(&mut said).unwrap();
    child.wait().unwrap();
    said
}

const STREAMED: &str = "HTTP/1.1 200 \r\nX-Fine: 1\r\nContent-Type: text/event-stream\r\n\
    Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n\
    d\r\ndata: first\n\n\r\ne\r\ndata: second\n\n\r\n0\r\n\r\n";

fn head_for(host: &str) -> String {
    format!(
        "POST /prefix/v1/messages?beta=true HTTP/1.1\r\nHost: {host}\r\nanthropic-version: 1\r\n\
         x-api-key: {KEY}\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"
    )
}

#[test]
fn the_endpoint_adds_the_key_and_streams_the_answer() {
    let (target, port) = listener();
    let url = format!("http://model.example:{port}/prefix/");
    let (endpoint, records) = endpoint(&url, no_roots());
    let (go_on, awaited) = mpsc::channel();
    let server = thread::spawn(move || {
        let (peer, _) = target.accept().unwrap();
        let head = model(&peer, &awaited);
        nobody_came(&target);
        head
    });
    assert_eq!(streamed(endpoint, &go_on), STREAMED);
    let head = server.join().unwrap();
    assert_eq!(head, head_for(&format!("model.example:{port}")));
    let records: Vec<_> = records.iter().collect();
    assert!(
        matches!(records[0].verdict, EgressVerdict::Allowed { .. }),
        "{records:?}"
    );
    assert!(
        matches!(records[1].verdict, EgressVerdict::Ended { up, .. } if up > 5),
        "{records:?}"
    );
    assert_eq!(records.len(), 2);
    assert!(!format!("{records:?}").contains(KEY));
}

/// A certificate for a name, and a server that has it.
fn certified(name: &str) -> (TrustRoots, Arc<rustls::ServerConfig>) {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    (
        TrustRoots::from_certificates([certificate.to_vec()]).unwrap(),
        Arc::new(config),
    )
}

#[test]
fn the_endpoint_speaks_tls() {
    let (target, port) = listener();
    let (roots, config) = certified("model.example");
    let (endpoint, records) = endpoint(&format!("https://model.example:{port}/prefix"), roots);
    let (go_on, awaited) = mpsc::channel();
    let server = thread::spawn(move || {
        let (peer, _) = target.accept().unwrap();
        let session = rustls::ServerConnection::new(config).unwrap();
        model(rustls::StreamOwned::new(session, peer), &awaited)
    });
    assert_eq!(streamed(endpoint, &go_on), STREAMED);
    assert_eq!(
        server.join().unwrap(),
        head_for(&format!("model.example:{port}"))
    );
    assert_eq!(records.iter().count(), 2);
}

#[test]
fn the_key_goes_only_to_whom_it_belongs() {
    let (target, port) = listener();
    // A server that has a certificate, but for another name; and one that is
    // trusted by nobody.
    let (roots, config) = certified("other.example");
    let seen = thread::spawn(move || {
        [(); 2].map(|()| {
            let (mut peer, _) = target.accept().unwrap();
            let mut session = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = rustls::Stream::new(&mut session, &mut peer);
            let mut text = String::new();
            let _ = stream.read_to_string(&mut text);
            text
        })
    });
    for roots in [roots, no_roots()] {
        let (endpoint, records) = endpoint(&format!("https://model.example:{port}"), roots);
        let request = "GET / HTTP/1.1\r\n\r\n".to_owned();
        let answers = answers(&[request], |listener| endpoint.serve(listener));
        assert_eq!(status(&answers[0]), "502", "{answers:?}");
        assert!(answers[0].contains("certificate"), "{answers:?}");
        let verdicts: Vec<_> = records.iter().map(|record| record.verdict).collect();
        assert!(
            matches!(verdicts[1], EgressVerdict::Failed { .. }),
            "{verdicts:?}"
        );
    }
    assert_eq!(seen.join().unwrap(), ["", ""]);
}

#[test]
fn no_key_is_sent_in_the_open() {
    let header = SecretHeader::new("x-api-key", Secret::new(KEY)).unwrap();
    let upstream = ApiUpstream::parse("http://model.example")
        .unwrap()
        .with_header(header);
    let endpoint = ApiEndpoint::new(upstream, no_roots(), log().0);
    let error = endpoint.serve(listener().0).unwrap_err();
    assert!(error.to_string().contains("unencrypted"), "{error}");
}

#[test]
fn the_endpoint_takes_no_odd_requests() {
    let (target, port) = listener();
    let (endpoint, records) = endpoint(&format!("http://model.example:{port}/v1"), no_roots());
    let requests = [
        "CONNECT model.example:443 HTTP/1.1\r\n\r\n",
        "GET http://model.example/ HTTP/1.1\r\n\r\n",
        "GET * HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "GET /../admin HTTP/1.1\r\n\r\n",
        "GET /%2e%2e/admin HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nX: a\r\n b\r\n\r\n",
    ];
    let requests = requests.map(str::to_owned);
    let answers = answers(&requests, |listener| endpoint.serve(listener));
    for (request, answer) in requests.iter().zip(answers) {
        let is_upgrade = request.contains("Upgrade: ");
        let wanted = if is_upgrade { "426" } else { "400" };
        assert_eq!(status(&answer), wanted, "{answer}");
    }
    nobody_came(&target);
    let records: Vec<_> = records.iter().collect();
    assert_eq!(records.len(), requests.len());
    for record in records {
        assert_eq!((record.host.as_str(), record.port), ("model.example", port));
        assert!(matches!(record.verdict, EgressVerdict::Denied { .. }));
    }
}

#[test]
fn a_silent_model_does_not_outlast_its_worker() {
    let host = TestHost::new();
    let (target, port) = listener();
    let (endpoint, records) = endpoint(&format!("http://model.example:{port}"), no_roots());
    let script = r#"my $s = dial(); print $s "GET / HTTP/1.1\r\n\r\n"; $s->flush; sleep 1000"#;
    let (lifeline, mut child, serving) = start(&host, script, |listener| endpoint.serve(listener));
    let (mut peer, _) = target.accept().unwrap();
    assert!(read_head(&mut peer).contains(KEY));
    drop(lifeline);
    child.wait().unwrap();
    assert_eq!(peer.read(&mut [0]).unwrap(), 0);
    for _ in 0..3 {
        records.recv_timeout(PATIENCE).unwrap();
    }
    drop(serving);
}

#[test]
fn a_request_may_wait_for_a_word_and_come_in_chunks() {
    let host = TestHost::new();
    let (target, port) = listener();
    let (endpoint, _records) = endpoint(&format!("http://model.example:{port}"), no_roots());
    let script = r#"my $s = dial();
        print $s "POST / HTTP/1.1\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n";
        $s->flush; print head($s); print $s "5\r\nhello\r\n0\r\n\r\n"; $s->flush;
        local $/; print scalar <$s>"#;
    let (_lifeline, mut child, _serving) =
        start(&host, script, |listener| endpoint.serve(listener));
    let (mut peer, _) = target.accept().unwrap();
    let head = read_head(&mut peer);
    assert!(head.contains("Transfer-Encoding: chunked\r\n"), "{head}");
    assert!(!head.contains("Expect"), "{head}");
    assert_eq!(read_head(&mut peer), "5\r\nhello\r\n0\r\n\r\n");
    // Interim answers are not passed on.
    peer.write_all(b"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\nto the end")
        .unwrap();
    drop(peer);
    let ended = end(&mut child);
    assert_eq!(
        ended.stdout,
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end"
    );
}
