//! Chooses the turn that answers a request, and plays it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::answer::{ModelAnswer, ToolCall};
use crate::fault::{Fault, FaultKind};
use crate::model_request::{AssignmentMarks, ModelRequest};
use crate::scenario::{Play, Scenario, SubmissionRoute, Turn};
use crate::tools;

/// A scenario under way: what it remembers is only how often each fault was given.
#[derive(Debug, Default)]
pub(crate) struct ScenarioPlayer {
    scenario: Scenario,
    given: BTreeMap<(usize, usize, AssignmentMarks), u32>,
}

/// The answer to a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlayedTurn {
    /// The play's name.
    pub(crate) play: Option<String>,
    /// The turn, from 0.
    pub(crate) turn: Option<usize>,
    /// The answer.
    pub(crate) answer: ModelAnswer,
    /// The fault to inject.
    pub(crate) fault: Option<Fault>,
    /// A mismatch, for the test to see.
    pub(crate) problem: Option<String>,
}

impl ScenarioPlayer {
    pub(crate) fn new(scenario: Scenario) -> Self {
        Self {
            scenario,
            given: BTreeMap::new(),
        }
    }

    /// Answers a request.
    pub(crate) fn answer(&mut self, asked: &ModelRequest) -> PlayedTurn {
        let marks = asked.marks();
        if let Some(schema) = side_question_schema(asked) {
            return PlayedTurn {
                play: Some("aside".to_owned()),
                answer: ModelAnswer {
                    number: asked.total_turns() + 1,
                    model: asked.model.clone(),
                    ..ModelAnswer::from_text(sample_value(schema).to_string())
                },
                ..PlayedTurn::default()
            };
        }
        if is_availability_probe(asked) {
            return PlayedTurn {
                play: Some("greet".to_owned()),
                answer: ModelAnswer {
                    model: asked.model.clone(),
                    ..ModelAnswer::from_text(".")
                },
                ..PlayedTurn::default()
            };
        }
        let mut played = match self.scenario.play_for(asked, &marks) {
            None => PlayedTurn::problem(format!(
                "no play fits this request (model `{}`, {marks:?})",
                asked.model
            )),
            Some((index, play)) => {
                let (index, play) = (index, play.clone());
                self.play_turn_of(asked, &marks, index, &play)
            }
        };
        played.answer.number = asked.total_turns() + 1;
        played.answer.model.clone_from(&asked.model);
        played
    }

    fn play_turn_of(
        &mut self,
        asked: &ModelRequest,
        marks: &AssignmentMarks,
        index: usize,
        play: &Play,
    ) -> PlayedTurn {
        let number = asked.turns_since_prompt();
        let name = play.name.clone();
        let name = name.unwrap_or_else(|| format!("play {}", index + 1));
        let mut played = match play.turns.get(number) {
            Some(turn) => {
                let mut played = play_turn(asked, turn);
                let fault = turn.fault.clone();
                played.fault = fault.filter(|fault| self.is_due(fault, index, number, marks));
                if let Some(fault) = &played.fault {
                    apply_fault(&mut played.answer, fault.kind);
                }
                played
            }
            // Some CLIs ask once more after an answer by tool; all is said by then.
            None if asked
                .has_called_since_prompt(|name| tools::is_answer_tool(name) || name == "exec") =>
            {
                PlayedTurn::from_answer(ModelAnswer::from_text("Submitted."))
            }
            None => PlayedTurn::problem(format!(
                "{name} has {} turns and was asked for one more",
                play.turns.len()
            )),
        };
        played.play = Some(name);
        played.turn = Some(number);
        played
    }

    fn is_due(&mut self, fault: &Fault, play: usize, turn: usize, marks: &AssignmentMarks) -> bool {
        let Some(times) = fault.times else {
            return true;
        };
        let given = self.given.entry((play, turn, marks.clone())).or_default();
        if *given >= times {
            return false;
        }
        *given += 1;
        true
    }
}

impl PlayedTurn {
    fn from_answer(answer: ModelAnswer) -> Self {
        Self {
            answer,
            ..Self::default()
        }
    }

    fn problem(problem: String) -> Self {
        Self {
            answer: ModelAnswer::from_text(format!("The scripted model cannot go on: {problem}")),
            problem: Some(problem),
            ..Self::default()
        }
    }
}

/// Returns the schema of a question that a CLI asks for itself outside the conversation: which
/// model gemini should take, and who speaks next. It carries the role's prompt, and is not a turn
/// of its play.
fn side_question_schema(asked: &ModelRequest) -> Option<&Value> {
    let schema = asked.schema.as_ref()?;
    let asks = |key| schema["properties"].get(key).is_some();
    (asks("complexity_score") || asks("next_speaker")).then_some(schema)
}

/// Returns true if the request only checks that a model exists: claude does so with those of
/// Amazon.
fn is_availability_probe(asked: &ModelRequest) -> bool {
    asked.tools.is_empty() && asked.user_text() == "."
}

