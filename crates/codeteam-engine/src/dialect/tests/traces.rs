//! Traces of recorded streams of every worker.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use expect_test::{Expect, expect};

use crate::dialect::{DialectName, TraceBuilder};

/// Returns the trace of what a worker printed, a line for each step.
fn told(dialect: DialectName, printed: &str) -> String {
    let mut trace = TraceBuilder::new(60);
    for line in printed.lines() {
        if let Ok(event) = serde_json::from_str(line) {
            dialect.dialect().trace_event(&event, &mut trace);
        }
    }
    let (steps, left_out) = trace.finish();
    assert_eq!(left_out, 0);
    let mut text = String::new();
    for step in steps {
        let failed = if step.failed { " failed" } else { "" };
        let cut = if step.cut_bytes > 0 { "…" } else { "" };
        let _ = writeln!(
            text,
            "{}{failed} [{}] {:?}{cut}",
            step.kind.as_str(),
            step.tool,
            step.text
        );
    }
    text
}

fn check(dialect: DialectName, recorded: &str, expected: &Expect) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/dialect/recorded");
    let printed = fs::read_to_string(folder.join(recorded)).unwrap();
    expected.assert_eq(&told(dialect, &printed));
}

#[test]
fn claude_says_what_it_called_and_what_came_of_it() {
    check(
        DialectName::Claude,
        "claude-2.1.197/success.jsonl",
        &expect![[r#"
            message [] "I look at what is there."
            call [Read] "greeting.txt"
            result [Read] "1\thello world\n2"
            call [Write] "{\"file_path\":\"notes/new.txt\",\"content\":\"a new file\\n\"}"
            result [Write] "File created successfully at: notes/new.txt (file state is c"…
            message [] "Now the greeting."
            call [Edit] "{\"replace_all\":false,\"file_path\":\"greeting.txt\",\"old_string\""…
            result [Edit] "The file greeting.txt has been updated successfully. (file s"…
            call [Bash] "cat greeting.txt notes/new.txt"
            result [Bash] "hello team\na new file"
        "#]],
    );
    check(
        DialectName::Claude,
        "claude-2.1.197/failing-command.jsonl",
        &expect![[r#"
            call [Bash] "echo out; echo err >&2; exit 3"
            call [Read] "missing.txt"
            result failed [Bash] "Exit code 3\nout\nerr"
            result failed [Read] "File does not exist. Note: your current working directory is"…
        "#]],
    );
}

#[test]
fn codex_says_what_it_called_and_what_came_of_it() {
    check(
        DialectName::Codex,
        "codex-0.166.0/success.jsonl",
        &expect![[r#"
            message [] "I look at what is there."
            call [run] "/bin/bash -lc \"cat 'greeting.txt'\""
            result [run] "hello world"
            file [] "add /tree/notes/new.txt"
            message [] "Now the greeting."
            file [] "update /tree/greeting.txt"
            call [run] "/bin/bash -lc 'cat greeting.txt notes/new.txt'"
            result [run] "hello team\na new file"
            message [] "{\"summary\":\"greeted the team\",\"files\":[\"greeting.txt\",\"notes"…
        "#]],
    );
    check(
        DialectName::Codex,
        "codex-0.166.0/failing-command.jsonl",
        &expect![[r#"
            call [run] "/bin/bash -lc \"cat 'missing.txt'\""
            result failed [run] "cat: missing.txt: No such file or directory"
            call [run] "/bin/bash -lc 'echo out; echo err >&2; exit 3'"
            result failed [run] "out\nerr"
            message [] "{\"summary\":\"it failed\",\"files\":[]}"
        "#]],
    );
}

#[test]
fn gemini_says_what_it_called_and_what_came_of_it() {
    check(
        DialectName::Gemini,
        "gemini-0.61.0/success.jsonl",
        &expect![[r#"
            message [] "I look at what is there."
            call [read_file] "greeting.txt"
            result [read_file] ""
            call [write_file] "{\"file_path\":\"notes/new.txt\",\"content\":\"a new file\\n\"}"
            result [write_file] ""
            message [] "Now the greeting."
            call [replace] "{\"file_path\":\"greeting.txt\",\"old_string\":\"hello world\\n\",\"ne"…
            result [replace] ""
            call [run_shell_command] "cat greeting.txt notes/new.txt"
            result [run_shell_command] "hello team\na new file"
            message [] "```json\n{\n  \"summary\": \"greeted the team\",\n  \"files\": [\n    "…
        "#]],
    );
    check(
        DialectName::Gemini,
        "gemini-0.61.0/failing-command.jsonl",
        &expect![[r#"
            call [run_shell_command] "echo out; echo err >&2; exit 3"
            call [read_file] "missing.txt"
            result [run_shell_command] "out\nerr"
            result failed [read_file] "File not found: /tree/missing.txt"
            message [] "```json\n{\n  \"summary\": \"it failed\",\n  \"files\": []\n}\n```"
        "#]],
    );
}

#[test]
fn an_answer_is_no_call() {
    for (dialect, recorded) in [
        (DialectName::Claude, "claude-2.1.197/mcp-submit.jsonl"),
        (DialectName::Codex, "codex-0.166.0/mcp-submit.jsonl"),
        (DialectName::Gemini, "gemini-0.61.0/mcp-submit.jsonl"),
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/dialect/recorded");
        let printed = fs::read_to_string(folder.join(recorded)).unwrap();
        let told = told(dialect, &printed);
        assert!(told.contains("call"), "{recorded}: {told}");
        assert!(!told.contains("submit"), "{recorded}: {told}");
        assert!(!told.contains("accepted"), "{recorded}: {told}");
    }
}

#[test]
fn what_the_api_refused_is_an_error() {
    for (dialect, recorded) in [
        (DialectName::Claude, "claude-2.1.197/overloaded.jsonl"),
        (DialectName::Codex, "codex-0.166.0/overloaded.jsonl"),
        (DialectName::Gemini, "gemini-0.61.0/overloaded.jsonl"),
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/dialect/recorded");
        let printed = fs::read_to_string(folder.join(recorded)).unwrap();
        let told = told(dialect, &printed);
        assert!(told.contains("error [] "), "{recorded}: {told}");
    }
}

/// The lines of `codeteam agent`, which writes them itself.
#[test]
fn the_built_in_worker_says_what_it_planned_thought_and_did() {
    let printed = r#"{"type":"started","worker":"builtin","version":"0.1.0","model":"m"}
{"type":"trace","part":"planner","steps":[{"thought":"know it first","action":"read","input":{"path":"a.txt"}},{"thought":"","action":"say so"}],"duration_ms":7}
{"type":"tool","name":"read","detail":"a.txt"}
{"type":"tool_result","name":"read","ok":false,"detail":"there is no `a.txt`"}
{"type":"trace","part":"executor","iteration":1,"thought":"then make it","tool":"read","ok":false,"result_bytes":9,"duration_ms":1}
{"type":"file","path":"a.txt"}
{"type":"usage","input_tokens":1,"output_tokens":1,"cached_input_tokens":0,"model":"m"}
{"type":"trace","part":"quality","iterations":2,"tool_calls":1,"tool_errors":1,"mended":0,"score":80}
{"type":"error","message":"the API did not answer","status":529}
{"type":"submission","submission":{"summary":"done"}}
"#;
    expect![[r#"
        plan [] "1. read {\"path\":\"a.txt\"}: know it first\n2. say so:"
        call [read] "a.txt"
        result failed [read] "there is no `a.txt`"
        thought [] "then make it"
        file [] "a.txt"
        note [] "2 iterations, 1 tool calls, 1 of them failed, 0 answers sent"…
        error [] "the API did not answer"
    "#]]
    .assert_eq(&told(DialectName::Builtin, printed));
}

#[test]
fn events_of_another_form_say_nothing() {
    let strange = r#"{"type":7}
{"type":"assistant","message":{"content":"text"}}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":7,"name":null,"input":[1]}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":null,"content":{"a":1}}]}}
{"type":"item.completed","item":{"type":"file_change","changes":"all","status":"failed"}}
{"type":"item.completed"}
{"type":"tool_result","tool_id":{},"output":[]}
{"type":"trace","part":"planner","steps":{"a":1}}
[1,2]
"text"
"#;
    for dialect in DialectName::ALL {
        let told = told(dialect, strange);
        assert!(told.lines().count() < 9, "{told}");
    }
}
