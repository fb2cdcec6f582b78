//! Explains a worker's failure to a person.

use codeteam_core::event::HostTraffic;
use codeteam_core::failure::{
    FailureAction, FailureCategory, FailureCause, FailureFacts, FailureStage, classify,
};

use crate::clock::now;
use crate::model_api::ApiProtocol;
use crate::workers::Worker;

/// A failure explained to a person: its category, what happened, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureAdvice {
    /// The category of the failure.
    pub category: FailureCategory,
    /// The cause.
    pub why: String,
    /// The remedy.
    pub remedy: String,
}

impl FailureAdvice {
    /// Explains a worker's failure, considering its network connections.
    pub fn from_facts(worker: &Worker, facts: &FailureFacts, hosts: &[HostTraffic]) -> Self {
        let (category, action) = classify(facts);
        let (why, said) = match (facts.stage, facts.trouble) {
            // These messages are codeteam's own and contain both parts.
            (FailureStage::Spawn, Some(_)) => {
                let parts = facts.message.split_once("; ");
                parts.unwrap_or((&facts.message, ""))
            }
            _ => (facts.message.as_str(), ""),
        };
        let is_cut_off =
            hosts.iter().any(|host| host.failed > 0) && hosts.iter().all(|host| host.received == 0);
        let remedy = if is_cut_off {
            unreachable_remedy(worker)
        } else if said.is_empty() {
            remedy(worker, facts, action)
        } else {
            said.to_owned()
        };
        let why = why.to_owned();
        Self {
            category,
            why,
            remedy,
        }
    }
}

const CUT_OFF: &str = "see whether this machine is online; `codeteam doctor` reports what can be reached from where workers run";

/// Returns what to do about an unreachable API. A server that the user has named may simply not be
/// running.
fn unreachable_remedy(worker: &Worker) -> String {
    match &worker.base_url {
        Some(url) => format!("see whether the server at `{url}` is running, and listens there"),
        None => CUT_OFF.to_owned(),
    }
}

/// Returns what to do about an API whose answers the built-in worker cannot use.
fn api_remedy(worker: &Worker, facts: &FailureFacts) -> String {
    let (name, lower) = (&worker.name, facts.message.to_lowercase());
    if lower.contains("tool") {
        return format!(
            "this model cannot call tools: give its roles `mode: edits`, or name another one in \
             `workers.{name}.model`"
        );
    }
    let api = match worker.protocol {
        Some(ApiProtocol::Anthropic) => "Anthropic's Messages",
        Some(ApiProtocol::Gemini) => "Gemini's `generateContent`",
        Some(ApiProtocol::Openai) | None => "OpenAI's Chat Completions",
    };
    format!(
        "the server there does not speak {api}: see `workers.{name}.base_url`, which often ends in \
         `/v1`, and `workers.{name}.protocol`"
    )
}

fn remedy(worker: &Worker, facts: &FailureFacts, action: FailureAction) -> String {
    let name = &worker.name;
    if let Some(quota) = &facts.quota {
        let until = codeteam_report::describe::format_future_time(quota.rests_until(now()));
        return format!(
            "wait until {until}, or use a worker with another account than `{}`",
            quota.account
        );
    }
    let log_in = || {
        if let (Some(_), None) = (&worker.base_url, &worker.key) {
            return format!(
                "name the variable that has its key: `workers.{name}.key: VARIABLE`, in your own \
                 configuration; no other key is sent to a server of yours"
            );
        }
        let cli = worker.cli();
        cli.map_or_else(
            || "set its key".to_owned(),
            |cli| crate::workers::login_instructions(cli, worker),
        )
    };
    let model = format!("name another model with `--model`, or in `workers.{name}.model`");
    match (facts.stage, facts.trouble, facts.http_status) {
        (FailureStage::TimedOut | FailureStage::Stalled, ..) => {
            "give it longer with `--timeout`".to_owned()
        }
        (_, Some(FailureCause::Login), _) | (_, None, Some(401 | 403)) => log_in(),
        (_, None, Some(404)) if is_lost(worker, facts) => api_remedy(worker, facts),
        (_, Some(FailureCause::Protocol), _) => api_remedy(worker, facts),
        (_, None, Some(404))
        | (
            _,
            Some(
                FailureCause::Model
                | FailureCause::Refusal
                | FailureCause::Turns
                | FailureCause::Cost
                | FailureCause::Tokens
                | FailureCause::Loop
                | FailureCause::Length,
            ),
            _,
        ) => model,
        (_, Some(FailureCause::Missing | FailureCause::Version), _) => {
            match worker.dialect.dialect().requirements() {
                Some(needs) => format!("`npm install -g {}`", needs.package),
                None => "install codeteam anew".to_owned(),
            }
        }
        (_, Some(FailureCause::Billing), _) => {
            "check the account's billing; waiting does not help".to_owned()
        }
        (_, Some(FailureCause::Unreachable), _) => unreachable_remedy(worker),
        (_, None, Some(429 | 500..=599)) => "try again later".to_owned(),
        (FailureStage::BadAnswer | FailureStage::NoAnswer, ..) => {
            format!("`-v` shows its output; if it happens again, {model}")
        }
        _ if action == FailureAction::RetrySame => "try again later".to_owned(),
        _ => "`-v` shows its output".to_owned(),
    }
}

