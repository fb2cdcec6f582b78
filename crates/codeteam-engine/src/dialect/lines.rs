//! What codeteam's own workers say: one JSON object a line.

use codeteam_core::budget::Usage;
use codeteam_core::failure::{Facts, Quota, Trouble};
use codeteam_core::ids::Account;
use codeteam_core::input::WorkerEnd;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::heard::{Heard, clipped};
use super::{Fold, Told};
use crate::process::{Exit, Line};

/// The fold of `codeteam agent`, whether it plays a script or asks a model.
pub(super) struct Lines {
    heard: Heard,
    account: Account,
}

impl Lines {
    pub(super) fn new(account: &Account) -> Self {
        Self {
            heard: Heard::default(),
            account: account.clone(),
        }
    }
}

/// One line of what the worker says. Flat, because a submission must be kept to the letter: core
/// refuses doubled keys, and any buffering in between would lose them.
#[derive(Deserialize)]
struct Said<'a> {
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
    trouble: Option<Trouble>,
    retry_after_ms: Option<u64>,
    resets_in_ms: Option<u64>,
    #[serde(borrow)]
    submission: Option<&'a RawValue>,
}

impl Fold for Lines {
    fn line(&mut self, line: &Line<'_>) -> Vec<Told> {
        let text = match self.heard.event(line) {
            Ok(text) => text,
            Err(told) => return told,
        };
        let Ok(said) = serde_json::from_str::<Said<'_>>(text) else {
            // Noise is kept in the transcript; it never becomes an answer.
            let text = line.text.to_string();
            return vec![Told::Noise { text }];
        };
        match said.kind {
            "started" => {
                self.heard.model = said.model;
                Vec::new()
            }
            "text" => vec![Told::Text { text: said.text }],
            "tool" => vec![Told::Tool {
                name: said.name,
                detail: said.detail,
            }],
            "file" => vec![Told::File { path: said.path }],
            "tool_result" => Vec::new(),
            "trace" => vec![Told::Text {
                text: format!("({}) {}", said.part, said.text),
            }]
            .into_iter()
            .filter(|_| !said.text.is_empty())
            .collect(),
            "usage" => vec![self.spent(&said)],
            "error" => vec![self.failed(&said)],
            "rate_limit" => {
                self.heard.quota = Some(Quota {
                    account: self.account.clone(),
                    resets_in_ms: said.resets_in_ms,
                    resets_at: None,
                });
                let message = "its usage limit is reached".to_owned();
                vec![Told::Limit { message }]
            }
            "submission" => {
                if let Some(json) = said.submission {
                    self.heard.submit(json.get().to_owned());
                }
                vec![Told::Final]
            }
            other => vec![Told::Unknown {
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

    fn finish(&mut self, exit: &Exit) -> WorkerEnd {
        self.heard.finish(exit)
    }
}

impl Lines {
    fn spent(&mut self, said: &Said<'_>) -> Told {
        let usage = Usage {
            input_tokens: said.input_tokens,
            cached_input_tokens: said.cached_input_tokens,
            output_tokens: said.output_tokens,
            cost_microusd: said.cost_microusd,
        };
        self.heard.usage.add(usage);
        Told::Usage { usage }
    }

    fn failed(&mut self, said: &Said<'_>) -> Told {
        let message = clipped(&said.message);
        self.heard.trouble = Some(Facts {
            message: message.clone(),
            http_status: said.status,
            trouble: said.trouble,
            retry_after_ms: said.retry_after_ms,
            ..Facts::default()
        });
        Told::Error { message }
    }
}
