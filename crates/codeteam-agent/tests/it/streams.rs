//! Replies that arrive in pieces: what is shown of them, and what becomes of those that stop.

use std::io::{self, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use codeteam_agent::builtin::Protocol::{Anthropic, Gemini, Openai};
use serde_json::json;

use crate::job::AgentTest;
use crate::model::{CannedReply, calls, event_stream, read, stream_events, streamed_calls};

/// The longest time that a test waits for what does not come.
const PATIENCE: Duration = Duration::from_secs(20);

const SUBMIT: (&str, &str) = ("submit", r#"{"summary":"x"}"#);

/// A model that sends the beginning of a reply, and the rest when it may. Without a rest it stays
/// silent until the test is over. Returns its URL.
fn halting_model(beginning: String, rest: Option<String>, go_on: Receiver<()>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        read(&stream);
        let head =
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n";
        write!(stream, "{head}{beginning}").unwrap();
        match rest {
            Some(rest) if go_on.recv_timeout(PATIENCE).is_ok() => {
                write!(stream, "{rest}").unwrap();
            }
            Some(_) => {}
            None => drop(go_on.recv()),
        }
    });
    url
}

/// An output that says when it has a text.
struct WatchedOutput {
    written: String,
    awaited: &'static str,
    seen: Option<Sender<()>>,
}

impl Write for WatchedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written.push_str(std::str::from_utf8(bytes).unwrap());
        if self.written.contains(self.awaited)
            && let Some(seen) = self.seen.take()
        {
            let _ = seen.send(());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_text_is_shown_while_it_arrives() {
    for protocol in [Anthropic, Openai, Gemini] {
        // The first line is complete in the first half of the text.
        let text = "I read the file.\nThen I change it, and run it.";
        let events = stream_events(protocol, text, &[SUBMIT]);
        let first = events
            .iter()
            .position(|event| event.contains("I read"))
            .unwrap();
        let (beginning, rest) = events.split_at(first + 1);
        let (seen, go_on) = channel();
        let url = halting_model(event_stream(beginning), Some(event_stream(rest)), go_on);
        let mut out = WatchedOutput {
            written: String::new(),
            awaited: r#"{"type":"text","text":"I read the file."}"#,
            seen: Some(seen),
        };
        let code = AgentTest::new(protocol).run_into(&url, &mut out);
        assert_eq!(code, 0, "{protocol:?}: {}", out.written);
        let rest = r#"{"type":"text","text":"Then I change it, and run it."}"#;
        assert_eq!(out.written.matches(rest).count(), 1, "{}", out.written);
        assert_eq!(out.written.matches("I read").count(), 1, "{}", out.written);
    }
}

#[test]
fn a_model_that_falls_silent_in_the_middle_is_given_up() {
    let events = stream_events(Anthropic, "I read the file.\nThen", &[]);
    let (over, go_on) = channel();
    let url = halting_model(event_stream(&events[..4]), None, go_on);
    let mut out = Vec::new();
    let code = AgentTest::new(Anthropic)
        .with("stall_ms", 200)
        .run_into(&url, &mut out);
    drop(over);
    let out = String::from_utf8(out).unwrap();
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("the model has sent nothing for"), "{out}");
    // It is not asked again: whoever started the worker decides.
    assert!(!out.contains("asking again"), "{out}");
}

#[test]
fn a_reply_that_breaks_off_is_asked_for_again() {
    for protocol in [Anthropic, Openai, Gemini] {
        let events = stream_events(protocol, "I read the file.\nThen", &[]);
        let broken =
            CannedReply::ok(event_stream(&events[..3])).header("content-type", "text/event-stream");
        let ran =
            AgentTest::new(protocol).run(vec![broken, streamed_calls(protocol, "Now.", &[SUBMIT])]);
        assert_eq!(ran.code, 0, "{}", ran.output);
        let again = "(asking again in 0.0 s, 1 of 4: the connection to the model API failed: the \
                     answer broke off: it ended before the reply did)";
        assert!(ran.output.contains(again), "{protocol:?}: {}", ran.output);
    }
}

#[test]
fn an_error_in_the_middle_of_a_reply_is_one() {
    let mut events = stream_events(Openai, "I read", &[]);
    events.truncate(2);
    events.push(json!({"error": {"code": 503, "message": "the model was unloaded"}}).to_string());
    let broken = CannedReply::ok(event_stream(&events)).header("content-type", "text/event-stream");
    let ran = AgentTest::new(Openai).run(vec![broken, calls(Openai, "", &[SUBMIT])]);
    assert_eq!(ran.code, 0, "{}", ran.output);
    let again = "the model API says 503: the model was unloaded";
    assert!(ran.output.contains(again), "{}", ran.output);
}

#[test]
fn a_server_that_cannot_stream_is_asked_for_the_whole_reply() {
    for protocol in [Anthropic, Openai, Gemini] {
        let message = "`stream` is not supported here";
        let refused = CannedReply::status(400, json!({"error": {"message": message}}).to_string());
        let ran = AgentTest::new(protocol).run(vec![refused, calls(protocol, "Now.", &[SUBMIT])]);
        assert_eq!(ran.code, 0, "{}", ran.output);
        let streams = |at: usize| {
            let asked = &ran.asked[at];
            asked.body["stream"] == true || asked.path.contains("streamGenerateContent")
        };
        assert!(streams(0) && !streams(1), "{protocol:?}: {:?}", ran.asked);
        assert_eq!(ran.asked[1].body.get("stream_options"), None);
    }
}
