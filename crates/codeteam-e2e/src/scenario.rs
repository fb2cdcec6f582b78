//! Scenarios: what is answered to whom, built in Rust or read from YAML.

mod yaml;

use std::path::Path;

use codeteam_workflow::yaml::{FileProblem, FileProblems};
use serde::Deserialize;
use serde_json::Value;

use crate::answer::TokenUsage;
use crate::fault::Fault;
use crate::model_protocol::Protocol;
use crate::model_request::{AssignmentMarks, ModelRequest};

/// A list of plays; the first whose `when` fits a request is played.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The plays, in order.
    pub plays: Vec<Play>,
}

/// The answers to one kind of request, turn by turn.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Play {
    /// Its name in records; `play 3` without one.
    pub name: Option<String>,
    /// The requests that it is for.
    pub when: PlayCondition,
    /// The answers, turn by turn of the conversation.
    pub turns: Vec<Turn>,
}

/// The requests that a play is for; conditions that are left out match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlayCondition {
    /// The prompt's `Role: x`.
    pub role: Option<String>,
    /// The prompt's `Step: x`.
    pub step: Option<String>,
    /// The prompt's `Task: x`.
    pub task: Option<String>,
    /// The prompt's `Round: n`.
    pub round: Option<u32>,
    /// The prompt's `Attempt: n`.
    pub attempt: Option<u32>,
    /// The protocol.
    pub protocol: Option<Protocol>,
    /// The model's name.
    pub model: Option<String>,
    /// A text in the last user message or tool result.
    pub says: Option<String>,
}

/// One answer.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Turn {
    /// The model's text.
    pub text: Option<String>,
    /// The tools it calls.
    pub tools: Vec<ToolAction>,
    /// The answer it gives, by the road the request offers.
    pub submit: Option<Value>,
    /// Gives an answer made up from the schema that is offered; a text where none is.
    pub sample: bool,
    /// The road of the answer, where it must be a certain one.
    pub road: Option<SubmissionRoute>,
    /// Its token counts.
    pub usage: TokenUsage,
    /// A fault that comes first.
    pub fault: Option<Fault>,
}

/// Something a model does with a tool, whatever the tool is called where it is offered.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum ToolAction {
    /// Writes a file.
    Write {
        /// The file, from the work tree's root.
        path: String,
        /// Its content afterwards.
        content: String,
    },
    /// Replaces a part of a file. Whole lines, so that it can be a patch; some CLIs want the file
    /// read before.
    Edit {
        /// The file, from the work tree's root.
        path: String,
        /// The lines to replace.
        old: String,
        /// The lines to put there.
        new: String,
    },
    /// Reads a file.
    Read {
        /// The file, from the work tree's root.
        path: String,
    },
    /// Runs a command in a shell.
    Run {
        /// The command.
        command: String,
    },
    /// Calls a tool of codeteam's own MCP server, whatever the CLI makes of its name.
    Team {
        /// The tool's name there.
        tool: String,
        /// Its input.
        #[serde(default)]
        input: Value,
    },
    /// Calls a tool by its own name.
    Call {
        /// The tool's name.
        name: String,
        /// Its input. A string is sent as it is: as plain text to a tool that takes text, and
        /// otherwise in place of the JSON.
        #[serde(default)]
        input: Value,
    },
}

/// The way in which an answer is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SubmissionRoute {
    /// As the text of the message, nothing else.
    Text,
    /// By a tool whose name ends in `submit`.
    Tool,
    /// By the schema of the request: a structured-output tool, or a text that must fit it.
    Structured,
    /// As the text of the message, in a fence.
    Fenced,
}

impl Scenario {
    /// A scenario without plays.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more play.
    #[must_use]
    pub fn play(mut self, play: Play) -> Self {
        self.plays.push(play);
        self
    }

    /// Returns the play for requests that no other play matches: an answer that fits the schema, or
    /// a text.
    pub fn default_play() -> Self {
        let turn = Turn {
            sample: true,
            ..Turn::default()
        };
        Self::new().play(Play::new().named("sensible").turn(turn))
    }

    /// Reads a scenario; `file` is how problems name it.
    pub fn parse(file: &str, text: &str) -> Result<Self, FileProblems> {
        yaml::parse(file, text)
    }

    /// Reads a scenario from a file.
    pub fn load(path: &Path) -> Result<Self, FileProblems> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&file, &text),
            Err(error) => Err(FileProblems::from_problem(FileProblem::for_file(
                file,
                format!("could not be read: {error}"),
            ))),
        }
    }

    /// The play for a request.
    pub(crate) fn play_for(
        &self,
        asked: &ModelRequest,
        marks: &AssignmentMarks,
    ) -> Option<(usize, &Play)> {
        let plays = self.plays.iter().enumerate();
        plays
            .into_iter()
            .find(|(_, play)| play.when.matches(asked, marks))
    }
}