/// Returns true if a server of the user's has nothing at the requested path, which says nothing
/// about the model.
fn is_lost(worker: &Worker, facts: &FailureFacts) -> bool {
    let said = facts.message.to_lowercase();
    let said = said.trim_start_matches("the model api says");
    let names_model = said.contains("model");
    worker.base_url.is_some() && !names_model
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::workers::probe;

    fn failure(worker: &str, facts: &FailureFacts) -> FailureAdvice {
        let worker = Worker::find(&Config::default(), &worker.into()).unwrap();
        FailureAdvice::from_facts(&worker, facts, &[])
    }

    #[test]
    fn every_failure_says_what_to_do() {
        let told = probe::unusable_program(
            FailureCause::Missing,
            "`codex` is not installed; `npm install -g @openai/codex` installs it".to_owned(),
        );
        let FailureAdvice {
            category,
            why,
            remedy,
        } = failure("codex", &told);
        assert_eq!(category, FailureCategory::Cli);
        assert_eq!(why, "`codex` is not installed");
        assert_eq!(remedy, "`npm install -g @openai/codex` installs it");

        let of = |stage, trouble, http_status| FailureFacts {
            stage,
            trouble,
            http_status,
            message: "words; more words".to_owned(),
            ..FailureFacts::default()
        };
        for (facts, category, remedy) in [
            (
                of(FailureStage::Worker, Some(FailureCause::Login), None),
                FailureCategory::Cli,
                "log in with `claude auth login`, or set `ANTHROPIC_API_KEY`",
            ),
            (
                of(FailureStage::Worker, None, Some(401)),
                FailureCategory::Cli,
                "log in with `claude auth login`",
            ),
            (
                of(FailureStage::TimedOut, None, None),
                FailureCategory::Network,
                "--timeout",
            ),
            (
                of(FailureStage::Worker, Some(FailureCause::Model), None),
                FailureCategory::Cli,
                "`workers.claude.model`",
            ),
            (
                of(FailureStage::Worker, Some(FailureCause::Unreachable), None),
                FailureCategory::Network,
                "`codeteam doctor`",
            ),
            (
                of(FailureStage::Worker, None, Some(503)),
                FailureCategory::Network,
                "later",
            ),
            (
                of(FailureStage::Worker, Some(FailureCause::Billing), None),
                FailureCategory::Resource,
                "billing",
            ),
            (
                of(FailureStage::BadAnswer, None, None),
                FailureCategory::Validation,
                "`-v`",
            ),
        ] {
            let failure = failure("claude", &facts);
            assert_eq!(failure.category, category, "{facts:?}");
            assert!(failure.remedy.contains(remedy), "{failure:?}");
            assert_eq!(
                failure.why, "words; more words",
                "a worker's words stay whole"
            );
        }
    }

    #[test]
    fn a_worker_that_is_cut_off_is_told_from_one_that_is_refused() {
        let facts = FailureFacts {
            http_status: Some(502),
            ..FailureFacts::default()
        };
        let worker = Worker::find(&Config::default(), &"claude".into()).unwrap();
        let remedy = |failed, received| {
            let host = HostTraffic {
                failed,
                received,
                ..HostTraffic::default()
            };
            FailureAdvice::from_facts(&worker, &facts, &[host]).remedy
        };
        assert!(remedy(1, 0).contains("online"));
        assert_eq!(remedy(0, 10), "try again later");
    }

    #[test]
    fn a_server_of_ones_own_has_remedies_of_its_own() {
        let mut worker = Worker::find(&Config::default(), &"builtin".into()).unwrap();
        worker.base_url = Some("http://127.0.0.1:9921".to_owned());
        worker.protocol = Some(ApiProtocol::Openai);
        let of = |status, trouble, message: &str| {
            let facts = FailureFacts {
                http_status: status,
                trouble,
                message: message.to_owned(),
                ..FailureFacts::default()
            };
            FailureAdvice::from_facts(&worker, &facts, &[]).remedy
        };
        for (status, trouble, message, remedy) in [
            (
                Some(401),
                None,
                "the key is wrong",
                "`workers.builtin.key: VARIABLE`",
            ),
            (
                Some(404),
                None,
                "the model API says 404: Not Found",
                "often ends in `/v1`",
            ),
            (
                Some(404),
                None,
                "there is no model `x`",
                "name another model",
            ),
            (
                None,
                Some(FailureCause::Unreachable),
                "refused",
                "`http://127.0.0.1:9921` is running",
            ),
            (
                Some(400),
                Some(FailureCause::Protocol),
                "it does not support tools",
                "`mode: edits`",
            ),
            (
                None,
                Some(FailureCause::Protocol),
                "<html>",
                "OpenAI's Chat Completions",
            ),
        ] {
            let told = of(status, trouble, message);
            assert!(told.contains(remedy), "{message}: {told}");
        }
    }

    #[test]
    fn a_usage_limit_names_its_account_and_its_end() {
        let facts = FailureFacts {
            quota: Some(codeteam_core::failure::ReachedQuota {
                account: "work".into(),
                resets_in_ms: Some(60_000),
                resets_at: None,
            }),
            ..FailureFacts::default()
        };
        let failure = failure("claude", &facts);
        assert_eq!(failure.category, FailureCategory::Resource);
        assert!(failure.remedy.starts_with("wait until "), "{failure:?}");
        assert!(failure.remedy.contains("`work`"), "{failure:?}");
    }
}
