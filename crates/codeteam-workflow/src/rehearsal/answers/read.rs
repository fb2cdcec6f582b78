//! Reads one key of `answers`: the step it is for, and the meaning of each of its words there.

use codeteam_core::ids::{RoleName, StepId};
use codeteam_core::role::{Contract, Role, RoleKind};
use codeteam_core::spelling::suggest_word;
use codeteam_core::workflow::{PersonAnswer, Step, StepKind};
use serde_json::{Value, json};

use super::{ABORT, ScriptEntry, ScriptedAct, ScriptedContent, ScriptedTurn};
use crate::language::CompiledWorkflow;
use crate::rehearsal::file::ScriptedAnswer;
use crate::rehearsal::forms::{self, AnswerInputs};
use crate::yaml::Diagnostic;

/// One key of `answers`, with the workflow it is for.
pub(super) struct AnswerReader<'a> {
    pub(super) compiled: &'a CompiledWorkflow,
    pub(super) scripted: &'a ScriptedAnswer,
}

impl AnswerReader<'_> {
    /// Reads and validates the scripted entry.
    pub(super) fn entry(&self) -> Result<ScriptEntry, Diagnostic> {
        let ScriptedAnswer {
            written,
            step,
            asked,
            frame,
            turns,
            ..
        } = self.scripted;
        let id = StepId(step.clone());
        let Some(step) = self.compiled.workflow.steps.get(&id) else {
            let known = self.compiled.workflow.steps.keys().map(StepId::as_str);
            let fault = self.fault(format!("the workflow has no step `{id}`"));
            return Err(fault.with_optional_hint(suggest_word(id.as_str(), known)));
        };
        let turns = turns.iter().map(|value| {
            if *asked {
                self.person(value, &[])
            } else {
                self.turn(step, value)
            }
        });
        Ok(ScriptEntry {
            written: written.clone(),
            turns: turns.collect::<Result<_, _>>()?,
            step: id,
            asked: *asked,
            frame: frame.clone(),
            used: 0,
        })
    }

    fn fault(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(self.scripted.place, message)
    }

    fn unknown(&self, value: &Value, of: &str, known: &str) -> Diagnostic {
        let message = format!(
            "`{}`: {value} is not something that {of} can do",
            self.written()
        );
        self.fault(message).with_hint(known)
    }

    fn written(&self) -> &str {
        &self.scripted.written
    }

    fn turn(&self, step: &Step, value: &Value) -> Result<ScriptedTurn, Diagnostic> {
        let word = scalar(value);
        let failure = value
            .get("fail")
            .and_then(scalar)
            .filter(|_| is_alone(value));
        match (&step.kind, word.as_deref()) {
            (StepKind::Role(role), _) => self.work(&role.slots, value).map(ScriptedTurn::Work),
            (StepKind::Person { answers, .. }, _) => self.person(value, answers),
            (StepKind::Each { .. }, _) => Err(self
                .fault(format!("`{}` goes through tasks or phases", self.written()))
                .with_hint("script the steps in it; `step@task` is for one task only")),
            (StepKind::Gate { .. }, Some("pass" | "ok"))
            | (StepKind::Commit { .. } | StepKind::Publish { .. }, Some("ok")) => {
                Ok(ScriptedTurn::Goes)
            }
            (StepKind::Gate { .. } | StepKind::Publish { .. }, Some("fail")) => {
                Ok(ScriptedTurn::Fails("it failed".to_owned()))
            }
            (StepKind::Gate { .. } | StepKind::Publish { .. }, None) if failure.is_some() => {
                Ok(ScriptedTurn::Fails(failure.unwrap_or_default()))
            }
            (StepKind::Commit { .. }, Some("conflict")) => Ok(ScriptedTurn::Conflicts),
            (StepKind::Gate { .. } | StepKind::Commit { .. }, Some("crash")) => {
                Ok(ScriptedTurn::Breaks)
            }
            (StepKind::Gate { .. }, _) => {
                let known = "`pass`, `fail`, `{ fail: what it said }` or `crash`";
                Err(self.unknown(value, "a gate", known))
            }
            (StepKind::Lock, _) => Err(self.fault(format!(
                "`{}` needs no answer: codeteam locks the interfaces itself",
                self.written()
            ))),
            (StepKind::Deliver { .. }, _) => Err(self.fault(format!(
                "`{}` needs no answer: codeteam delivers the commits itself",
                self.written()
            ))),
            (StepKind::Commit { .. }, _) => {
                Err(self.unknown(value, "a commit", "`ok`, `conflict` or `crash`"))
            }
            (StepKind::Publish { .. }, _) => {
                let known = "`ok`, `fail` or `{ fail: what it said }`";
                Err(self.unknown(value, "a command", known))
            }
        }
    }

    /// Reads a person's answer. `answers` are the ones that the step allows, if it is a person's
    /// step.
    fn person(&self, value: &Value, answers: &[PersonAnswer]) -> Result<ScriptedTurn, Diagnostic> {
        let (answer, note) = match value {
            Value::Object(fields) => {
                let known = |key: &&String| matches!(key.as_str(), "answer" | "note");
                let text = |key: &str| fields.get(key).and_then(scalar);
                if fields.keys().all(|key| known(&key)) {
                    (text("answer"), text("note").unwrap_or_default())
                } else {
                    (None, String::new())
                }
            }
            value => (scalar(value), String::new()),
        };
        let Some(answer) = answer else {
            let known = "the name of an answer, or `{ answer: name, note: text }`";
            return Err(self.unknown(value, "a person", known));
        };
        let names: Vec<&str> = answers.iter().map(|a| a.name.as_str()).collect();
        if !names.is_empty() && !names.contains(&answer.as_str()) && answer != ABORT {
            let known: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
            let message = format!("`{answer}` is not an answer to `{}`", self.written());
            return Err(self.fault(message).with_hint(known.join(", ")));
        }
        Ok(ScriptedTurn::Answers { answer, note })
    }

    /// Reads what the workers of a step do, by slot.
    fn work(&self, slots: &[RoleName], value: &Value) -> Result<Vec<ScriptedAct>, Diagnostic> {
        let roles: Vec<&Role> = slots
            .iter()
            .filter_map(|name| self.compiled.roles.get(name))
            .collect();
        let Some(first) = roles.first() else {
            return Err(self.fault(format!("`{}` has no role", self.written())));
        };
        let acts = match value.get("slots") {
            Some(Value::Array(each)) if is_alone(value) => {
                if each.len() > slots.len() {
                    let (has, said) = (slots.len(), each.len());
                    let message = format!("`{}` has {has} slots, not {said}", self.written());
                    return Err(self.fault(message));
                }
                let acts = each.iter().map(|value| self.act(first, value));
                acts.collect::<Result<Vec<ScriptedAct>, Diagnostic>>()?
            }
            _ => vec![self.act(first, value)?; slots.len()],
        };
        for (act, role) in acts.iter().zip(&roles) {
            self.check(act, role)?;
        }
        Ok(acts)
    }

    /// Checks that the contract of a role accepts what the worker is scripted to submit.
    fn check(&self, act: &ScriptedAct, role: &Role) -> Result<(), Diagnostic> {
        if matches!(
            act,
            ScriptedAct::Wrong | ScriptedAct::Crash | ScriptedAct::Empty
        ) {
            return Ok(());
        }
        let told = AnswerInputs {
            files: vec![("work.txt".to_owned(), Some("text".to_owned()))],
            ..AnswerInputs::default()
        };
        match forms::compose_answer(act, role.answer_form(), &told) {
            Ok(_) => Ok(()),
            Err(why) => {
                let message = format!(
                    "`{}` cannot be the answer of `{}`: {why}",
                    self.written(),
                    role.name
                );
                Err(self
                    .fault(message)
                    .with_hint("`wrong` is an answer that cannot be read"))
            }
        }
    }

    fn act(&self, role: &Role, value: &Value) -> Result<ScriptedAct, Diagnostic> {
        let kind = role.kind;
        if let Some(word) = scalar(value) {
            return self.word(kind, value, &word);
        }
        if let Some(act) = leading_act(role.contract, value) {
            return Ok(act);
        }
        let Value::Object(fields) = value else {
            return Err(self.unknown(value, kind.with_article(), &words(kind)));
        };
        let single = fields.iter().next().filter(|_| fields.len() == 1);
        let (key, inner) = single.map_or(("", &Value::Null), |(key, inner)| (key.as_str(), inner));
        let text = scalar(inner);
        let act = match (kind, key, text) {
            (_, "blocked", Some(why)) => ScriptedAct::Blocked(why),
            (RoleKind::Gatekeeper, "approve", Some(why)) => ScriptedAct::Approve(why),
            (RoleKind::Gatekeeper, "reject", Some(why)) => ScriptedAct::Reject(why),
            (RoleKind::Analyst, "ask", Some(question)) => ScriptedAct::Ask(vec![question]),
            (RoleKind::Analyst, "ask", None) => ScriptedAct::Ask(self.texts(inner)?),
            (RoleKind::Planner, "plan", None) => ScriptedAct::Plan(inner.clone()),
            (RoleKind::Implementer, "change", _) => ScriptedAct::Change(self.files(inner)?),
            _ => ScriptedAct::Says(value.clone()),
        };
        Ok(act)
    }

    fn word(&self, kind: RoleKind, value: &Value, word: &str) -> Result<ScriptedAct, Diagnostic> {
        Ok(match (kind, word) {
            (_, "ok") => ScriptedAct::Succeed,
            (_, "blocked") => ScriptedAct::Blocked("it cannot go on".to_owned()),
            (_, "crash") => ScriptedAct::Crash,
            (_, "wrong") => ScriptedAct::Wrong,
            (RoleKind::Implementer, "empty") => ScriptedAct::Empty,
            (RoleKind::Gatekeeper, "approve") => {
                ScriptedAct::Approve("nothing is wrong with it".to_owned())
            }
            (RoleKind::Gatekeeper, "reject") => ScriptedAct::Reject("it will not do".to_owned()),
            _ => return Err(self.unknown(value, kind.with_article(), &words(kind))),
        })
    }

    fn texts(&self, value: &Value) -> Result<Vec<String>, Diagnostic> {
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let texts: Option<Vec<String>> = items.iter().map(scalar).collect();
        texts
            .filter(|texts| !texts.is_empty())
            .ok_or_else(|| self.fault(format!("`{}` needs a list of texts", self.written())))
    }

    fn files(&self, value: &Value) -> Result<Vec<(String, ScriptedContent)>, Diagnostic> {
        let Value::Object(files) = value else {
            let paths = match scalar(value) {
                Some(path) => vec![path],
                None => self.texts(value)?,
            };
            return Ok(paths
                .into_iter()
                .map(|path| (path, ScriptedContent::Any))
                .collect());
        };
        let read = |text: &Value| match text {
            Value::Null => Some(ScriptedContent::Gone),
            text => scalar(text).map(ScriptedContent::Is),
        };
        let files: Option<Vec<(String, ScriptedContent)>> = files
            .iter()
            .map(|(path, text)| Some((path.clone(), read(text)?)))
            .collect();
        files.filter(|files| !files.is_empty()).ok_or_else(|| {
            let message = format!("`{}` must say which files change", self.written());
            self.fault(message)
                .with_hint("`change: [path]`, or `change: { path: text }`, `null` to remove one")
        })
    }
}

