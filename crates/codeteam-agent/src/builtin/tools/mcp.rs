//! Tools of Model Context Protocol servers; no other module knows the protocol.
//!
//! Each server is a child process with a runtime of its own, which runs only during a request.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, ResourceContents};
use rmcp::service::{RoleClient, RunningService, ServiceExt as _};
use rmcp::transport::TokioChildProcess;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::super::api::ToolSpec;
use super::super::{Error, assignment, error_chain};
use super::{CallableTool, RegisteredTool, ToolOutcome};
use crate::process;

/// The separator between the names of a server and of its tool.
pub(super) const SEPARATOR: &str = "__";

/// The longest time that a server may take to start.
const START: Duration = Duration::from_secs(30);

/// The longest time that a tool may take.
const CALL: Duration = Duration::from_mins(5);

/// The longest name that every API accepts.
const NAME_CHARS: usize = 64;

/// A server, as the list names it.
#[derive(Deserialize)]
pub(super) struct McpServer {
    #[serde(skip)]
    pub(super) name: String,
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct McpServerList {
    #[serde(default)]
    servers: BTreeMap<String, McpServer>,
}

/// Reads the list of servers.
pub(super) fn read_servers(path: &Path) -> Result<Vec<McpServer>, Error> {
    let text = assignment::read_limited(path)?;
    let list: McpServerList = serde_json::from_str(&text).map_err(|source| Error::Servers {
        path: path.to_owned(),
        source,
    })?;
    let named = list.servers.into_iter();
    Ok(named
        .map(|(name, server)| McpServer { name, ..server })
        .collect())
}

/// A server that runs.
struct McpConnection {
    runtime: Runtime,
    /// The running service; `None` only while it is being ended.
    service: Option<RunningService<RoleClient, ()>>,
}

impl Drop for McpConnection {
    fn drop(&mut self) {
        if let Some(service) = self.service.take() {
            let _ = self.runtime.block_on(service.cancel());
        }
    }
}

/// Starts a server and lists its tools. The error says why there are none.
pub(super) fn connect_tools(
    server: &McpServer,
    root: &Path,
) -> Result<Vec<RegisteredTool>, String> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let mut command = process::worktree_command(&server.command, root);
    command.args(&server.args).envs(&server.env);
    let started = runtime.block_on(async {
        let transport = TokioChildProcess::new(tokio::process::Command::from(command))
            .map_err(|error| format!("`{}` does not start: {error}", server.command))?;
        let service = timeout(START, ().serve(transport))
            .await
            .map_err(|_| "it does not answer".to_owned())?
            .map_err(|error| error_chain(&error))?;
        let tools = timeout(START, service.list_all_tools())
            .await
            .map_err(|_| "it does not name its tools".to_owned())?
            .map_err(|error| error_chain(&error))?;
        Ok::<_, String>((service, tools))
    });
    let (service, tools) = started?;
    let connection = Rc::new(McpConnection {
        runtime,
        service: Some(service),
    });
    let entry = |tool: rmcp::model::Tool| RegisteredTool {
        spec: ToolSpec {
            name: qualified_tool_name(&server.name, &tool.name),
            description: tool.description.as_deref().unwrap_or_default().to_owned(),
            schema: input_schema(&tool.input_schema),
        },
        tool: Box::new(McpTool {
            connection: Rc::clone(&connection),
            name: tool.name.to_string(),
        }),
    };
    Ok(tools.into_iter().map(entry).collect())
}

/// The name under which the model knows a tool, of the characters that all APIs
/// take.
fn qualified_tool_name(server: &str, tool: &str) -> String {
    let plain = |c: char| {
        let is_plain = c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if is_plain { c } else { '_' }
    };
    let name = format!("{server}{SEPARATOR}{tool}");
    name.chars().map(plain).take(NAME_CHARS).collect()
}

/// The schema of an input, as all APIs want it.
fn input_schema(found: &Map<String, Value>) -> Value {
    let mut schema = found.clone();
    schema.remove("$schema");
    schema.entry("type").or_insert_with(|| "object".into());
    Value::Object(schema)
}

/// A tool of a server.
struct McpTool {
    connection: Rc<McpConnection>,
    name: String,
}

impl CallableTool for McpTool {
    fn call(&self, input: &str) -> ToolOutcome {
        let input: Map<String, Value> = serde_json::from_str(input)
            .map_err(|error| format!("the input is not a JSON object: {error}"))?;
        let Some(service) = &self.connection.service else {
            return Err("the server has ended".to_owned());
        };
        let params = CallToolRequestParams::new(self.name.clone()).with_arguments(input);
        let result = self
            .connection
            .runtime
            .block_on(async { timeout(CALL, service.call_tool(params)).await });
        match result {
            Ok(Ok(result)) => tool_outcome(&result),
            Ok(Err(error)) => Err(error_chain(&error)),
            Err(_) => Err(format!("it took longer than {} s", CALL.as_secs())),
        }
    }
}

fn tool_outcome(result: &CallToolResult) -> ToolOutcome {
    let mut parts: Vec<String> = result.content.iter().map(content_text).collect();
    if let (true, Some(structured)) = (parts.is_empty(), &result.structured_content) {
        parts.push(structured.to_string());
    }
    let text = parts.join("\n");
    if result.is_error == Some(true) {
        return Err(text);
    }
    Ok(text.into())
}

/// A block of content in words.
fn content_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            _ => "(a binary resource, which cannot be shown)".to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("(a resource: {})", link.uri),
        // An image, a sound, or what the protocol will think of.
        _ => "(something that cannot be shown as text)".to_owned(),
    }
}
