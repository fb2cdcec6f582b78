//! The way out, from inside a sandbox: what the hosts at its end see.

mod endpoint;

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::process::Child;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use codeteam_sandbox::egress::{
    AllowedHost, EgressLog, EgressProxy, EgressRecord, EgressRules, EgressVerdict, NameResolver,
    PortServer, UserProxy,
};
use codeteam_sandbox::{Lifeline, SandboxProfile};

use crate::harness::{TestHost, end, spawn};

const PATIENCE: Duration = Duration::from_secs(20);
const PORT: u16 = 3128;
const KEY: &str = "the-real-key";

/// All names lead to the same addresses.
struct FixedResolver(Vec<IpAddr>);

impl NameResolver for FixedResolver {
    fn resolve(&self, _host: &str) -> io::Result<Vec<IpAddr>> {
        Ok(self.0.clone())
    }
}

fn home() -> Arc<dyn NameResolver> {
    Arc::new(FixedResolver(vec![Ipv4Addr::LOCALHOST.into()]))
}

/// A log, and what was written to it.
fn log() -> (EgressLog, mpsc::Receiver<EgressRecord>) {
    let (sender, records) = mpsc::channel();
    let log: EgressLog = Arc::new(move |record| {
        let _ = sender.send(record);
    });
    (log, records)
}

/// A proxy that allows these pairs, which may be private.
fn proxy(pairs: &[String]) -> (EgressProxy, mpsc::Receiver<EgressRecord>) {
    let rules: EgressRules = pairs
        .iter()
        .map(|pair| AllowedHost::parse(pair).unwrap().allow_private())
        .collect();
    let (log, records) = log();
    (EgressProxy::new(rules, log).with_resolver(home()), records)
}

fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[track_caller]
fn nobody_came(listener: &TcpListener) {
    listener.set_nonblocking(true).unwrap();
    let came = listener.accept().map(|(_, from)| from);
    assert_eq!(came.unwrap_err().kind(), ErrorKind::WouldBlock);
}

/// For all scripts: `ask` sends a request and returns all of the answer, and
/// `tunnel` a connection through the proxy.
const PERL: &str = r#"
    use IO::Socket::INET; $| = 1;
    sub dial { IO::Socket::INET->new("127.0.0.1:3128") or die "dial: $!" }
    sub ask { my $s = dial(); print $s @_; $s->flush; local $/; scalar <$s> }
    sub head { my ($s) = @_; my $head = "";
        while (defined(my $l = <$s>)) { $head .= $l; last if $l eq "\r\n" } $head }
    sub tunnel { my $s = dial(); print $s "CONNECT $_[0] HTTP/1.1\r\n\r\n"; $s->flush;
        my $head = head($s); $head =~ / 200 / or die $head; $s }
"#;

/// A worker that runs a script, with its only port served.
fn start(
    host: &TestHost,
    script: &str,
    serve: impl FnOnce(TcpListener) -> io::Result<PortServer>,
) -> (Lifeline, Child, PortServer) {
    let mut policy = host.policy(SandboxProfile::Worker);
    policy.ports = vec![PORT];
    let script = format!("{PERL}{script}");
    let confined = host.confine(SandboxProfile::Worker, policy, "perl", &["-e", &script]);
    let (lifeline, child) = spawn(&confined);
    let mut listeners = lifeline.receive_listeners(1, PATIENCE).unwrap();
    let serving = serve(listeners.remove(0)).unwrap();
    (lifeline, child, serving)
}

/// Sends each of the requests on a connection of its own, and returns the
/// answers.
fn answers(
    requests: &[String],
    serve: impl FnOnce(TcpListener) -> io::Result<PortServer>,
) -> Vec<String> {
    let host = TestHost::new();
    let mut script = String::new();
    for request in requests {
        let hex = request.bytes().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").unwrap();
            hex
        });
        writeln!(script, "print ask(pack('H*', '{hex}')), \"\\1\";").unwrap();
    }
    let (_lifeline, mut child, _serving) = start(&host, &script, serve);
    let ended = end(&mut child);
    let all = ended.stdout.strip_suffix('\u{1}');
    let all = all.unwrap_or_else(|| panic!("{ended:?}"));
    all.split('\u{1}').map(str::to_owned).collect()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

