//! Hostile messages of a client: none of them ends the server, and nothing but the protocol comes
//! out.

use std::io::Read as _;

use serde_json::{Value, json};

use super::project;
use super::raw::RawClient;

fn still_serves(raw: &mut RawClient) {
    let answer = raw.ask("tools/list", json!({}));
    assert_eq!(answer["result"]["tools"].as_array().unwrap().len(), 6);
}

/// Kilobytes of memory that are a process's own.
fn memory(pid: u32) -> u64 {
    field(pid, "RssAnon:")
}

/// Something that the system says of a process, in KiB.
fn field(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|l| l.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn lines_that_are_no_messages_are_answered_with_errors() {
    let project = project();
    let mut raw = RawClient::silent(&project);
    // Before it was greeted, too.
    raw.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    raw.line("hello?");
    assert_eq!(raw.next()["error"]["code"], -32700);
    let early = raw.ask("tools/call", json!({"name": "get_status"}));
    assert!(early["error"]["code"].is_i64(), "{early}");
    let greeted = raw.greet();
    assert_eq!(greeted["result"]["serverInfo"]["name"], "codeteam");
    for (line, code) in [
        (b"\xff\xfe\xfd\n".to_vec(), -32700),
        (b"{\"jsonrpc\":\n".to_vec(), -32700),
        (b"[]\n".to_vec(), -32600),
        (format!("{}\n", "[".repeat(200_000)).into_bytes(), -32700),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}\n".to_vec(),
            -32600,
        ),
    ] {
        raw.bytes(&line);
        assert_eq!(raw.next()["error"]["code"], code);
    }
    for (method, params, code) in [
        ("no/such", json!({}), -32601),
        ("tools/call", json!({"name": 7}), -32602),
        ("tools/call", json!({"name": "rm", "arguments": {}}), -32602),
        (
            "tools/call",
            json!({"name": "start_task", "arguments": [1]}),
            -32602,
        ),
        ("prompts/get", json!({"name": "team"}), -32602),
        ("resources/read", json!({"uri": "codeteam://run/"}), -32002),
    ] {
        let answer = raw.ask(method, params);
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
    }
    // What a model can mend is told to it as an answer of the tool.
    let wrong = raw.call("submit", json!({"submission": 3}));
    assert_eq!(wrong["type"], "refused", "{wrong}");
    let why = wrong["errors"][0].as_str().unwrap();
    assert!(
        why.contains("at `submission`: it must be an object"),
        "{why}"
    );
    still_serves(&mut raw);
    raw.bytes(b"{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"tools/call\",\"para");
    let mut stderr = raw.child.stderr.take().unwrap();
    assert_eq!(raw.close(), 0, "half a message, and the end");
    let mut said = String::new();
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(said, "");
    assert!(!project.path(".codeteam/state.db").exists());
}

/// Another process chooses from the files of a repository, so the server stays small beside a
/// session.
#[test]
fn the_files_of_a_large_repository_are_not_held() {
    let project = project();
    for file in 0..64 {
        let words = (0..40_000).map(|word| format!("w{} ", (word * 7 + file) % 5_000));
        project.write(&format!("notes/{file}.md"), &words.collect::<String>());
    }
    project.commit("Notes");
    let mut raw = RawClient::new(&project);
    raw.call("get_status", json!({}));
    let before = memory(raw.child.id());
    let begun = raw.call("start_task", json!({"task": "Say more in notes/7.md"}));
    let read = begun["context"].as_array().unwrap();
    assert!(read.contains(&json!("notes/7.md")), "{begun}");
    let grown = memory(raw.child.id()).saturating_sub(before);
    assert!(grown < 4 << 10, "{grown} kB for 14 MB of notes");
}

#[test]
fn huge_arguments_are_refused_without_being_kept() {
    let project = project();
    let mut raw = RawClient::new(&project);
    raw.call("start_task", json!({"task": "Add a reset"}));
    let before = memory(raw.child.id());
    let part = vec![b'x'; 1 << 20];
    raw.bytes(br#"{"jsonrpc":"2.0","id":500,"method":"tools/call","params":{"x":""#);
    for _ in 0..64 {
        raw.bytes(&part);
    }
    raw.bytes(b"\"}}\n");
    let answer = raw.next();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(500), &json!(-32600))
    );
    let grown = memory(raw.child.id()).saturating_sub(before);
    assert!(
        grown < 32 << 10,
        "{grown} kB for 64 MB that were not wanted"
    );
    // As long as may be: read, and refused as an answer.
    let long = "y".repeat(3 << 20);
    let refused = raw.call("submit", json!({"submission": {"nonsense": long}}));
    assert_eq!(refused["type"], "refused");
    assert!(refused.to_string().contains("3145728 bytes"), "{refused}");
    assert!(refused.to_string().len() < 10_000);
    let refused = raw.call("start_task", json!({"task": long, "another": true}));
    assert!(refused.to_string().contains("3145728 bytes"), "{refused}");
    still_serves(&mut raw);
}

#[test]
fn ten_thousand_calls_at_once_are_all_answered() {
    let project = project();
    let mut raw = RawClient::new(&project);
    raw.call("start_task", json!({"task": "Add a reset"}));
    let pid = raw.child.id();
    let before = memory(pid);
    let call = |id: usize| {
        let name = if id.is_multiple_of(2) {
            "get_status"
        } else {
            "resume"
        };
        let arguments = if id.is_multiple_of(2) {
            json!({})
        } else {
            json!({"input": "yes"})
        };
        let params = json!({"name": name, "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": 1_000 + id, "method": "tools/call", "params": params})
    };
    let mut most = 0;
    // They are written while nobody reads, as far as the pipe takes them.
    std::thread::scope(|scope| {
        let mut input = raw.take_input();
        let writing = scope.spawn(move || {
            use std::io::Write as _;
            for id in 0..10_000 {
                writeln!(input, "{}", call(id)).unwrap();
            }
            input
        });
        let mut seen = vec![false; 10_000];
        for n in 0..10_000 {
            let answer = raw.next();
            let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap() - 1_000;
            assert!(answer["result"].is_object(), "{answer}");
            assert!(!std::mem::replace(&mut seen[id], true), "{id} twice");
            if n % 1_000 == 0 {
                most = most.max(memory(pid));
            }
        }
        raw.give_input(writing.join().unwrap());
    });
    let grown = most.saturating_sub(before);
    assert!(grown < 48 << 10, "{grown} kB");
    still_serves(&mut raw);
    let status: Value = raw.call("get_status", json!({}));
    assert_eq!(status["current_role"], "ba");
    assert_eq!(raw.close(), 0);
}

#[test]
fn calls_that_are_taken_back_at_once_do_not_pile_up() {
    let project = project();
    let mut raw = RawClient::new(&project);
    // Each begins another task, which takes its time; what follows waits for it.
    let long = "x".repeat(1 << 18);
    for id in 1000..2600 {
        let call = if id < 1060 {
            json!({"name": "start_task", "arguments": {"task": "Add it", "another": true}})
        } else {
            json!({"name": "resume", "arguments": {"input": long}})
        };
        let asked = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call});
        raw.line(&asked.to_string());
        let back = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id},
        });
        raw.line(&back.to_string());
    }
    still_serves(&mut raw);
    let most = field(raw.child.id(), "VmHWM:");
    assert!(most < 200 << 10, "{most} KiB");
}
