//! The output of codeteam's own workers: one JSON object per line.

pub(super) mod trace;

use codeteam_core::budget::Usage;
use codeteam_core::failure::{FailureCause, FailureFacts, ReachedQuota};
use codeteam_core::ids::Account;
use codeteam_core::input::WorkerOutcome;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::fold_state::{FoldState, clipped};
use super::{OutputFold, WorkerEvent};
use codeteam_host::process::{CommandExit, OutputLine};

/// The fold of `codeteam agent`, whether it plays a script or asks a model.
pub(super) struct AgentFold {
    heard: FoldState,
    account: Account,
}

impl AgentFold {
    pub(super) fn new(account: &Account) -> Self {
        Self {
            heard: FoldState::default(),
            account: account.clone(),
        }
    }
}

/// One line of the worker's output. The type is flat, because a submission must be preserved
/// exactly: core refuses duplicate keys, and any buffering in between would lose them.
#[derive(Deserialize)]
struct AgentEvent<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(default)]
    text: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    part: String,
    model: Option<String>,
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    cached_input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    cost_microusd: Option<u64>,
    #[serde(default)]
    message: String,
    status: Option<u16>,
    trouble: Option<FailureCause>,
    retry_after_ms: Option<u64>,
    resets_in_ms: Option<u64>,
    #[serde(borrow)]
    submission: Option<&'a RawValue>,
}

impl OutputFold for AgentFold {
    fn line(&mut self, line: &OutputLine<'_>) -> Vec<WorkerEvent> {
        let text = match self.heard.extract_event(line) {
            Ok(text) => text,
            Err(told) => return told,
        };
        let Ok(said) = serde_json::from_str::<AgentEvent<'_>>(text) else {
            // Noise is kept in the transcript; it never becomes an answer.
            let text = line.text.to_string();
            return vec![WorkerEvent::Noise { text }];
        };
        match said.kind {
            "started" => {
                self.heard.model = said.model;
                Vec::new()
            }
            "text" => vec![WorkerEvent::Text { text: said.text }],
            "tool" => vec![WorkerEvent::Tool {
                name: said.name,
                detail: said.detail,
            }],
            "file" => vec![WorkerEvent::File { path: said.path }],
            "tool_result" => Vec::new(),
            "trace" => vec![WorkerEvent::Text {
                text: format!("({}) {}", said.part, said.text),
            }]
            .into_iter()
            .filter(|_| !said.text.is_empty())
            .collect(),
            "usage" => vec![self.note_usage(&said)],
            "error" => vec![self.note_failure(&said)],
            "rate_limit" => {
                self.heard.quota = Some(ReachedQuota {
                    account: self.account.clone(),
                    resets_in_ms: said.resets_in_ms,
                    resets_at: None,
                });
                let message = "its usage limit is reached".to_owned();
                vec![WorkerEvent::Limit { message }]
            }
            "submission" => {
                if let Some(json) = said.submission {
                    self.heard.submit(json.get().to_owned());
                }
                vec![WorkerEvent::Final]
            }
            other => vec![WorkerEvent::Unknown {
                event: other.to_owned(),
            }],
        }
    }

    fn usage(&self) -> Usage {
        self.heard.usage
    }

    fn model(&self) -> Option<&str> {
        self.heard.model.as_deref()
    }

    fn session(&self) -> Option<&str> {
        None
    }

    fn finish(&mut self, exit: &CommandExit) -> WorkerOutcome {
        self.heard.finish(exit)
    }
}

impl AgentFold {
    fn note_usage(&mut self, said: &AgentEvent<'_>) -> WorkerEvent {
        let usage = Usage {
            input_tokens: said.input_tokens,
            cached_input_tokens: said.cached_input_tokens,
            output_tokens: said.output_tokens,
            cost_microusd: said.cost_microusd,
        };
        self.heard.usage.add(usage);
        WorkerEvent::Usage { usage }
    }

    fn note_failure(&mut self, said: &AgentEvent<'_>) -> WorkerEvent {
        let message = clipped(&said.message);
        self.heard.trouble = Some(FailureFacts {
            message: message.clone(),
            http_status: said.status,
            trouble: said.trouble,
            retry_after_ms: said.retry_after_ms,
            ..FailureFacts::default()
        });
        WorkerEvent::Error { message }
    }
}