impl PlayCondition {
    fn matches(&self, asked: &ModelRequest, marks: &AssignmentMarks) -> bool {
        fn same<T: PartialEq>(wanted: Option<&T>, found: Option<&T>) -> bool {
            wanted.is_none() || wanted == found
        }
        same(self.role.as_ref(), marks.role.as_ref())
            && same(self.step.as_ref(), marks.step.as_ref())
            && same(self.task.as_ref(), marks.task.as_ref())
            && same(self.round.as_ref(), marks.round.as_ref())
            && same(self.attempt.as_ref(), marks.attempt.as_ref())
            && same(self.protocol.as_ref(), Some(&asked.protocol))
            && same(self.model.as_ref(), Some(&asked.model))
            && self
                .says
                .as_ref()
                .is_none_or(|says| asked.last_user_text().contains(says))
    }
}

impl Play {
    /// A play for every request.
    pub fn new() -> Self {
        Self::default()
    }

    /// Called so in records.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Only for this role.
    #[must_use]
    pub fn role(mut self, role: &str) -> Self {
        self.when.role = Some(role.to_owned());
        self
    }

    /// Only for this step.
    #[must_use]
    pub fn step(mut self, step: &str) -> Self {
        self.when.step = Some(step.to_owned());
        self
    }

    /// Only for this task.
    #[must_use]
    pub fn task(mut self, task: &str) -> Self {
        self.when.task = Some(task.to_owned());
        self
    }

    /// Only for this round.
    #[must_use]
    pub fn round(mut self, round: u32) -> Self {
        self.when.round = Some(round);
        self
    }

    /// Only for this attempt.
    #[must_use]
    pub fn attempt(mut self, attempt: u32) -> Self {
        self.when.attempt = Some(attempt);
        self
    }

    /// Only in this protocol.
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.when.protocol = Some(protocol);
        self
    }

    /// Only for this model.
    #[must_use]
    pub fn model(mut self, model: &str) -> Self {
        self.when.model = Some(model.to_owned());
        self
    }

    /// Matches only if this is in the last message of the user or a tool.
    #[must_use]
    pub fn says(mut self, text: &str) -> Self {
        self.when.says = Some(text.to_owned());
        self
    }

    /// With one more turn.
    #[must_use]
    pub fn turn(mut self, turn: Turn) -> Self {
        self.turns.push(turn);
        self
    }
}

impl Turn {
    /// Creates an empty turn.
    pub fn new() -> Self {
        Self::default()
    }

    /// A turn that says something.
    pub fn say(text: &str) -> Self {
        Self {
            text: Some(text.to_owned()),
            ..Self::default()
        }
    }

    /// Creates a turn that submits an answer.
    pub fn submit(answer: Value) -> Self {
        Self {
            submit: Some(answer),
            ..Self::default()
        }
    }

    fn action(mut self, action: ToolAction) -> Self {
        self.tools.push(action);
        self
    }

    /// And writes a file.
    #[must_use]
    pub fn write(self, path: &str, content: &str) -> Self {
        let (path, content) = (path.to_owned(), content.to_owned());
        self.action(ToolAction::Write { path, content })
    }

    /// And replaces whole lines of a file.
    #[must_use]
    pub fn edit(self, path: &str, old: &str, new: &str) -> Self {
        self.action(ToolAction::Edit {
            path: path.to_owned(),
            old: old.to_owned(),
            new: new.to_owned(),
        })
    }

    /// And reads a file.
    #[must_use]
    pub fn read(self, path: &str) -> Self {
        let path = path.to_owned();
        self.action(ToolAction::Read { path })
    }

    /// And runs a command.
    #[must_use]
    pub fn run(self, command: &str) -> Self {
        let command = command.to_owned();
        self.action(ToolAction::Run { command })
    }

    /// And calls a tool by its own name.
    #[must_use]
    pub fn call(self, name: &str, input: Value) -> Self {
        let name = name.to_owned();
        self.action(ToolAction::Call { name, input })
    }

    /// By this road.
    #[must_use]
    pub fn road(mut self, road: SubmissionRoute) -> Self {
        self.road = Some(road);
        self
    }

    /// At this cost.
    #[must_use]
    pub fn usage(mut self, usage: TokenUsage) -> Self {
        self.usage = usage;
        self
    }

    /// After this has gone wrong.
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }
}
