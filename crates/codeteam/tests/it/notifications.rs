//! Notifications: a real receiver checks the signature, and one that is down, slow or busy holds
//! nothing up.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

use crate::project::{CommandResult, Project};

/// A key as Standard Webhooks writes it.
const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A request as the receiver got it.
struct ReceivedRequest {
    headers: Vec<(String, String)>,
    body: String,
}

impl ReceivedRequest {
    fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    }
}

/// Answers requests in this order with these heads, and returns what it got.
fn receiver(answers: &'static [&'static str]) -> (String, JoinHandle<Vec<ReceivedRequest>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let mut received = Vec::new();
        for answer in answers {
            let (stream, _) = listener.accept().unwrap();
            received.push(read_request(&stream));
            let head =
                format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            (&stream).write_all(head.as_bytes()).unwrap();
        }
        received
    });
    (url, thread)
}

fn read_request(stream: &TcpStream) -> ReceivedRequest {
    let mut reader = BufReader::new(stream);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end() {
            "" => break,
            line => {
                if let Some((name, value)) = line.split_once(": ") {
                    headers.push((name.to_lowercase(), value.to_owned()));
                }
            }
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    ReceivedRequest {
        headers,
        body: String::from_utf8(body).unwrap(),
    }
}

fn notify_test(project: &Project, channels: &str) -> CommandResult {
    project.user_config(&format!("notify: {{ channels: {channels} }}\n"));
    let mut command = project.codeteam(&["notify", "test"]);
    command.env("HOOK_KEY", KEY);
    CommandResult::from(command.output().unwrap())
}

#[test]
fn a_webhook_is_signed_so_that_its_receiver_can_check_it() {
    let project = Project::new();
    let (url, thread) = receiver(&["200 OK"]);
    let channels = format!("{{ hook: {{ kind: webhook, url: '{url}', secret_env: HOOK_KEY }} }}");
    notify_test(&project, &channels).expect(0);
    let request = thread.join().unwrap().remove(0);
    let signed = format!(
        "{}.{}.{}",
        request.header("webhook-id"),
        request.header("webhook-timestamp"),
        request.body
    );
    let key = STANDARD
        .decode(KEY.strip_prefix("whsec_").unwrap())
        .unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let signature = request
        .header("webhook-signature")
        .strip_prefix("v1,")
        .unwrap();
    let signature = STANDARD.decode(signature).unwrap();
    hmac::verify(&key, signed.as_bytes(), &signature).unwrap();
    assert!(hmac::verify(&key, b"something else", &signature).is_err());
    let told: serde_json::Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!(told["type"], "codeteam.needs_you");
}

#[test]
fn a_busy_receiver_gets_the_same_message_again_and_a_refusal_is_final() {
    let project = Project::new();
    let busy = [
        "429 Too Many Requests\r\nretry-after: 0",
        "503 Busy",
        "204 No Content",
    ];
    let answers: &'static [&'static str] = Vec::from(busy).leak();
    let (url, thread) = receiver(answers);
    let channels = format!("{{ hook: {{ kind: webhook, url: '{url}', secret_env: HOOK_KEY }} }}");
    notify_test(&project, &channels).expect(0);
    let requests = thread.join().unwrap();
    assert_eq!(requests.len(), 3);
    assert_eq!(
        requests[0].header("webhook-id"),
        requests[2].header("webhook-id")
    );

    let (url, thread) = receiver(&["404 Not Found"]);
    let channels = format!("{{ chat: {{ kind: slack, url: '{url}' }} }}");
    let done = notify_test(&project, &channels).expect(1);
    assert!(
        done.stdout.contains("chat: the receiver answered 404"),
        "{}",
        done.stdout
    );
    assert!(thread.join().unwrap()[0].body.contains("\"blocks\""));
}

#[test]
fn a_receiver_that_is_down_or_silent_is_reported_without_its_url() {
    let project = Project::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}/secret-path", listener.local_addr().unwrap());
    let gone = TcpListener::bind("127.0.0.1:0").unwrap();
    let down = format!("http://{}/secret-path", gone.local_addr().unwrap());
    drop(gone);
    let channels = format!(
        "{{ silent: {{ kind: discord, url: '{silent}' }}, down: {{ kind: ntfy, url: '{down}' }}, unset: {{ kind: webhook, url: '{down}', secret_env: NOT_SET_HERE }} }}"
    );
    let done = notify_test(&project, &channels).expect(1);
    for line in [
        "silent: no answer within 5 s",
        "down: the receiver cannot be reached",
        "unset: the environment variable `NOT_SET_HERE` is not set",
    ] {
        assert!(done.stdout.contains(line), "{}", done.stdout);
    }
    assert!(!done.stdout.contains("secret-path"), "{}", done.stdout);
}

#[test]
fn channels_can_be_tried_one_by_one() {
    let project = Project::new();
    project
        .run(&["notify", "test"])
        .expect(2)
        .says(&["there are no channels"]);
    let note = project.home().join("note.json");
    let channels = format!(
        "{{ own: {{ kind: command, command: [ tee, {} ] }}, gone: {{ kind: command, command: [ no-such-program ] }} }}",
        note.display()
    );
    let done = notify_test(&project, &channels).expect(1);
    assert!(done.stdout.contains("own: delivered"), "{}", done.stdout);
    assert!(
        done.stdout
            .contains("gone: `no-such-program` was not found"),
        "{}",
        done.stdout
    );
    let told = std::fs::read_to_string(&note).unwrap();
    assert!(told.contains("A test of codeteam"), "{told}");
    let doctor = project.run(&["doctor"]).stdout;
    for line in [
        "`own` (command): last delivered ",
        "`gone` (command): nothing was delivered yet; last failed ",
        "`codeteam notify test gone` tries it again",
    ] {
        assert!(doctor.contains(line), "{line}\n{doctor}");
    }
    let unset = "notify: { channels: { team: { kind: slack, url_env: NO_SUCH_HOOK } } }\n";
    project.user_config(unset);
    let doctor = project.run(&["doctor"]).stdout;
    assert!(doctor.contains("set `NO_SUCH_HOOK`"), "{doctor}");
    project.user_config(&format!("notify: {{ channels: {channels} }}\n"));
    project.run(&["notify", "test", "own"]).expect(0);
    project.user_config("notify: { channels: { x: { kind: webhook, url: 'https://x' } } }\n");
    project
        .run(&["notify", "test"])
        .expect(2)
        .says(&["needs a `secret_env`"]);
}