/// Reads what only those who lead a team can do: score, intervene, assign roles.
fn leading_act(contract: Contract, value: &Value) -> Option<ScriptedAct> {
    let (key, inner) = value
        .as_object()?
        .iter()
        .next()
        .filter(|_| is_alone(value))?;
    let words = scalar(inner);
    let says = match (contract, key.as_str(), words) {
        (Contract::Quality, "score", _) => {
            let points = inner
                .as_u64()
                .and_then(|points| u8::try_from(points).ok())?;
            return Some(ScriptedAct::Score(points));
        }
        (Contract::Intervention, "continue" | "retry" | "terminate", Some(why)) => {
            json!({ "intervention": key, "reason": why })
        }
        (Contract::Intervention, "enhance", Some(words)) => {
            json!({ "intervention": key, "reason": "it was unclear", "description": words })
        }
        (Contract::Intervention, "escalate", Some(role)) => json!({
            "intervention": key, "reason": "it needs help", "role": role,
            "request": "help with it",
        }),
        (Contract::Assembly, "assign", None) => {
            let one = |(task, roles): (&String, &Value)| {
                let roles = match roles {
                    Value::Array(roles) => roles.clone(),
                    role => vec![role.clone()],
                };
                json!({ "task": task, "roles": roles, "reason": "it fits" })
            };
            let assignments: Vec<Value> = inner.as_object()?.iter().map(one).collect();
            json!({ "assignments": assignments })
        }
        _ => return None,
    };
    Some(ScriptedAct::Says(says))
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn is_alone(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| fields.len() == 1)
}

fn words(kind: RoleKind) -> String {
    let own = match kind {
        RoleKind::Implementer => "`empty`, `{ change: [path] }`, ",
        RoleKind::Gatekeeper => {
            "`approve`, `reject`, `{ reject: why }`, `{ slots: [approve, reject] }`, `{ score: 64 }`, \
             `{ retry: why }`, `{ enhance: words }`, `{ escalate: role }`, `{ terminate: why }`, "
        }
        RoleKind::Analyst => "`{ ask: [question] }`, ",
        RoleKind::Planner => "`{ plan: { tasks: … } }`, ",
        RoleKind::Scribe => "`{ assign: { task: role } }`, ",
        RoleKind::Designer => "",
    };
    format!("{own}`ok`, `blocked`, `crash`, `wrong` or a submission")
}