fn read_head(from: &mut impl Read) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && from.read(&mut byte).unwrap() > 0 {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

/// Requests that are not for `allowed.example` and that port, however they look,
/// and how they are answered.
fn refused(port: u16, other_port: u16) -> Vec<(String, &'static str)> {
    let connect = |to: &str| format!("CONNECT {to} HTTP/1.1\r\nHost: allowed.example\r\n\r\n");
    let get = |url: &str| format!("GET {url} HTTP/1.1\r\nHost: allowed.example:{port}\r\n\r\n");
    vec![
        (connect(&format!("evil.example:{port}")), "403"),
        (connect(&format!("allowed.example.evil:{port}")), "403"),
        (connect(&format!("evil.allowed.example:{port}")), "403"),
        (connect(&format!("xallowed.example:{port}")), "403"),
        (connect(&format!("allowed.example:{other_port}")), "403"),
        (connect(&format!("ALLOWED.example:{port}")), "403"),
        (connect(&format!("allowed.example.:{port}")), "403"),
        (connect(&format!("allowed.example@evil:{port}")), "403"),
        (connect(&format!("evil@allowed.example:{port}")), "403"),
        (connect(&format!("127.0.0.1:{port}")), "403"),
        (connect(&format!("127.1:{port}")), "403"),
        (connect(&format!("2130706433:{port}")), "403"),
        (connect(&format!("0x7f000001:{port}")), "403"),
        (connect(&format!("0177.0.0.1:{port}")), "403"),
        (connect(&format!("[::1]:{port}")), "403"),
        (connect(&format!("[::ffff:127.0.0.1]:{port}")), "403"),
        (connect(&format!("localhost:{port}")), "403"),
        (connect(&format!("evil\0.allowed.example:{port}")), "400"),
        (connect(&format!("allowed.example:{port}\0")), "400"),
        (connect(&format!("allowed.example:0{port}")), "400"),
        (connect(&format!("allowed.example:+{port}")), "400"),
        (
            connect(&format!("allowed.example:{port}:{other_port}")),
            "403",
        ),
        (connect("allowed.example"), "400"),
        (connect("allowed.example:"), "400"),
        (connect("allowed.example:99999"), "400"),
        (get(&format!("http://evil.example:{port}/")), "403"),
        (get(&format!("http://allowed.example:{other_port}/")), "403"),
        (get(&format!("http://127.0.0.1:{port}/")), "403"),
        (get("http://allowed.example/"), "403"),
        (
            get(&format!("http://allowed.example:{port}@evil.example/")),
            "400",
        ),
        (
            get(&format!("http://evil.example\\@allowed.example:{port}/")),
            "400",
        ),
        (get(&format!("https://allowed.example:{port}/")), "400"),
        (get("/"), "400"),
        (
            format!("GET http://allowed.example:{port}/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
            "400",
        ),
        (
            format!(
                "POST http://allowed.example:{port}/ HTTP/1.1\r\nContent-Length: 3\r\n\
                 Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            ),
            "400",
        ),
        (
            format!("CONNECT allowed.example:{port} HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"),
            "400",
        ),
        (
            format!("CONNECT allowed.example:{port} HTTP/1.1\n\n"),
            "400",
        ),
        (
            format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(20_000)),
            "400",
        ),
        ("\u{16}\u{3}\u{1} hello\r\n\r\n".to_owned(), "400"),
    ]
}

#[test]
fn only_exact_pairs_pass() {
    let (target, port) = listener();
    let (other, other_port) = listener();
    let (proxy, records) = proxy(&[format!("allowed.example:{port}")]);
    let refused = refused(port, other_port);
    let requests: Vec<_> = refused.iter().map(|(request, _)| request.clone()).collect();
    let answers = answers(&requests, |listener| proxy.serve(listener));
    for ((request, wanted), answer) in refused.iter().zip(&answers) {
        assert_eq!(status(answer), *wanted, "{request:?}: {answer}");
        assert!(answer.contains("codeteam's sandbox"), "{answer}");
    }
    let told = format!("codeteam's sandbox refused `evil.example:{port}`: ");
    assert!(answers[0].contains(&told), "{}", answers[0]);
    nobody_came(&target);
    nobody_came(&other);
    // Nothing is refused without a record of it.
    let records: Vec<_> = records.iter().collect();
    assert_eq!(records.len(), refused.len());
    for (record, number) in records.iter().zip(1..) {
        assert!(
            matches!(record.verdict, EgressVerdict::Denied { .. }),
            "{record:?}"
        );
        assert_eq!(record.connection, number);
        assert!(record.host.len() <= 255);
        assert!(
            record.host.bytes().all(|byte| byte.is_ascii_graphic()),
            "{record:?}"
        );
    }
    assert_eq!(
        (records[0].host.as_str(), records[0].port),
        ("evil.example", port)
    );
}

#[test]
fn an_allowed_name_cannot_lead_to_a_private_address() {
    // All addresses of this host, in both families where there are two.
    let target = TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0"));
    let target = target.unwrap();
    let port = target.local_addr().unwrap().port();
    for address in [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "169.254.169.254",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "100.64.0.1",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "fd00::1",
        "fe80::1",
    ] {
        let rules = [format!("rebind.example:{port}")];
        let rules = rules
            .iter()
            .map(|pair| AllowedHost::parse(pair).unwrap())
            .collect();
        let (log, records) = log();
        let lead = Arc::new(FixedResolver(vec![address.parse().unwrap()]));
        let proxy = EgressProxy::new(rules, log).with_resolver(lead);
        let requests = [
            format!("CONNECT rebind.example:{port} HTTP/1.1\r\n\r\n"),
            format!("GET http://rebind.example:{port}/ HTTP/1.1\r\n\r\n"),
        ];
        for answer in answers(&requests, |listener| proxy.serve(listener)) {
            assert_eq!(status(&answer), "403", "{address}: {answer}");
            assert!(
                answer.contains("its name leads to no public address"),
                "{answer}"
            );
            assert!(!answer.contains(address), "{answer}");
        }
        let records: Vec<_> = records.iter().collect();
        assert_eq!(records.len(), 2);
        for record in records {
            let EgressVerdict::Denied { why } = record.verdict else {
                panic!("{record:?}");
            };
            assert!(why.contains(address), "{why}");
        }
    }
    nobody_came(&target);
}

#[test]
fn an_allowed_pair_is_reached_and_half_closed() {
    let host = TestHost::new();
    let (target, port) = listener();
    let pair = format!("allowed.example:{port}");
    let (proxy, records) = proxy(std::slice::from_ref(&pair));
    let server = thread::spawn(move || {
        let (mut peer, _) = target.accept().unwrap();
        let mut asked = String::new();
        peer.read_to_string(&mut asked).unwrap();
        write!(peer, "you said {asked}").unwrap();
    });
    // What is sent before the answer came is not lost.
    let script = format!(
        r#"my $s = dial(); print $s "CONNECT {pair} HTTP/1.1\r\n\r\nhe"; $s->flush;
           print head($s); print $s "llo"; shutdown($s, 1); local $/; print scalar <$s>;"#
    );
    let (_lifeline, mut child, serving) = start(&host, &script, |listener| proxy.serve(listener));
    let ended = end(&mut child);
    let wanted = "HTTP/1.1 200 Connection established\r\n\r\nyou said hello";
    assert_eq!(ended.stdout, wanted, "{ended:?}");
    server.join().unwrap();
    drop(serving);
    let verdicts: Vec<_> = records.iter().map(|record| record.verdict).collect();
    let address = (Ipv4Addr::LOCALHOST, port).into();
    assert_eq!(
        verdicts,
        [
            EgressVerdict::Allowed { address },
            EgressVerdict::Ended { up: 5, down: 14 }
        ]
    );
}

#[test]
fn records_can_be_kept() {
    let record = EgressRecord {
        connection: 1,
        host: "a.example".to_owned(),
        port: 443,
        verdict: EgressVerdict::Ended { up: 1, down: 2 },
    };
    let text = serde_json::to_string(&record).unwrap();
    let wanted =
        r#"{"connection":1,"host":"a.example","port":443,"verdict":{"ended":{"up":1,"down":2}}}"#;
    assert_eq!(text, wanted);
    assert_eq!(serde_json::from_str::<EgressRecord>(&text).unwrap(), record);
}

#[test]
fn a_plain_request_is_rewritten_and_nothing_follows_it() {
    let (target, port) = listener();
    let pair = format!("allowed.example:{port}");
    let (proxy, records) = proxy(std::slice::from_ref(&pair));
    let server = thread::spawn(move || {
        let (mut peer, _) = target.accept().unwrap();
        let head = read_head(&mut peer);
        let mut body = [0; 3];
        peer.read_exact(&mut body).unwrap();
        peer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: 5\r\n\r\nok")
            .unwrap();
        let mut rest = String::new();
        peer.read_to_string(&mut rest).unwrap();
        nobody_came(&target);
        (head, body, rest)
    });
    let request = format!(
        "POST http://{pair}/path?query HTTP/1.1\r\nHost: evil.example\r\nX-Own: 1\r\n\
         Proxy-Authorization: x\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc\
         GET http://{pair}/second HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    );
    let answers = answers(&[request], |listener| proxy.serve(listener));
    let wanted = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    assert_eq!(answers, [wanted]);
    let (head, body, rest) = server.join().unwrap();
    let wanted = format!(
        "POST /path?query HTTP/1.1\r\nHost: {pair}\r\nX-Own: 1\r\nContent-Length: 3\r\n\
         Connection: close\r\n\r\n"
    );
    assert_eq!((head, &body, rest.as_str()), (wanted, b"abc", ""));
    assert_eq!(records.iter().count(), 2);
}

#[test]
fn a_host_that_does_not_answer_is_a_failure() {
    let (target, port) = listener();
    drop(target);
    let pair = format!("allowed.example:{port}");
    let (proxy, records) = proxy(std::slice::from_ref(&pair));
    let request = format!("CONNECT {pair} HTTP/1.1\r\n\r\n");
    let answers = answers(&[request], |listener| proxy.serve(listener));
    assert_eq!(status(&answers[0]), "502", "{answers:?}");
    assert!(answers[0].contains("could not reach"), "{answers:?}");
    let records: Vec<_> = records.iter().collect();
    assert!(
        matches!(&records[..], [EgressRecord { verdict: EgressVerdict::Failed { why }, .. }]
        if why.contains("refused"))
    );
}

#[test]
fn there_is_no_way_past_the_proxy() {
    let host = TestHost::new();
    let (target, port) = listener();
    let (proxy, _records) = proxy(&[format!("allowed.example:{port}")]);
    let script = format!(
        r#"for my $peer ("127.0.0.1:{port}", "192.0.2.1:443", "169.254.169.254:80") {{
            print IO::Socket::INET->new(PeerAddr => $peer, Timeout => 1) ? "connected" : "$!", "\n";
        }}"#
    );
    let (_lifeline, mut child, _serving) = start(&host, &script, |listener| proxy.serve(listener));
    let unreachable = "Network is unreachable\n".repeat(2);
    assert_eq!(
        end(&mut child).stdout,
        format!("Connection refused\n{unreachable}")
    );
    nobody_came(&target);

    let alone = format!("{PERL} print IO::Socket::INET->new('127.0.0.1:{PORT}') ? 1 : \"$!\"");
    let ended = host.run(
        SandboxProfile::Worker,
        host.policy(SandboxProfile::Executor),
        "perl",
        &["-e", &alone],
    );
    assert_eq!(ended.stdout, "Connection refused");
}

/// Answers every connection with what comes over it.
fn echo(target: TcpListener, count: usize) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        thread::scope(|scope| {
            for _ in 0..count {
                let (peer, _) = target.accept().unwrap();
                scope.spawn(move || io::copy(&mut &peer, &mut &peer));
            }
        });
    })
}

