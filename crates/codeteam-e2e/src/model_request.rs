//! A request in a form that is independent of the protocol: messages, tools, and the wanted answer.

use serde::Serialize;
use serde_json::Value;

use crate::model_protocol::Protocol;

/// A request to a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelRequest {
    /// The protocol it came in.
    pub protocol: Protocol,
    /// The requested model.
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

/// The messages of one side before the other one speaks.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatMessage {
    /// The side.
    pub side: Speaker,
    /// The parts of the message.
    pub parts: Vec<MessagePart>,
}

/// A side of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The caller: prompts and tools' results.
    User,
    /// The model.
    Assistant,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum MessagePart {
    /// Text.
    Text(String),
    /// A call of a tool, by its name.
    Call(String),
    /// The result of a tool.
    Result(String),
}

/// A tool that is offered.
#[derive(Clone, Debug, PartialEq)]
pub struct OfferedTool {
    /// Its name.
    pub name: String,
    /// Its namespace, if the protocol has namespaces.
    pub namespace: Option<String>,
    /// The form of its calls.
    pub kind: ToolKind,
    /// Its description.
    pub description: String,
    /// The JSON Schema of its input.
    pub schema: Value,
}

/// The form in which a tool is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolKind {
    /// With a JSON object.
    Function,
    /// With plain text.
    Custom,
    /// With a JSON object, to be shown tools that are not offered yet: codex's `tool_search`.
    Search,
}

/// The facts about an assignment in codeteam's prompts; of each kind, the last line counts.
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
    fn read_from(&mut self, text: &str) -> bool {
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
                "Round" => self.round = leading_number(value).or(self.round),
                "Attempt" => self.attempt = leading_number(value).or(self.attempt),
                _ => continue,
            }
            any = true;
        }
        any
    }
}

/// The number a text begins with: `2` or `2 of 5`.
fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text[..end.unwrap_or(text.len())].parse().ok()
}

impl ModelRequest {
    /// The name of codex's tool that shows other tools.
    pub(crate) const SEARCH: &str = "tool_search";

    /// Returns the facts about the assignment in the prompts.
    pub fn marks(&self) -> AssignmentMarks {
        let mut marks = AssignmentMarks::default();
        marks.read_from(&self.system);
        for text in self.prompt_texts() {
            marks.read_from(text);
        }
        marks
    }

    /// Counts the model's turns since codeteam's last prompt, or since the beginning if no message
    /// is such a prompt.
    pub fn turns_since_prompt(&self) -> usize {
        let carries = |message: &ChatMessage| {
            let mut texts = message.texts();
            message.side == Speaker::User
                && texts.any(|text| AssignmentMarks::default().read_from(text))
        };
        let since = self.messages.iter().rposition(carries).unwrap_or(0);
        let spoken = self.messages[since..].iter();
        spoken
            .filter(|message| message.side == Speaker::Assistant && !message.only_searches())
            .count()
    }

    /// Counts all turns of the model.
    pub fn total_turns(&self) -> usize {
        let all = self.messages.iter();
        all.filter(|message| message.side == Speaker::Assistant)
            .count()
    }

    /// Returns the last message of the user or a tool.
    pub fn last_user_text(&self) -> String {
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

    /// Returns everything the user said, without the results of tools.
    pub fn user_text(&self) -> String {
        self.prompt_texts().collect::<Vec<_>>().join("\n")
    }

    fn prompt_texts(&self) -> impl Iterator<Item = &str> {
        self.messages
            .iter()
            .filter(|message| message.side == Speaker::User)
            .flat_map(ChatMessage::texts)
    }

    /// Returns true if the model has called a matching tool since codeteam's last prompt.
    pub fn has_called_since_prompt(&self, fits: impl Fn(&str) -> bool) -> bool {
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
    /// Returns true if the message only searches for a tool, which is not yet a turn of a play.
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
    /// Returns true if its input has this property.
    pub fn has_property(&self, property: &str) -> bool {
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
