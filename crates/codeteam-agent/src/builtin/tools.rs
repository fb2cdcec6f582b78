//! The registry of tools: what the model may call, and how a call is carried out.
//!
//! Whatever goes wrong in a tool is a result for the model to read, and never
//! the end of the work.

mod command;
mod edit;
mod find;
mod mcp;
mod place;
mod read;
mod web;

use std::path::Path;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::api::Spec;
use super::assignment::{Assignment, Mode};
use super::event::{Event, Sink};
use super::talk::{RESULT_CHARS, brief, cut};
use super::{Error, Options};

/// What a tool gave.
#[derive(Debug, Default, PartialEq, Eq)]
struct Output {
    text: String,
    /// The file it wrote.
    wrote: Option<String>,
}

impl From<String> for Output {
    fn from(text: String) -> Self {
        Self { text, wrote: None }
    }
}

/// What a tool says it gave, or what went wrong, for the model to read.
type Outcome = Result<Output, String>;

/// A tool whose input is a Rust type.
trait Tool {
    type Input: DeserializeOwned + JsonSchema;

    const NAME: &'static str;
    const DESCRIPTION: &'static str;
    /// Whether it changes files.
    const WRITES: bool = false;

    fn call(&self, input: Self::Input) -> Outcome;
}

/// A tool of any kind.
trait Callable {
    fn call(&self, input: &str) -> Outcome;
}

/// A tool whose input is to be read first.
struct Typed<T>(T);

impl<T: Tool> Callable for Typed<T> {
    fn call(&self, input: &str) -> Outcome {
        let input = serde_json::from_str(input)
            .map_err(|error| format!("the input of `{}` does not fit: {error}", T::NAME))?;
        self.0.call(input)
    }
}

struct Entry {
    spec: Spec,
    tool: Box<dyn Callable>,
}

/// A result as the model gets it.
pub(super) struct Called {
    pub(super) text: String,
    pub(super) ok: bool,
    /// Whether there is such a tool.
    pub(super) exists: bool,
}

/// The tools of one assignment.
pub(super) struct Registry {
    entries: Vec<Entry>,
}

impl Registry {
    /// The tools that fit the assignment: those that it allows, that the options
    /// make possible, and that write only if it may.
    pub(super) fn new(
        options: &Options,
        assignment: &Assignment,
        sink: &mut Sink<'_>,
    ) -> Result<Self, Error> {
        let mut registry = Self {
            entries: Vec::new(),
        };
        if assignment.mode == Mode::Edits {
            return Ok(registry);
        }
        let action = "find the work tree";
        let root = options
            .root
            .canonicalize()
            .map_err(|source| Error::System { action, source })?;
        let writable = assignment.writable;
        registry.add(read::Read::new(&root), writable);
        registry.add(edit::Write::new(&root), writable);
        registry.add(edit::Edit::new(&root), writable);
        registry.add(find::List::new(&root), writable);
        registry.add(find::Search::new(&root), writable);
        registry.add(command::Run::new(&root), writable);
        if let Some(base) = &options.web_search {
            registry.add(web::Search::new(base)?, writable);
        }
        if let Some(servers) = &options.mcp_servers {
            registry.add_servers(servers, &root, &assignment.tools, sink)?;
        }
        registry.restrict(&assignment.tools, sink)?;
        Ok(registry)
    }

    fn add<T: Tool + 'static>(&mut self, tool: T, writable: bool) {
        if T::WRITES && !writable {
            return;
        }
        self.entries.push(Entry {
            spec: Spec {
                name: T::NAME.to_owned(),
                description: T::DESCRIPTION.to_owned(),
                schema: schema::<T::Input>(),
            },
            tool: Box::new(Typed(tool)),
        });
    }

    fn add_servers(
        &mut self,
        list: &Path,
        root: &Path,
        allowed: &[String],
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        for server in mcp::servers(list)? {
            let of_it = format!("{}{}", server.name, mcp::SEPARATOR);
            let is_wanted = allowed.is_empty() || allowed.iter().any(|a| a.starts_with(&of_it));
            if !is_wanted {
                continue;
            }
            match mcp::connect(&server, root) {
                Ok(tools) => self.entries.extend(tools),
                Err(why) => {
                    let message = format!("the MCP server `{}` is left out: {why}", server.name);
                    sink.tell(&Event::error(&message, None, None))?;
                }
            }
        }
        Ok(())
    }

    /// Leaves only what the assignment allows. A name that never means anything
    /// is told: it is a mistake in a role.
    fn restrict(&mut self, allowed: &[String], sink: &mut Sink<'_>) -> Result<(), Error> {
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
                sink.tell(&Event::error(&message, None, None))?;
            }
        }
        self.entries
            .retain(|entry| allowed.iter().any(|a| names(a, &entry.spec.name)));
        Ok(())
    }

    /// What the model is told of the tools.
    pub(super) fn specs(&self) -> impl Iterator<Item = &Spec> {
        self.entries.iter().map(|entry| &entry.spec)
    }

    /// Carries a call out and tells of it.
    pub(super) fn call(
        &self,
        name: &str,
        input: &str,
        sink: &mut Sink<'_>,
    ) -> Result<Called, Error> {
        let detail = detail(input);
        sink.tell(&Event::Tool {
            name,
            detail: &detail,
        })?;
        let found = self.entries.iter().find(|entry| entry.spec.name == name);
        let exists = found.is_some();
        let outcome = match found {
            Some(entry) => entry.tool.call(input),
            None => Err(self.unknown(name)),
        };
        let (text, ok) = match outcome {
            Ok(output) => {
                if let Some(path) = &output.wrote {
                    sink.tell(&Event::File { path })?;
                }
                (output.text, true)
            }
            Err(message) => (message, false),
        };
        sink.tell(&Event::ToolResult {
            name,
            ok,
            detail: &brief(&text),
        })?;
        let text = cut(&text, RESULT_CHARS);
        Ok(Called { text, ok, exists })
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<&str> = self.specs().map(|spec| spec.name.as_str()).collect();
        format!(
            "there is no tool `{name}`; there are: {}, submit",
            names.join(", ")
        )
    }
}

/// The tools there can be without a server.
const KNOWN: &[&str] = &[
    read::Read::NAME,
    edit::Write::NAME,
    edit::Edit::NAME,
    find::List::NAME,
    find::Search::NAME,
    command::Run::NAME,
    web::Search::NAME,
    "submit",
];

/// What a call is about, in one line.
fn detail(input: &str) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_str(input) else {
        return brief(input);
    };
    let about = ["command", "pattern", "path", "query", "glob"];
    let found = about.iter().find_map(|key| fields.get(*key)?.as_str());
    let found = found.or_else(|| fields.values().find_map(Value::as_str));
    brief(found.unwrap_or_default())
}

/// The schema of an input, without what some APIs do not understand.
fn schema<T: JsonSchema>() -> Value {
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
        simplify(property.1);
    }
    schema
}

/// An input that may be left out need not also be `null`, and how wide a number
/// is in Rust is of no interest.
fn simplify(property: &mut Value) {
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
