//! A server of the Model Context Protocol for the tests, written by hand: what it
//! says does not change with the library that is tested against it.

use std::io::{self, BufRead as _, Write as _};

use serde_json::{Value, json};

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let asked: Value = serde_json::from_str(&line?)?;
        // A notification wants no answer.
        let Some(id) = asked.get("id") else { continue };
        let answer = match asked["method"].as_str() {
            Some("initialize") => json!({"result": {
                "protocolVersion": asked["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "test", "version": "1"}}}),
            Some("tools/list") => json!({"result": {"tools": [
                {"name": "echo", "description": "Says it again", "inputSchema": {
                    "type": "object", "properties": {"text": {"type": "string"}},
                    "required": ["text"]}},
                {"name": "fail now", "inputSchema": {"type": "object"}},
                {"name": "where", "inputSchema": {"type": "object"}}]}}),
            Some("tools/call") => json!({"result": call(&asked["params"])?}),
            _ => json!({"error": {"code": -32601, "message": "unknown method"}}),
        };
        let mut answer = answer;
        answer["jsonrpc"] = "2.0".into();
        answer["id"] = id.clone();
        writeln!(io::stdout(), "{answer}")?;
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the environment is what the test asks for"
)]
fn call(params: &Value) -> io::Result<Value> {
    let text = match params["name"].as_str() {
        Some("echo") => {
            let argument = std::env::args().nth(1).unwrap_or_default();
            let variable = std::env::var("TWO").unwrap_or_default();
            let text = params["arguments"]["text"].as_str().unwrap_or_default();
            format!("{argument} {variable}: {text}")
        }
        Some("where") => std::env::current_dir()?.display().to_string(),
        _ => {
            return Ok(json!({"content": [{"type": "text", "text": "it failed"}],
                             "isError": true}));
        }
    };
    Ok(json!({"content": [{"type": "text", "text": text}]}))
}
