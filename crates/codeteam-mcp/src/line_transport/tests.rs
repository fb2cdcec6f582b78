//! Lines of all kinds, over streams in memory.

use rmcp::transport::Transport as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use super::*;

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(work)
}

/// A wire and its other end.
fn pair() -> (
    LineTransport<DuplexStream, DuplexStream>,
    DuplexStream,
    DuplexStream,
) {
    let (to_server, read) = tokio::io::duplex(1 << 16);
    let (write, from_server) = tokio::io::duplex(1 << 20);
    (LineTransport::new(read, write), to_server, from_server)
}

fn ping(id: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n")
}

/// What the server gets of some bytes, and what it answers by itself.
fn sent(bytes: Vec<u8>) -> (Vec<Value>, Vec<Value>) {
    run(async {
        let (mut wire, mut to, mut from) = pair();
        let writing = tokio::spawn(async move {
            to.write_all(&bytes).await.unwrap();
        });
        let mut received = Vec::new();
        while let Some(message) = wire.receive().await {
            received.push(serde_json::to_value(&message).unwrap());
        }
        writing.await.unwrap();
        if let Some(told) = wire.told.take() {
            told.await.unwrap();
        }
        wire.close().await.unwrap();
        drop(wire);
        let mut answers = String::new();
        from.read_to_string(&mut answers).await.unwrap();
        let answers = answers.lines().map(|l| serde_json::from_str(l).unwrap());
        (received, answers.collect())
    })
}

fn codes(answers: &[Value]) -> Vec<(i64, Value)> {
    let code = |a: &Value| (a["error"]["code"].as_i64().unwrap(), a["id"].clone());
    answers.iter().map(code).collect()
}

#[test]
fn what_is_no_message_is_answered_and_the_next_one_is_read() {
    let mut bytes = b"hello\n\n{\"a\":\n\xff\xfe\n[1,2]\n7\n".to_vec();
    bytes.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":5}\n");
    bytes.extend_from_slice(b"{\"jsonrpc\":\"1.0\",\"id\":\"x\",\"method\":\"ping\"}\n");
    bytes.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\n");
    bytes.extend_from_slice(&"[".repeat(100_000).into_bytes());
    bytes.push(b'\n');
    bytes.extend_from_slice(ping("1").as_bytes());
    bytes.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"meth");
    let (received, answers) = sent(bytes);
    assert_eq!(received.len(), 1, "{received:?}");
    assert_eq!(received[0]["id"], 1);
    let null = Value::Null;
    let expected = [
        (-32700, null.clone()),
        (-32700, null.clone()),
        (-32700, null.clone()),
        (-32600, null.clone()),
        (-32600, null.clone()),
        (-32600, 3.into()),
        (-32600, "x".into()),
        (-32600, null.clone()),
        (-32700, null),
    ];
    assert_eq!(codes(&answers), expected);
}

#[test]
fn a_line_that_is_too_long_is_not_kept_and_its_sender_is_told() {
    let long = "x".repeat(MAX_LINE);
    let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"{long}\"}}\n");
    let tail = format!("{{\"method\":\"{long}\",\"jsonrpc\":\"2.0\",\"id\":\"a-8\"}}\n");
    let neither = format!("{{\"jsonrpc\":\"2.0\",\"params\":{{\"x\":\"{long}\",\"id\":9}}}}\n");
    let bytes = [head, tail, neither, ping("1")].concat().into_bytes();
    let (received, answers) = sent(bytes);
    assert_eq!(received.len(), 1);
    let expected = [
        (-32600, 7.into()),
        (-32600, "a-8".into()),
        (-32600, Value::Null),
    ];
    assert_eq!(codes(&answers), expected);
}

#[test]
fn a_long_line_takes_no_memory() {
    run(async {
        let (mut wire, mut to, _from) = pair();
        let writing = tokio::spawn(async move {
            let part = vec![b'x'; 1 << 16];
            for _ in 0..4 * MAX_LINE / part.len() {
                to.write_all(&part).await.unwrap();
            }
        });
        assert!(wire.receive().await.is_none());
        writing.await.unwrap();
        assert!(wire.line.capacity() <= 2 * MAX_LINE);
        assert!(
            wire.long
                .is_some_and(|ends| ends.last.capacity() <= 4 * ENDS)
        );
    });
}

#[test]
fn no_more_is_read_than_can_be_answered() {
    run(async {
        let (mut wire, mut to, _from) = pair();
        let lines: String = (0..200).map(|id| ping(&id.to_string())).collect();
        to.write_all(lines.as_bytes()).await.unwrap();
        // Everything is there to be read already, so that what is not ready at once never will be.
        let next = async |wire: &mut LineTransport<_, _>| {
            tokio::time::timeout(std::time::Duration::ZERO, wire.receive())
                .await
                .ok()
        };
        let mut ids = Vec::new();
        while let Some(Some(JsonRpcMessage::Request(request))) = next(&mut wire).await {
            ids.push(request.id);
        }
        assert_eq!(ids.len(), MAX_WEIGHT);
        let answer =
            ServerJsonRpcMessage::error(ErrorData::internal_error("x", None), Some(ids[0].clone()));
        wire.send(answer).await.unwrap();
        assert!(next(&mut wire).await.is_some(), "there is room again");
        assert!(next(&mut wire).await.is_none());
    });
}

#[test]
fn an_id_is_used_once_at_a_time_and_cancelled_requests_make_room() {
    let cancel = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\
                  \"params\":{\"requestId\":1}}\n";
    let bytes = [&ping("1"), &ping("1"), cancel, &ping("1")].concat();
    let (received, answers) = sent(bytes.into_bytes());
    assert_eq!(received.len(), 3, "two requests and the cancellation");
    assert_eq!(codes(&answers), [(-32600, Value::Null)]);
}

#[test]
fn what_nobody_asked_for_is_ignored_and_ends_nothing() {
    let early = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n\
                 {\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}\n\
                 {\"jsonrpc\":\"2.0\",\"method\":\"textDocument/didOpen\",\"params\":7}\n";
    let (received, answers) = sent([early, &ping("1")].concat().into_bytes());
    assert_eq!(received.len(), 1);
    assert!(answers.is_empty(), "{answers:?}");
}
