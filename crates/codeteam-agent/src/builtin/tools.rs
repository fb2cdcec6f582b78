//! The registry of tools: what the model may call, and how a call is carried out.
//!
//! Whatever goes wrong in a tool is a result for the model to read, and never
//! the end of the work.

mod command;
mod edit;
mod find;
mod mcp;
mod read;
mod tree_paths;
mod web;

use std::path::Path;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::api::ToolSpec;
use super::assignment::{BuiltinAssignment, EditMode};
use super::conversation::{RESULT_CHARS, short_first_line, truncate_middle};
use super::event::{BuiltinEvent, EventSink};
use super::{AgentOptions, Error};

/// The output of a tool.
#[derive(Debug, Default, PartialEq, Eq)]
struct ToolOutput {
    text: String,
    /// The file it wrote.
    wrote: Option<String>,
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self { text, wrote: None }
    }
}

/// The output of a tool, or an error for the model to read.
type ToolOutcome = Result<ToolOutput, String>;

/// A tool whose input is a Rust type.
trait Tool {
    type Input: DeserializeOwned + JsonSchema;

    const NAME: &'static str;
    const DESCRIPTION: &'static str;
    /// Whether it changes files.
    const WRITES: bool = false;

    fn call(&self, input: Self::Input) -> ToolOutcome;
}

/// A tool of any kind.
trait CallableTool {
    fn call(&self, input: &str) -> ToolOutcome;
}

/// A tool whose input is to be read first.
struct TypedTool<T>(T);

impl<T: Tool> CallableTool for TypedTool<T> {
    fn call(&self, input: &str) -> ToolOutcome {
        let input = serde_json::from_str(input)
            .map_err(|error| format!("the input of `{}` is not valid: {error}", T::NAME))?;
        self.0.call(input)
    }
}

struct RegisteredTool {
    spec: ToolSpec,
    tool: Box<dyn CallableTool>,
}

/// A result as the model gets it.
pub(super) struct CallOutcome {
    pub(super) text: String,
    pub(super) ok: bool,
    /// Whether a tool of this name exists.
    pub(super) exists: bool,
}

/// The tools of one assignment.
pub(super) struct ToolRegistry {
    entries: Vec<RegisteredTool>,
}

impl ToolRegistry {
    /// The tools that fit the assignment: those that it allows, that the options
    /// make possible, and that write only if it may.
    pub(super) fn new(
        options: &AgentOptions,
        assignment: &BuiltinAssignment,
        sink: &mut EventSink<'_>,
    ) -> Result<Self, Error> {
        let mut registry = Self {
            entries: Vec::new(),
        };
        if assignment.mode == EditMode::Edits {
            return Ok(registry);
        }
        let action = "find the work tree";
        let root = options
            .root
            .canonicalize()
            .map_err(|source| Error::System { action, source })?;
        let writable = assignment.writable;
        registry.add(read::ReadFile::new(&root), writable);
        registry.add(edit::WriteFile::new(&root), writable);
        registry.add(edit::EditFile::new(&root), writable);
        registry.add(find::ListFiles::new(&root), writable);
        registry.add(find::SearchFiles::new(&root), writable);
        registry.add(command::RunCommand::new(&root), writable);
        if let Some(base) = &options.web_search {
            registry.add(web::WebSearch::new(base)?, writable);
        }
        if let Some(servers) = &options.mcp_servers {
            registry.add_servers(servers, &root, &assignment.tools, sink)?;
        }
        registry.restrict_to(&assignment.tools, sink)?;
        Ok(registry)
    }

