//! A key of the user's environment: used by a worker, seen by nobody.

use codeteam_engine::worker_clis::{CLAUDE, CODEX};

use codeteam_engine::workers::Worker;

use crate::bench::EngineFixture;
use crate::server::TestServer;

const KEY: &str = "sk-the-real-key";

/// Posts something to `$1`, and prints the answer's body.
const POST: &str = r#"
post() {
    perl -MIO::Socket::INET -e '
        my ($host, $path) = $ARGV[0] =~ m{^http://([^/]+)(.*)$} or die "odd: $ARGV[0]";
        my $socket = IO::Socket::INET->new($host) or die "no connection: $@";
        print $socket "POST $path HTTP/1.1\r\nhost: $host\r\nx-api-key: $ARGV[1]\r\n",
            "content-length: 2\r\n\r\nhi";
        my @lines = <$socket>;
        print $lines[-1];
    ' "$@"
}
"#;

#[test]
fn a_request_gets_the_key_on_its_way_and_nothing_inside_has_it() {
    let server = TestServer::start();
    let bench = EngineFixture::with(&[
        ("ANTHROPIC_API_KEY", KEY),
        ("ANTHROPIC_BASE_URL", &server.url),
    ]);
    let reach = bench.reach("claude", "w");
    // The pattern does not match itself, wherever the script may be found.
    let script = format!(
        r#"{POST}
        post "$ANTHROPIC_BASE_URL/v1/messages" "$ANTHROPIC_API_KEY"
        env | grep -e '-rea[l]-key'
        grep -rlaF -e '-real''-key' "$HOME" /tmp /run /etc . 2>/dev/null
        cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | grep -ac -e '-rea[l]-key'
        ls -A "$HOME"
        true"#
    );
    assert_eq!(bench.work(&reach, &script).said(), "hello\n0\n");
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(requests[0].starts_with("post /v1/messages http/1.1\r\n"));
    assert!(requests[0].contains(&format!("\r\nx-api-key: {KEY}\r\n")));
    assert!(!requests[0].contains("added-outside"), "{requests:?}");
    assert!(requests[0].ends_with("\r\n\r\nhi"), "{requests:?}");
    // With a key there is no login, and no way past the endpoint.
    assert!(reach.network.rules.find("api.anthropic.com", 443).is_none());
    assert!(!format!("{reach:?}").contains("-real-key"));
    assert_eq!(reach.release(), None);
    assert!(!bench.path("w").exists());
    assert!(bench.user(&CLAUDE).exists());
}

#[test]
fn a_cli_that_takes_an_option_is_told_by_one() {
    let server = TestServer::start();
    let gateway = format!("{}/codex", server.url);
    let bench = EngineFixture::with(&[("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", &gateway)]);
    let reach = bench.reach("codex", "w");
    let (option, url) = reach.base_url.clone().unwrap();
    assert_eq!(option, "openai_base_url");
    let script = format!(r#"{POST} post {url}/responses "$CODEX_API_KEY"; cat ~/.codex/*"#);
    let ended = bench.work(&reach, &script);
    assert_eq!(ended.stdout, "hello\n", "{ended:?}");
    assert!(ended.stderr.contains("No such file"), "{ended:?}");
    let request = &server.requests()[0];
    assert!(request.starts_with("post /codex/responses http/1.1\r\n"));
    assert!(request.contains(&format!("\r\nauthorization: bearer {KEY}\r\n")));
    assert!(bench.user(&CODEX).exists());
}

#[test]
fn a_server_that_cannot_be_asked_is_named_by_its_variable_alone() {
    let bench = EngineFixture::with(&[
        ("ANTHROPIC_API_KEY", KEY),
        ("ANTHROPIC_BASE_URL", "https://me:hush@gateway.example"),
    ]);
    let worker = Worker::find(&bench.engine.config, &"claude".into()).unwrap();
    let account = codeteam_host::process::NetworkLedger::default();
    let of = codeteam_engine::perform::WorkerAccess::for_worker;
    let error = of(&worker, None, &bench.engine, &bench.path("w"), account).unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(text.contains("ANTHROPIC_BASE_URL"), "{text}");
    assert!(!text.contains("hush"), "{text}");
}
