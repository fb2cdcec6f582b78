//! A request in no protocol's own words: what was said, what is offered, what is wanted.

use serde::Serialize;
use serde_json::Value;

use crate::protocol::Protocol;

/// What a model was asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelRequest {
    /// The protocol it came in.
    pub protocol: Protocol,
    /// The model that was asked for.
    pub model: String,
    /// Whether the answer is to be streamed.
    pub stream: bool,
    /// The system text, developer messages included.
    pub system: String,
    /// The conversation; neighbours are never of the same side.
    pub messages: Vec<ChatMessage>,
    /// The tools that are offered.
    pub tools: Vec<OfferedTool>,
    /// The JSON Schema the answer's text must fit, if there is one.
    pub schema: Option<Value>,
}

/// What one side said before the other one spoke.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatMessage {
    /// Who said it.
    pub side: Speaker,
    /// What was said.
    pub parts: Vec<MessagePart>,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The caller: prompts and tools' results.
    User,
    /// The model.
    Assistant,
}

/// A part of what was said.
#[derive(Clone, Debug, PartialEq)]
pub enum MessagePart {
    /// Text.
    Text(String),
    /// A call of a tool, by its name.
    Call(String),
    /// What a tool gave back.
    Result(String),
}

/// A tool that is offered.
#[derive(Clone, Debug, PartialEq)]
pub struct OfferedTool {
    /// Its name.
    pub name: String,
    /// The namespace it stands in, where the protocol has such.
    pub namespace: Option<String>,
    /// How it is called.
    pub kind: ToolKind,
    /// What it says of itself.
    pub description: String,
    /// The JSON Schema of its input.
    pub schema: Value,
}

/// How a tool is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolKind {
    /// With a JSON object.
    Function,
    /// With plain text.
    Custom,
    /// With a JSON object, to be shown tools that are not offered yet: codex's `tool_search`.
    Search,
}

/// What codeteam's prompts say of the assignment: the last line of each kind counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct AssignmentMarks {
    /// `Role: x`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// `Step: x`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// `Task: x`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// `Round: n`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// `Attempt: n`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
}

impl AssignmentMarks {
    /// Takes the marks of a text; later ones replace earlier ones. Says whether there was any.
    fn read(&mut self, text: &str) -> bool {
        let mut any = false;
        for line in text.lines() {
            let Some((key, value)) = line.trim().split_once(": ") else {
                continue;
            };
            let value = value.trim();
            match key {
                "Role" => self.role = Some(value.to_owned()),
                "Step" => self.step = Some(value.to_owned()),
                "Task" => self.task = Some(value.to_owned()),
                "Round" => self.round = number(value).or(self.round),
                "Attempt" => self.attempt = number(value).or(self.attempt),
                _ => continue,
            }
            any = true;
        }
        any
    }
}

/// The number a text begins with: `2` or `2 of 5`.
fn number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text[..end.unwrap_or(text.len())].parse().ok()
}

impl ModelRequest {
    /// The name of codex's tool that shows other tools.
    pub(crate) const SEARCH: &str = "tool_search";

    /// What the prompts say of the assignment.
    pub fn marks(&self) -> AssignmentMarks {
        let mut marks = AssignmentMarks::default();
        marks.read(&self.system);
        for text in self.prompts() {
            marks.read(text);
        }
        marks
    }

    /// How many turns the model has had since codeteam's last prompt; since the beginning where no
    /// message carries its marks.
    pub fn turn(&self) -> usize {
        let carries = |message: &ChatMessage| {
            let mut texts = message.texts();
            message.side == Speaker::User && texts.any(|text| AssignmentMarks::default().read(text))
        };
        let since = self.messages.iter().rposition(carries).unwrap_or(0);
        let spoken = self.messages[since..].iter();
        spoken
            .filter(|message| message.side == Speaker::Assistant && !message.only_searches())
            .count()
    }

    /// How many turns the model has had in all.
    pub fn turns(&self) -> usize {
        let all = self.messages.iter();
        all.filter(|message| message.side == Speaker::Assistant)
            .count()
    }

    /// What was said last, by the user or a tool.
    pub fn last_said(&self) -> String {
        let Some(message) = self.messages.iter().rfind(|m| m.side == Speaker::User) else {
            return String::new();
        };
        let texts: Vec<&str> = message
            .parts
            .iter()
            .filter_map(|part| match part {
                MessagePart::Text(text) | MessagePart::Result(text) => Some(text.as_str()),
                MessagePart::Call(_) => None,
            })
            .collect();
        texts.join("\n")
    }

    /// Everything the user said; tools' results are not of it.
    pub fn user_text(&self) -> String {
        self.prompts().collect::<Vec<_>>().join("\n")
    }

    fn prompts(&self) -> impl Iterator<Item = &str> {
        self.messages
            .iter()
            .filter(|message| message.side == Speaker::User)
            .flat_map(ChatMessage::texts)
    }

    /// Whether the model has called a tool of which `fits` is true since codeteam's last prompt.
    pub fn called_last(&self, fits: impl Fn(&str) -> bool) -> bool {
        self.messages
            .iter()
            .rfind(|message| message.side == Speaker::Assistant)
            .is_some_and(|message| {
                message
                    .parts
                    .iter()
                    .any(|part| matches!(part, MessagePart::Call(name) if fits(name)))
            })
    }

    /// Adds a part, to the last message if it is of the same side.
    pub(crate) fn push(&mut self, side: Speaker, part: MessagePart) {
        match self.messages.last_mut() {
            Some(message) if message.side == side => message.parts.push(part),
            _ => self.messages.push(ChatMessage {
                side,
                parts: vec![part],
            }),
        }
    }

    /// Adds a line to the system text.
    pub(crate) fn push_system(&mut self, text: &str) {
        if !self.system.is_empty() {
            self.system.push('\n');
        }
        self.system.push_str(text);
    }
}

impl ChatMessage {
    /// Whether it only looks for a tool: no turn of a play, but on the way to one.
    fn only_searches(&self) -> bool {
        let mut parts = self.parts.iter();
        parts.all(|part| matches!(part, MessagePart::Call(name) if name == ModelRequest::SEARCH))
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            MessagePart::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }
}

impl OfferedTool {
    /// Whether its input has a property of this name.
    pub fn takes(&self, property: &str) -> bool {
        self.schema["properties"].get(property).is_some()
    }

    /// Its name with its namespace, as tests would look for it.
    pub fn full_name(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}.{}", self.name),
            None => self.name.clone(),
        }
    }
}