    fn add<T: Tool + 'static>(&mut self, tool: T, writable: bool) {
        if T::WRITES && !writable {
            return;
        }
        self.entries.push(RegisteredTool {
            spec: ToolSpec {
                name: T::NAME.to_owned(),
                description: T::DESCRIPTION.to_owned(),
                schema: input_schema::<T::Input>(),
            },
            tool: Box::new(TypedTool(tool)),
        });
    }

    fn add_servers(
        &mut self,
        list: &Path,
        root: &Path,
        allowed: &[String],
        sink: &mut EventSink<'_>,
    ) -> Result<(), Error> {
        for server in mcp::read_servers(list)? {
            let of_it = format!("{}{}", server.name, mcp::SEPARATOR);
            let is_wanted = allowed.is_empty() || allowed.iter().any(|a| a.starts_with(&of_it));
            if !is_wanted {
                continue;
            }
            match mcp::connect_tools(&server, root) {
                Ok(tools) => self.entries.extend(tools),
                Err(why) => {
                    let message = format!("the MCP server `{}` is left out: {why}", server.name);
                    sink.emit(&BuiltinEvent::error(&message, None, None))?;
                }
            }
        }
        Ok(())
    }

    /// Keeps only the tools that the assignment allows. A name that can never match is reported: it
    /// is a mistake in a role.
    fn restrict_to(&mut self, allowed: &[String], sink: &mut EventSink<'_>) -> Result<(), Error> {
        if allowed.is_empty() {
            return Ok(());
        }
        let names = |pattern: &str, name: &str| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == pattern,
        };
        for pattern in allowed {
            let is_known = KNOWN.contains(&pattern.as_str())
                || pattern.contains(mcp::SEPARATOR)
                || self.entries.iter().any(|e| names(pattern, &e.spec.name));
            if !is_known {
                let message = format!("the assignment allows a tool `{pattern}`; there is none");
                sink.emit(&BuiltinEvent::error(&message, None, None))?;
            }
        }
        self.entries
            .retain(|entry| allowed.iter().any(|a| names(a, &entry.spec.name)));
        Ok(())
    }

    /// Returns the descriptions of the tools for the model.
    pub(super) fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.entries.iter().map(|entry| &entry.spec)
    }

    /// Carries out a call and reports it.
    pub(super) fn call(
        &self,
        name: &str,
        input: &str,
        sink: &mut EventSink<'_>,
    ) -> Result<CallOutcome, Error> {
        let detail = call_summary(input);
        sink.emit(&BuiltinEvent::Tool {
            name,
            detail: &detail,
        })?;
        let found = self.entries.iter().find(|entry| entry.spec.name == name);
        let exists = found.is_some();
        let outcome = match found {
            Some(entry) => entry.tool.call(input),
            None => Err(self.unknown_tool_message(name)),
        };
        let (text, ok) = match outcome {
            Ok(output) => {
                if let Some(path) = &output.wrote {
                    sink.emit(&BuiltinEvent::File { path })?;
                }
                (output.text, true)
            }
            Err(message) => (message, false),
        };
        sink.emit(&BuiltinEvent::ToolResult {
            name,
            ok,
            detail: &short_first_line(&text),
        })?;
        let text = truncate_middle(&text, RESULT_CHARS);
        Ok(CallOutcome { text, ok, exists })
    }

    fn unknown_tool_message(&self, name: &str) -> String {
        let names: Vec<&str> = self.specs().map(|spec| spec.name.as_str()).collect();
        format!(
            "there is no tool `{name}`; the tools are: {}, submit",
            names.join(", ")
        )
    }
}

/// The tools there can be without a server.
const KNOWN: &[&str] = &[
    read::ReadFile::NAME,
    edit::WriteFile::NAME,
    edit::EditFile::NAME,
    find::ListFiles::NAME,
    find::SearchFiles::NAME,
    command::RunCommand::NAME,
    web::WebSearch::NAME,
    "submit",
];

/// Returns the subject of a call in one line.
fn call_summary(input: &str) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_str(input) else {
        return short_first_line(input);
    };
    let about = ["command", "pattern", "path", "query", "glob"];
    let found = about.iter().find_map(|key| fields.get(*key)?.as_str());
    let found = found.or_else(|| fields.values().find_map(Value::as_str));
    short_first_line(found.unwrap_or_default())
}

/// The schema of an input, without what some APIs do not understand.
fn input_schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    if let Value::Object(fields) = &mut schema {
        fields.remove("title");
        fields.remove("description");
    }
    for property in schema["properties"].as_object_mut().into_iter().flatten() {
        simplify_property(property.1);
    }
    schema
}

/// An input that may be left out need not also be `null`, and how wide a number
/// is in Rust is of no interest.
fn simplify_property(property: &mut Value) {
    let Value::Object(fields) = property else {
        return;
    };
    fields.remove("format");
    fields.remove("default");
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
}

#[cfg(test)]
mod tests;
