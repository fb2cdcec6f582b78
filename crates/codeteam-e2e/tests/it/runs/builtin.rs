//! The built-in worker: every protocol, MCP servers, a search of the web, a plan first.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;

use codeteam_e2e::{Play, Protocol, Scenario, Turn};
use serde_json::json;

use super::project::Project;
use super::rounds::is_done;
use super::samples::{RIGHT, alone, one, two_rounds, written};

/// A project whose built-in worker speaks a protocol.
fn speaking(scenario: Scenario, protocol: &str, model: &str) -> Project {
    let project = Project::new(scenario);
    project.user_config(&format!(
        "workers: {{ builtin: {{ protocol: {protocol}, model: {model} }} }}\n"
    ));
    project
}

/// The two rounds in a protocol; every question goes to this path.
#[track_caller]
fn speaks(protocol: &str, model: &str, asked_in: Protocol, path: &str) {
    let project = speaking(two_rounds(), protocol, model);
    project
        .goal(&one("", ""), &["--worker", "builtin"])
        .expect(0);
    for request in &is_done(&project, asked_in) {
        assert_eq!(
            (request.method.as_str(), request.path.as_str()),
            ("POST", path)
        );
        assert_eq!(request.asked.as_ref().unwrap().model, model);
    }
}

#[test]
fn it_speaks_anthropic() {
    speaks("anthropic", "claude-x", Protocol::Anthropic, "/v1/messages");
}

#[test]
fn it_speaks_openai() {
    speaks(
        "openai",
        "local-model",
        Protocol::Chat,
        "/v1/chat/completions",
    );
}

#[test]
fn it_speaks_gemini() {
    let path = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse";
    speaks("gemini", "gemini-x", Protocol::Gemini, path);
}

/// An MCP server with one tool, which returns a motto.
const DESK: &str = r#"
import { createInterface } from "node:readline";
const tools = [{ name: "motto", description: "Tells the motto.",
                 inputSchema: { type: "object", properties: {} } }];
const answers = {
  initialize: (p) => ({ protocolVersion: p.protocolVersion, capabilities: { tools: {} },
                        serverInfo: { name: "desk", version: "1.0.0" } }),
  "tools/list": () => ({ tools }),
  "tools/call": () => ({ content: [{ type: "text", text: `the motto is ${process.env.MOTTO}` }] }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || !answers[method]) continue;
  console.log(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method](params) }));
}
"#;

#[test]
fn it_has_the_tools_of_the_mcp_servers_its_role_names() {
    let play = Play::new()
        .turn(Turn::new().call("desk__motto", json!({})))
        .turn(Turn::new().write("add.sh", RIGHT))
        .turn(written());
    let project = speaking(Scenario::new().play(play), "openai", "local-model");
    project.write("desk.mjs", DESK);
    project.config(
        "mcp_servers:\n  desk: { command: node, args: [desk.mjs], env: { MOTTO: measure twice } }\n",
    );
    project.run(&["trust", "--yes"]).expect(0);
    let workflow = alone("mcp_servers: [desk]", "");
    project.goal(&workflow, &["--worker", "builtin"]).expect(0);
    let asked = project.asked();
    let told = asked.iter().nth(1).unwrap().last_user_text();
    assert!(told.contains("the motto is measure twice"), "{told}");

    let project = speaking(
        Scenario::new().play(super::samples::writes(Play::new())),
        "openai",
        "m",
    );
    project.write("desk.mjs", DESK);
    project.config("mcp_servers:\n  desk: { command: node, args: [desk.mjs] }\n");
    project.run(&["trust", "--yes"]).expect(0);
    project
        .goal(&alone("", ""), &["--worker", "builtin"])
        .expect(0);
    let offered = project.asked().last().unwrap().tool_names();
    assert!(
        !offered.iter().any(|name| name.contains("motto")),
        "{offered:?}"
    );
}

/// A service that answers one search, and gives the whole request.
fn search_service() -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (mut request, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
            let is_last = line.trim().is_empty();
            request += &line;
            if is_last {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        request += &String::from_utf8(body).unwrap();
        let found = json!({"results": [{"title": "Sums", "url": "https://example.org/sums",
                                        "content": "Use a plus sign."}]})
        .to_string();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n{found}",
            found.len()
        )
        .unwrap();
        request
    });
    (url, served)
}

#[test]
fn it_searches_the_web_if_the_user_has_a_key_for_it() {
    let play = Play::new()
        .turn(Turn::new().call("web_search", json!({"query": "how to add"})))
        .turn(Turn::new().write("add.sh", RIGHT))
        .turn(written());
    let mut project = speaking(Scenario::new().play(play), "openai", "local-model");
    let (url, served) = search_service();
    project.set("TAVILY_API_KEY", "tvly-the-own-key");
    project.set("TAVILY_BASE_URL", url);
    project
        .goal(&alone("", ""), &["--worker", "builtin"])
        .expect(0);
    let request = served.join().unwrap();
    assert!(
        request.starts_with("POST /search HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(request.contains("Bearer tvly-the-own-key\r\n"), "{request}");
    assert!(request.contains("how to add"), "{request}");
    let asked = project.asked();
    let told = asked.iter().nth(1).unwrap().last_user_text();
    assert!(told.contains("Use a plus sign."), "{told}");
    assert!(asked.iter().all(|r| !r.body.to_string().contains("tvly")));

    let scenario = Scenario::new().play(super::samples::writes(Play::new()));
    let project = speaking(scenario, "openai", "local-model");
    project
        .goal(&alone("", ""), &["--worker", "builtin"])
        .expect(0);
    let offered = project.asked().last().unwrap().tool_names();
    assert!(!offered.contains(&"web_search".to_owned()), "{offered:?}");
}

#[test]
fn it_makes_a_plan_first_if_its_role_says_so() {
    let plan = json!({"steps": [{"thought": "nothing is there", "action": "write_file"}]});
    let scenario = Scenario::new()
        .play(
            Play::new()
                .says("first make a plan")
                .turn(Turn::say(&plan.to_string())),
        )
        .play(super::samples::writes(Play::new()));
    let project = speaking(scenario, "openai", "local-model");
    let workflow = alone("use_planner: true", "");
    project.goal(&workflow, &["--worker", "builtin"]).expect(0);
    assert_eq!(project.committed_file("add.sh"), RIGHT.trim_end());
    let asked = project.asked();
    let (first, second) = (&asked.0[0], &asked.0[1]);
    assert_eq!(first.tool_names(), Vec::<String>::new(), "it can only plan");
    let told = second.user_text();
    assert!(told.contains("1. write_file (nothing is there)"), "{told}");
}