#[test]
fn many_connections_are_served_at_once_but_not_more() {
    let host = TestHost::new();
    let (target, port) = listener();
    let pair = format!("allowed.example:{port}");
    let (proxy, records) = proxy(std::slice::from_ref(&pair));
    let server = echo(target, 128);
    let script = format!(
        r#"my @all = map {{ tunnel("{pair}") }} 1 .. 128;
           print substr(ask("CONNECT {pair} HTTP/1.1\r\n\r\n"), 0, 12), "\n";
           for (0 .. $#all) {{ my $s = $all[$_]; print $s "line $_\n"; $s->flush }}
           my $right = grep {{ my $s = $all[$_]; <$s> eq "line $_\n" }} 0 .. $#all;
           print "$right\n";"#
    );
    let (_lifeline, mut child, serving) = start(&host, &script, |listener| proxy.serve(listener));
    let ended = end(&mut child);
    assert_eq!(ended.stdout, "HTTP/1.1 503\n128\n", "{ended:?}");
    server.join().unwrap();
    drop(serving);
    let records: Vec<_> = records.iter().collect();
    let count = |is: fn(&EgressVerdict) -> bool| {
        records.iter().filter(|record| is(&record.verdict)).count()
    };
    assert_eq!(
        count(|verdict| matches!(verdict, EgressVerdict::Allowed { .. })),
        128
    );
    assert_eq!(
        count(|verdict| matches!(verdict, EgressVerdict::Ended { .. })),
        128
    );
    assert_eq!(
        count(|verdict| matches!(verdict, EgressVerdict::Denied { .. })),
        1
    );
}

#[test]
fn killing_the_sandbox_ends_what_it_was_doing() {
    let host = TestHost::new();
    let (target, port) = listener();
    let pair = format!("allowed.example:{port}");
    let (proxy, records) = proxy(std::slice::from_ref(&pair));
    // One that sends for ever, and one that only listens.
    let server = thread::spawn(move || {
        let (mut sending, _) = target.accept().unwrap();
        let (mut listening, _) = target.accept().unwrap();
        let endless = [7; 4096];
        while sending.write_all(&endless).is_ok() {}
        // Reset or closed, both are an end.
        while listening.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {}
    });
    let script = format!(
        r#"my ($a, $b) = (tunnel("{pair}"), tunnel("{pair}")); print $b "hello"; $b->flush;
           read $a, my $x, 100_000; print "running\n"; sleep 1000;"#
    );
    let (lifeline, mut child, serving) = start(&host, &script, |listener| proxy.serve(listener));
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "running\n");
    drop(lifeline);
    child.wait().unwrap();
    // Of themselves, while the proxy is still there.
    server.join().unwrap();
    for _ in 0..4 {
        records.recv_timeout(PATIENCE).unwrap();
    }
    drop(serving);
    assert_eq!(records.iter().count(), 0);
}

