//! One assignment, worked on: what was given, what came of it.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use codeteam_agent::builtin::{AgentOptions, Protocol, run_assignment};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::model::{CannedReply, FakeModel, ReceivedRequest};

/// The key of every test. It is nowhere to be seen in any output.
pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

/// A test's change of the options.
type OptionsChange = Box<dyn FnOnce(&mut AgentOptions)>;

/// An assignment to be worked on.
pub(crate) struct AgentTest {
    protocol: Protocol,
    dir: TempDir,
    assignment: Value,
    change: Vec<OptionsChange>,
}

/// The result of a run.
pub(crate) struct AgentTestRun {
    dir: TempDir,
    pub(crate) code: i32,
    pub(crate) output: String,
    pub(crate) events: Vec<Value>,
    pub(crate) asked: Vec<ReceivedRequest>,
}

impl AgentTest {
    /// An implementer's, with a file `greet.sh` that says `hello`.
    pub(crate) fn new(protocol: Protocol) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("tree")).unwrap();
        let job = Self {
            protocol,
            dir,
            assignment: json!({
                "id": "a", "role": "coder", "kind": "implementer", "contract": "native",
                "instructions": {"system": "You are a coder.", "prompt": "Say goodbye instead."},
                "schema": {
                    "$schema": "https://json-schema.org/draft/2020-12/schema",
                    "type": "object",
                    "properties": {
                        "summary": {"type": "string"},
                        "files": {"type": "array", "items": {"type": "string"}},
                    },
                    "required": ["summary"],
                },
                "example": {"summary": "…"},
                "writable": true,
            }),
            change: Vec::new(),
        };
        job.file("greet.sh", "echo hello\n")
    }

    pub(crate) fn file(self, path: &str, content: &str) -> Self {
        let path = self.dir.path().join("tree").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// Sets a field of the assignment.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.assignment[key] = value.into();
        self
    }

    pub(crate) fn options(mut self, change: impl FnOnce(&mut AgentOptions) + 'static) -> Self {
        self.change.push(Box::new(change));
        self
    }

    /// Works on it with a model that says this.
    pub(crate) fn run(mut self, answers: Vec<CannedReply>) -> AgentTestRun {
        let model = FakeModel::start(answers);
        let mut out = Vec::new();
        let code = self.run_into(&model.url, &mut out);
        let output = String::from_utf8(out).unwrap();
        assert!(!output.contains(KEY), "{output}");
        let parse = |line| serde_json::from_str(line).unwrap();
        let ran = AgentTestRun {
            dir: self.dir,
            code,
            events: output.lines().map(parse).collect(),
            output,
            asked: model.received(),
        };
        let has_submission = ran.events_of_type("submission").len();
        assert_eq!(has_submission, usize::from(code == 0), "{}", ran.output);
        ran
    }

    /// Works on it with the model at this URL, and writes the events as they come.
    pub(crate) fn run_into(&mut self, url: &str, out: &mut dyn Write) -> i32 {
        let assignment = self.dir.path().join("assignment.json");
        fs::write(&assignment, self.assignment.to_string()).unwrap();
        let mut options = AgentOptions::new(
            assignment,
            self.protocol,
            url.to_owned(),
            "test-model".to_owned(),
        );
        options.root = self.dir.path().join("tree");
        options.key.push_str(KEY);
        options.backoff = Duration::ZERO;
        for change in self.change.drain(..) {
            change(&mut options);
        }
        run_assignment(&options, out).unwrap()
    }
}

impl AgentTestRun {
    /// The events of one type.
    pub(crate) fn events_of_type(&self, kind: &str) -> Vec<&Value> {
        let events = self.events.iter();
        events.filter(|event| event["type"] == kind).collect()
    }

    /// The traces of one part.
    pub(crate) fn traces(&self, part: &str) -> Vec<&Value> {
        let traces = self.events_of_type("trace").into_iter();
        traces.filter(|trace| trace["part"] == part).collect()
    }

    /// The last line, which must be the submission, to the letter.
    pub(crate) fn submission(&self) -> &str {
        let last = self.output.lines().last().unwrap();
        last.strip_prefix(r#"{"type":"submission","submission":"#)
            .and_then(|rest| rest.strip_suffix('}'))
            .unwrap_or_else(|| panic!("no submission in {}", self.output))
    }

    /// The only error, in words.
    pub(crate) fn error(&self) -> &str {
        let errors = self.events_of_type("error");
        assert_eq!(errors.len(), 1, "{}", self.output);
        errors[0]["message"].as_str().unwrap()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join("tree").join(path)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }
}