fn play_turn(asked: &ModelRequest, turn: &Turn) -> PlayedTurn {
    let mut answer = ModelAnswer {
        text: turn.text.clone(),
        usage: turn.usage,
        ..ModelAnswer::default()
    };
    for action in &turn.tools {
        match tools::call_for(action, asked) {
            Ok(call) => answer.calls.push(call),
            Err(problem) => return PlayedTurn::problem(problem),
        }
    }
    let submit = match (&turn.submit, turn.sample) {
        (Some(submit), _) => Some(submit.clone()),
        (None, true) => tools::answer_schema(asked).map(sample_value),
        (None, false) => None,
    };
    if let Some(submit) = submit
        && let Err(problem) = add_submission(asked, turn.road, &submit, &mut answer)
    {
        return PlayedTurn::problem(problem);
    }
    if answer.text.is_none() && answer.calls.is_empty() {
        answer.text = Some("Done.".to_owned());
    }
    PlayedTurn::from_answer(answer)
}

/// Puts a submission into the answer, by the road that is forced or the first that is offered.
fn add_submission(
    asked: &ModelRequest,
    road: Option<SubmissionRoute>,
    submit: &Value,
    answer: &mut ModelAnswer,
) -> Result<(), String> {
    let text = submit.to_string();
    let fenced = || format!("```json\n{submit:#}\n```");
    let missing = |what: &str| Err(format!("the answer cannot be handed in: {what}"));
    let call = |answer: &mut ModelAnswer, call: ToolCall| {
        answer.calls.push(call);
        Ok(())
    };
    let say = |answer: &mut ModelAnswer, said: String| {
        let before = answer.text.take().map(|text| format!("{text}\n\n"));
        answer.text = Some(format!("{}{said}", before.unwrap_or_default()));
        Ok(())
    };
    let structured = tools::structured_tool(asked, submit);
    let tool = tools::submit_tool(asked, submit);
    let hidden = tools::hidden_submit_tool(asked, submit);
    match (road, structured, tool) {
        (Some(SubmissionRoute::Structured) | None, Some(structured), _) => call(answer, structured),
        (Some(SubmissionRoute::Tool) | None, _, Some(tool)) => call(answer, tool),
        (Some(SubmissionRoute::Structured) | None, None, _) if asked.schema.is_some() => {
            // A text that must fit a schema is nothing but the JSON.
            answer.text = Some(text);
            Ok(())
        }
        (Some(SubmissionRoute::Text), ..) => say(answer, text),
        (Some(SubmissionRoute::Fenced) | None, ..) => say(answer, fenced()),
        (Some(SubmissionRoute::Tool), ..) => match hidden {
            Some(hidden) => {
                // A search comes alone: its turn is yet to come.
                if hidden.name == ModelRequest::SEARCH {
                    answer.text = None;
                }
                call(answer, hidden)
            }
            None => missing("no tool whose name ends in `submit` is offered"),
        },
        (Some(SubmissionRoute::Structured), ..) => {
            missing("neither a structured-output tool nor a schema is offered")
        }
    }
}

/// Makes of an answer what a fault of this kind makes of it.
fn apply_fault(answer: &mut ModelAnswer, kind: FaultKind) {
    match kind {
        FaultKind::Refusal => {
            answer.calls.clear();
            answer.text = Some("I cannot help with that.".to_owned());
            answer.refused = true;
        }
        FaultKind::BadAnswer => {
            answer.calls.clear();
            answer.text = Some("```json\n{\"summary\": \"it breaks o".to_owned());
        }
        _ => {}
    }
}

/// The smallest value that fits a schema, as far as such schemas go.
fn sample_value(schema: &Value) -> Value {
    sample_at(schema, schema, 0)
}

fn sample_at(root: &Value, schema: &Value, depth: usize) -> Value {
    if depth > 16 {
        return Value::Null;
    }
    let go = |schema: &Value| sample_at(root, schema, depth + 1);
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.trim_start_matches('#');
        return root.pointer(pointer).map_or(Value::Null, go);
    }
    if let Some(value) = schema.get("const").or_else(|| schema["enum"].get(0)) {
        return value.clone();
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        if let Some(first) = schema[key].get(0) {
            return go(first);
        }
    }
    let kind = schema["type"].get(0).unwrap_or(&schema["type"]);
    match kind.as_str().map(str::to_lowercase).as_deref() {
        Some("string") => json!("scripted"),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => json!(true),
        Some("array") => {
            let count = schema["minItems"].as_u64().unwrap_or(0);
            (0..count).map(|_| go(&schema["items"])).collect()
        }
        Some("null") => Value::Null,
        _ => {
            let required = schema["required"].as_array().into_iter().flatten();
            let required = required.filter_map(Value::as_str);
            let fields = required.map(|key| (key.to_owned(), go(&schema["properties"][key])));
            Value::Object(fields.collect())
        }
    }
}
