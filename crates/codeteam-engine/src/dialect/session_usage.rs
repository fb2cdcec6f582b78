//! Reads what a worker has used so far out of the files in which its CLI keeps its session.
//!
//! Codex and Gemini report their usage when they end. While they work, they write it into their own
//! session files: observed in codex 0.166.0 (`.codex/sessions/…/rollout-….jsonl`) and gemini 0.61.0
//! (`.gemini/tmp/…/chats/session-….jsonl`), one JSON object on each line. A CLI that writes these
//! files in another way is measured when it ends, as before.

use codeteam_core::budget::Usage;
use serde::Deserialize;

use super::DialectName;

/// What a line of a session file says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SessionUsage {
    /// The usage of the whole session up to here.
    Total(Usage),
    /// The usage of one message. A message may be written several times.
    Message {
        /// The id of the message.
        id: String,
        /// Its usage.
        usage: Usage,
    },
}

/// Returns true if the CLI of this dialect writes its usage into its session files.
pub(crate) fn writes_session_usage(dialect: DialectName) -> bool {
    matches!(dialect, DialectName::Codex | DialectName::Gemini)
}

/// Reads a line of a session file.
pub(crate) fn read_session_line(dialect: DialectName, line: &str) -> Option<SessionUsage> {
    match dialect {
        DialectName::Codex => read_codex_line(line),
        DialectName::Gemini => read_gemini_line(line),
        _ => None,
    }
}

#[derive(Deserialize)]
struct CodexLine {
    payload: CodexPayload,
}

#[derive(Deserialize)]
struct CodexPayload {
    r#type: String,
    info: Option<CodexTokenInfo>,
}

#[derive(Deserialize)]
struct CodexTokenInfo {
    total_token_usage: CodexTotal,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CodexTotal {
    #[serde(rename = "input_tokens")]
    input: u64,
    #[serde(rename = "cached_input_tokens")]
    cached: u64,
    #[serde(rename = "output_tokens")]
    output: u64,
}

fn read_codex_line(line: &str) -> Option<SessionUsage> {
    // Most lines are messages and long.
    if !line.contains("\"token_count\"") {
        return None;
    }
    let read: CodexLine = serde_json::from_str(line).ok()?;
    let info = read
        .payload
        .info
        .filter(|_| read.payload.r#type == "token_count")?;
    let total = info.total_token_usage;
    Some(SessionUsage::Total(Usage {
        input_tokens: total.input,
        cached_input_tokens: total.cached,
        output_tokens: total.output,
        cost_microusd: None,
    }))
}

#[derive(Deserialize)]
struct GeminiLine {
    id: String,
    tokens: GeminiTokens,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GeminiTokens {
    input: u64,
    cached: u64,
    output: u64,
    thoughts: u64,
}

fn read_gemini_line(line: &str) -> Option<SessionUsage> {
    if !line.contains("\"tokens\"") {
        return None;
    }
    let GeminiLine { id, tokens } = serde_json::from_str(line).ok()?;
    let usage = Usage {
        input_tokens: tokens.input,
        cached_input_tokens: tokens.cached,
        output_tokens: tokens.output + tokens.thoughts,
        cost_microusd: None,
    };
    Some(SessionUsage::Message { id, usage })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, cached: u64, output: u64) -> Usage {
        Usage {
            input_tokens: input,
            cached_input_tokens: cached,
            output_tokens: output,
            cost_microusd: None,
        }
    }

    #[test]
    fn codex_writes_the_total_after_each_answer() {
        // As codex 0.166.0 wrote them.
        let line = r#"{"timestamp":"2026-11-19T20:56:01.312Z","ordinal":20,"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":400,"cached_input_tokens":160,"cache_write_input_tokens":0,"output_tokens":60,"reasoning_output_tokens":0,"total_tokens":460},"last_token_usage":{"input_tokens":200,"cached_input_tokens":80,"cache_write_input_tokens":0,"output_tokens":30,"reasoning_output_tokens":0,"total_tokens":230},"last_usage_includes_reasoning":false,"model_context_window":258400},"rate_limits":null}}"#;
        let read = |line| read_session_line(DialectName::Codex, line);
        assert_eq!(read(line), Some(SessionUsage::Total(usage(400, 160, 60))));
        // It also tells how near the limits of the account are, without any usage.
        let limits =
            r#"{"type":"event_msg","payload":{"type":"token_count","info":null,"rate_limits":{}}}"#;
        for line in [limits, r#"{"type":"session_meta","payload":{}}"#, "{", ""] {
            assert_eq!(read(line), None, "{line}");
        }
        // What a model says is text in a line, and no line.
        let said =
            r#"{"type":"response_item","payload":{"type":"message","text":"\"token_count\""}}"#;
        assert_eq!(read(said), None);
    }

    #[test]
    fn gemini_writes_the_usage_of_each_message() {
        // As gemini 0.61.0 wrote it.
        let line = r#"{"id":"6b1acd43-32f8-4d00-be96-e4ea97c7e172","timestamp":"2026-11-19T20:56:21.455Z","type":"gemini","content":"I look at what is there.","thoughts":[],"tokens":{"input":1500,"output":40,"cached":1000,"thoughts":10,"tool":0,"total":1550},"model":"gemini-2.5-pro"}"#;
        let read = |line| read_session_line(DialectName::Gemini, line);
        let message = SessionUsage::Message {
            id: "6b1acd43-32f8-4d00-be96-e4ea97c7e172".to_owned(),
            usage: usage(1_500, 1_000, 50),
        };
        assert_eq!(read(line), Some(message));
        let set = r#"{"$set":{"lastUpdated":"2026-11-19T20:56:21.376Z"}}"#;
        for line in [set, r#"{"id":"a","type":"user","content":[]}"#, "{", ""] {
            assert_eq!(read(line), None, "{line}");
        }
        assert_eq!(read_session_line(DialectName::Claude, line), None);
    }
}