#[test]
fn stopping_the_proxy_ends_all_connections() {
    let host = TestHost::new();
    let (target, port) = listener();
    let pair = format!("allowed.example:{port}");
    let (proxy, records) = proxy(std::slice::from_ref(&pair));
    let script = format!(
        r#"my $half = dial(); print $half "CONN"; $half->flush;
           my $s = tunnel("{pair}"); print "open\n"; local $/; <$s>; <$half>;
           1 while IO::Socket::INET->new("127.0.0.1:3128"); print "$!\n";"#
    );
    let (_lifeline, mut child, serving) = start(&host, &script, |listener| proxy.serve(listener));
    let (mut peer, _) = target.accept().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    drop(serving);
    // All threads are gone, and with them the log.
    assert_eq!(records.iter().count(), 3);
    assert_eq!(peer.read(&mut [0]).unwrap_or(0), 0);
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "open\nConnection refused\n");
    child.wait().unwrap();
}

#[test]
fn the_users_own_proxy_is_used() {
    let (target, port) = listener();
    let (log, records) = log();
    let rules = [AllowedHost::parse("allowed.example").unwrap()];
    let through = UserProxy::parse(&format!("http://me:secret@proxy.example:{port}")).unwrap();
    let proxy = EgressProxy::new(rules.into_iter().collect(), log)
        .with_resolver(home())
        .through_proxy(through);
    let (inside, inner) = listener();
    let _serving = proxy.serve(inside).unwrap();
    let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, inner)).unwrap();
    client
        .write_all(b"CONNECT allowed.example:443 HTTP/1.1\r\n\r\n")
        .unwrap();
    let (mut peer, _) = target.accept().unwrap();
    let wanted = "CONNECT allowed.example:443 HTTP/1.1\r\nHost: allowed.example:443\r\n\
                  Proxy-Authorization: Basic bWU6c2VjcmV0\r\n\r\n";
    assert_eq!(read_head(&mut peer), wanted);
    peer.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello").unwrap();
    drop(peer);
    assert!(read_head(&mut client).contains(" 200 "));
    client.shutdown(std::net::Shutdown::Write).unwrap();
    let mut said = String::new();
    client.read_to_string(&mut said).unwrap();
    assert_eq!(said, "hello");
    let address = (Ipv4Addr::LOCALHOST, port).into();
    let verdict = records.recv_timeout(PATIENCE).unwrap().verdict;
    assert_eq!(verdict, EgressVerdict::Allowed { address });

    let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, inner)).unwrap();
    client
        .write_all(b"CONNECT allowed.example:443 HTTP/1.1\r\n\r\n")
        .unwrap();
    let (mut peer, _) = target.accept().unwrap();
    read_head(&mut peer);
    peer.write_all(b"HTTP/1.1 407 No\r\n\r\n").unwrap();
    assert!(read_head(&mut client).contains(" 502 "));
}
