//! Reads one key of `answers`: which step it is for, and what each of its words means there.

use serde_json::Value;

use super::{ABORT, Act, Entry, Text, Turn};
use crate::ids::{RoleName, StepId};
use crate::rehearse::file::Scripted;
use crate::rehearse::forms::{self, Told};
use crate::role::{Kind, Role};
use crate::workflow::{Answer, Compiled, Step, StepKind};
use crate::yaml::{Fault, meant};

/// One key of `answers`, with the workflow it is for.
pub(super) struct Reading<'a> {
    pub(super) compiled: &'a Compiled,
    pub(super) scripted: &'a Scripted,
}

impl Reading<'_> {
    /// What is scripted, if all of it makes sense.
    pub(super) fn entry(&self) -> Result<Entry, Fault> {
        let Scripted {
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
            return Err(fault.maybe(meant(id.as_str(), known)));
        };
        let turns = turns.iter().map(|value| {
            if *asked {
                self.person(value, &[])
            } else {
                self.turn(step, value)
            }
        });
        Ok(Entry {
            written: written.clone(),
            turns: turns.collect::<Result<_, _>>()?,
            step: id,
            asked: *asked,
            frame: frame.clone(),
            used: 0,
        })
    }

    fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::at(self.scripted.place, message)
    }

    fn unknown(&self, value: &Value, of: &str, known: &str) -> Fault {
        let message = format!("`{}`: {value} is nothing that {of} can do", self.written());
        self.fault(message).hint(known)
    }

    fn written(&self) -> &str {
        &self.scripted.written
    }

    fn turn(&self, step: &Step, value: &Value) -> Result<Turn, Fault> {
        let word = scalar(value);
        let failure = value
            .get("fail")
            .and_then(scalar)
            .filter(|_| is_alone(value));
        match (&step.kind, word.as_deref()) {
            (StepKind::Role(role), _) => self.work(&role.slots, value).map(Turn::Work),
            (StepKind::Person { answers, .. }, _) => self.person(value, answers),
            (StepKind::Each { .. }, _) => Err(self
                .fault(format!("`{}` goes through tasks or phases", self.written()))
                .hint("script the steps in it; `step@task` is for one task only")),
            (StepKind::Gate { .. }, Some("pass" | "ok"))
            | (StepKind::Commit { .. } | StepKind::Publish { .. }, Some("ok")) => Ok(Turn::Goes),
            (StepKind::Gate { .. } | StepKind::Publish { .. }, Some("fail")) => {
                Ok(Turn::Fails("it failed".to_owned()))
            }
            (StepKind::Gate { .. } | StepKind::Publish { .. }, None) if failure.is_some() => {
                Ok(Turn::Fails(failure.unwrap_or_default()))
            }
            (StepKind::Commit { .. }, Some("conflict")) => Ok(Turn::Conflicts),
            (StepKind::Gate { .. } | StepKind::Commit { .. }, Some("crash")) => Ok(Turn::Breaks),
            (StepKind::Gate { .. }, _) => {
                let known = "`pass`, `fail`, `{ fail: what it said }` or `crash`";
                Err(self.unknown(value, "a gate", known))
            }
            (StepKind::Deliver { .. }, _) => {
                Err(self.fault(format!("`{}` goes of itself", self.written())))
            }
            (StepKind::Commit { .. }, _) => {
                Err(self.unknown(value, "a commit", "`ok`, `conflict` or `crash`"))
            }
            (StepKind::Publish { .. }, _) => {
                let known = "`ok`, `fail` or `{ fail: what it said }`";
                Err(self.unknown(value, "a command", known))
            }
        }
    }

    /// What a person says; `answers` are those that the step allows, if it is a person's.
    fn person(&self, value: &Value, answers: &[Answer]) -> Result<Turn, Fault> {
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
            return Err(self.fault(message).hint(known.join(", ")));
        }
        Ok(Turn::Answers { answer, note })
    }

    /// What the workers of a step do, by slot.
    fn work(&self, slots: &[RoleName], value: &Value) -> Result<Vec<Act>, Fault> {
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
                let acts = each.iter().map(|value| self.act(first.kind, value));
                acts.collect::<Result<Vec<Act>, Fault>>()?
            }
            _ => vec![self.act(first.kind, value)?; slots.len()],
        };
        for (act, role) in acts.iter().zip(&roles) {
            self.check(act, role)?;
        }
        Ok(acts)
    }

    /// Whether the contract of a role takes what it is to say.
    fn check(&self, act: &Act, role: &Role) -> Result<(), Fault> {
        if matches!(act, Act::Wrong | Act::Crash | Act::Empty) {
            return Ok(());
        }
        let told = Told {
            files: vec![("work.txt".to_owned(), Some("text".to_owned()))],
            ..Told::default()
        };
        match forms::answer(act, role.form(), &told) {
            Ok(_) => Ok(()),
            Err(why) => {
                let message = format!(
                    "`{}` cannot be said by `{}`: {why}",
                    self.written(),
                    role.name
                );
                Err(self
                    .fault(message)
                    .hint("`wrong` is an answer that cannot be read"))
            }
        }
    }

    fn act(&self, kind: Kind, value: &Value) -> Result<Act, Fault> {
        if let Some(word) = scalar(value) {
            return self.word(kind, value, &word);
        }
        let Value::Object(fields) = value else {
            return Err(self.unknown(value, kind.with_article(), &words(kind)));
        };
        let single = fields.iter().next().filter(|_| fields.len() == 1);
        let (key, inner) = single.map_or(("", &Value::Null), |(key, inner)| (key.as_str(), inner));
        let text = scalar(inner);
        let act = match (kind, key, text) {
            (_, "blocked", Some(why)) => Act::Blocked(why),
            (Kind::Gatekeeper, "approve", Some(why)) => Act::Approve(why),
            (Kind::Gatekeeper, "reject", Some(why)) => Act::Reject(why),
            (Kind::Analyst, "ask", Some(question)) => Act::Ask(vec![question]),
            (Kind::Analyst, "ask", None) => Act::Ask(self.texts(inner)?),
            (Kind::Planner, "plan", None) => Act::Plan(inner.clone()),
            (Kind::Implementer, "change", _) => Act::Change(self.files(inner)?),
            _ => Act::Says(value.clone()),
        };
        Ok(act)
    }

    fn word(&self, kind: Kind, value: &Value, word: &str) -> Result<Act, Fault> {
        Ok(match (kind, word) {
            (_, "ok") => Act::Well,
            (_, "blocked") => Act::Blocked("it cannot go on".to_owned()),
            (_, "crash") => Act::Crash,
            (_, "wrong") => Act::Wrong,
            (Kind::Implementer, "empty") => Act::Empty,
            (Kind::Gatekeeper, "approve") => Act::Approve("nothing is wrong with it".to_owned()),
            (Kind::Gatekeeper, "reject") => Act::Reject("it will not do".to_owned()),
            _ => return Err(self.unknown(value, kind.with_article(), &words(kind))),
        })
    }

    fn texts(&self, value: &Value) -> Result<Vec<String>, Fault> {
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let texts: Option<Vec<String>> = items.iter().map(scalar).collect();
        texts
            .filter(|texts| !texts.is_empty())
            .ok_or_else(|| self.fault(format!("`{}` needs a list of texts", self.written())))
    }

    fn files(&self, value: &Value) -> Result<Vec<(String, Text)>, Fault> {
        let Value::Object(files) = value else {
            let paths = match scalar(value) {
                Some(path) => vec![path],
                None => self.texts(value)?,
            };
            return Ok(paths.into_iter().map(|path| (path, Text::Any)).collect());
        };
        let read = |text: &Value| match text {
            Value::Null => Some(Text::Gone),
            text => scalar(text).map(Text::Is),
        };
        let files: Option<Vec<(String, Text)>> = files
            .iter()
            .map(|(path, text)| Some((path.clone(), read(text)?)))
            .collect();
        files.filter(|files| !files.is_empty()).ok_or_else(|| {
            let message = format!("`{}` must say which files change", self.written());
            self.fault(message)
                .hint("`change: [path]`, or `change: { path: text }`, `null` to remove one")
        })
    }
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

fn words(kind: Kind) -> String {
    let own = match kind {
        Kind::Implementer => "`empty`, `{ change: [path] }`, ",
        Kind::Gatekeeper => {
            "`approve`, `reject`, `{ reject: why }`, `{ slots: [approve, reject] }`, "
        }
        Kind::Analyst => "`{ ask: [question] }`, ",
        Kind::Planner => "`{ plan: { tasks: … } }`, ",
        Kind::Designer | Kind::Scribe => "",
    };
    format!("{own}`ok`, `blocked`, `crash`, `wrong` or a submission")
}
