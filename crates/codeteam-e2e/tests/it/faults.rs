//! Every fault, in every protocol it has.

use codeteam_e2e::{Fault, FaultKind, ModelServer, Play, Scenario, Turn};
use serde_json::{Value, json};

use crate::client::{HttpReply, PendingReply, post, start};
use crate::{anthropic, chat, gemini, responses};

/// Each protocol's path and question, streamed.
fn streamed() -> [(&'static str, Value); 4] {
    [
        (
            "/v1/messages",
            anthropic::question(true, &anthropic::asked()),
        ),
        (
            "/v1/responses",
            responses::question(true, &responses::asked()),
        ),
        ("/v1/chat/completions", chat::question(true, &chat::asked())),
        (gemini::STREAM, gemini::question(&gemini::asked())),
    ]
}

fn server(fault: Fault) -> ModelServer {
    let turn = Turn::say("All went well in the end.").fault(fault);
    ModelServer::start(Scenario::new().play(Play::new().turn(turn))).unwrap()
}

fn replies(fault: Fault) -> [HttpReply; 4] {
    let server = server(fault);
    let replies = streamed().map(|(path, question)| post(&server, path, &question));
    server.assert_no_problems();
    replies
}

fn went_well(reply: &HttpReply) -> bool {
    // The text comes in pieces; its last word is in one of them.
    reply.status == 200 && reply.complete && reply.body.contains("end.")
}

#[test]
fn errors_have_each_providers_status_and_words() {
    let table: [(FaultKind, [u16; 4], [&str; 4]); 5] = [
        (
            FaultKind::RateLimit,
            [429, 429, 429, 429],
            [
                "rate_limit_error",
                "rate_limit_exceeded",
                "rate_limit_exceeded",
                "PerMinute",
            ],
        ),
        (
            FaultKind::ServerError,
            [500, 500, 500, 500],
            ["api_error", "server_error", "server_error", "INTERNAL"],
        ),
        (
            FaultKind::Overloaded,
            [529, 503, 503, 503],
            [
                "overloaded_error",
                "server_is_overloaded",
                "server_is_overloaded",
                "UNAVAILABLE",
            ],
        ),
        (
            FaultKind::Unauthorized,
            [401, 401, 401, 400],
            [
                "authentication_error",
                "invalid_api_key",
                "invalid_api_key",
                "API_KEY_INVALID",
            ],
        ),
        (
            FaultKind::UnknownModel,
            [404, 400, 400, 404],
            [
                "model: claude-x",
                "model_not_found",
                "model_not_found",
                "models/gemini-x is not found",
            ],
        ),
    ];
    for (kind, statuses, words) in table {
        for ((reply, status), word) in replies(Fault::new(kind)).iter().zip(statuses).zip(words) {
            assert_eq!(reply.status, status, "{kind:?}: {}", reply.body);
            assert!(reply.json()["error"].is_object());
            assert!(reply.body.contains(word), "{kind:?}: {}", reply.body);
            assert_eq!(reply.header("retry-after"), None);
        }
    }
}

#[test]
fn a_rate_limit_may_say_when_to_try_again() {
    for reply in replies(Fault::new(FaultKind::RateLimit).retry_after(7)) {
        assert_eq!(reply.header("retry-after"), Some("7"));
    }
    let google = &replies(Fault::new(FaultKind::RateLimit).retry_after(7))[3];
    assert!(
        google.body.contains(r#""retryDelay":"7s""#),
        "{}",
        google.body
    );
}

#[test]
fn usage_limits_say_when_they_reset() {
    let [anthropic, responses, chat, gemini] =
        replies(Fault::new(FaultKind::UsageLimit).resets_in(100));
    let header = |name: &str| anthropic.header(name).unwrap().to_owned();
    assert_eq!(anthropic.status, 429);
    assert_eq!(header("anthropic-ratelimit-unified-status"), "rejected");
    let reset: u64 = header("anthropic-ratelimit-unified-reset").parse().unwrap();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    assert!(
        (now..=now + 100).contains(&reset),
        "{reset} is soon after {now}"
    );
    for reply in [responses, chat] {
        let error = &reply.json()["error"];
        assert_eq!(error["type"], "usage_limit_reached");
        assert_eq!(error["resets_in_seconds"], 100);
    }
    let details = &gemini.json()["error"]["details"];
    assert!(
        details[0]["violations"][0]["quotaId"]
            .as_str()
            .unwrap()
            .contains("PerDay")
    );
    assert_eq!(details[1]["retryDelay"], "100s");
}

#[test]
fn an_empty_account_is_told_from_a_limit() {
    let [anthropic, responses, chat, gemini] = replies(Fault::new(FaultKind::Quota));
    assert!(anthropic.body.contains("credit balance is too low"));
    assert_eq!(anthropic.status, 400);
    for reply in [responses, chat] {
        assert_eq!(reply.json()["error"]["code"], "insufficient_quota");
    }
    assert_eq!(gemini.json()["error"]["status"], "RESOURCE_EXHAUSTED");
}

#[test]
fn a_fault_is_given_as_often_as_it_says() {
    let server = server(Fault::new(FaultKind::Overloaded).times(2));
    let question = |task: &str| {
        let said = format!("Task: {task}");
        anthropic::question(true, &json!([{"role": "user", "content": said}]))
    };
    let status = |task: &str| post(&server, "/v1/messages", &question(task)).status;
    assert_eq!([status("a"), status("a")], [529, 529]);
    // Each assignment has its own faults.
    assert_eq!(status("b"), 529);
    assert_eq!([status("a"), status("a")], [200, 200]);
    assert_eq!([status("b"), status("b")], [529, 200]);
    let faults = server
        .requests()
        .filtered(|request| request.fault == Some(FaultKind::Overloaded));
    assert_eq!(faults.len(), 4);
}

#[test]
fn a_cut_comes_before_the_answer() {
    let cut = server(Fault::new(FaultKind::Cut));
    for (path, question) in streamed() {
        assert!(start(&cut, path, &question).reply().is_none(), "{path}");
    }
    let once = server(Fault::new(FaultKind::Cut).times(1));
    let (path, question) = &streamed()[0];
    assert!(start(&once, path, question).reply().is_none());
    assert!(went_well(&post(&once, path, question)));
}

#[test]
fn a_cut_stream_ends_in_the_middle() {
    for reply in replies(Fault::new(FaultKind::CutStream)) {
        assert_eq!(reply.status, 200);
        assert!(!reply.complete, "{}", reply.body);
        assert!(!reply.body.is_empty());
        assert!(!reply.body.contains("end."), "{}", reply.body);
    }
    let server = server(Fault::new(FaultKind::CutStream));
    let whole = anthropic::question(false, &anthropic::asked());
    let reply = post(&server, "/v1/messages", &whole);
    assert!(!reply.complete && !reply.body.is_empty());
}

/// Asks in every protocol at once, and gives what to read the replies from.
fn asking(server: &ModelServer) -> Vec<PendingReply> {
    let questions = streamed().into_iter();
    questions
        .map(|(path, question)| start(server, path, &question))
        .collect()
}

#[test]
fn what_is_held_goes_on_when_it_is_released() {
    for kind in [FaultKind::Hold, FaultKind::Stall] {
        let server = server(Fault::new(kind).gate("here"));
        let asking = asking(&server);
        assert!(server.wait_held("here", 4));
        server.release("elsewhere");
        assert!(server.wait_held("here", 4), "another gate is another gate");
        server.release("here");
        for asking in asking {
            assert!(went_well(&asking.reply().unwrap()), "{kind:?}");
        }
        assert!(server.wait_held("here", 0));
        // An open gate stays open.
        let (path, question) = &streamed()[0];
        assert!(went_well(&post(&server, path, question)));
    }
}

#[test]
fn a_client_that_goes_is_waited_for_no_longer() {
    for kind in [FaultKind::Hold, FaultKind::Stall] {
        let server = server(Fault::new(kind));
        let asking = asking(&server);
        assert!(server.wait_held("gate", 4));
        drop(asking);
        assert!(server.wait_held("gate", 0), "{kind:?}");
    }
}

#[test]
fn a_bad_stream_has_a_piece_that_is_no_json() {
    for reply in replies(Fault::new(FaultKind::BadStream)) {
        assert!(reply.complete);
        let events = reply.raw_events().into_iter();
        let bad = events
            .filter(|(_, data)| *data != "[DONE]")
            .filter(|(_, data)| serde_json::from_str::<Value>(data).is_err());
        assert_eq!(bad.count(), 1, "{}", reply.body);
    }
}

#[test]
fn a_bad_answer_is_json_that_breaks_off() {
    let turn = Turn::submit(json!({"a": 1})).fault(Fault::new(FaultKind::BadAnswer));
    let server = ModelServer::start(Scenario::new().play(Play::new().turn(turn))).unwrap();
    let said = post(&server, gemini::WHOLE, &gemini::question(&gemini::asked())).json();
    let text = said["candidates"][0]["content"]["parts"][0]["text"]
        .as_str()
        .unwrap();
    assert!(
        text.starts_with("```json\n{") && !text.contains('}'),
        "{text}"
    );
}

#[test]
fn a_refusal_is_told_in_each_providers_way() {
    let server = server(Fault::new(FaultKind::Refusal));
    let whole = |path: &str, question: Value| post(&server, path, &question).json();

    let said = whole(
        "/v1/messages",
        anthropic::question(false, &anthropic::asked()),
    );
    assert_eq!(said["stop_reason"], "refusal");
    let said = whole(
        "/v1/responses",
        responses::question(false, &responses::asked()),
    );
    assert_eq!(said["output"][0]["content"][0]["type"], "refusal");
    let said = whole(
        "/v1/chat/completions",
        chat::question(false, &chat::asked()),
    );
    assert_eq!(said["choices"][0]["message"]["content"], Value::Null);
    assert!(said["choices"][0]["message"]["refusal"].is_string());
    let said = whole(gemini::WHOLE, gemini::question(&gemini::asked()));
    assert_eq!(said["candidates"][0]["finishReason"], "SAFETY");
    assert_eq!(said["candidates"][0]["content"], Value::Null);

    let [anthropic, responses, chat, gemini] = replies(Fault::new(FaultKind::Refusal));
    assert!(anthropic.body.contains(r#""stop_reason":"refusal""#));
    assert!(responses.body.contains("event: response.refusal.done"));
    assert!(chat.body.contains(r#""delta":{"refusal":"#));
    assert!(gemini.body.contains(r#""finishReason":"SAFETY""#));
}
