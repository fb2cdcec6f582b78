//! Translates what a model does into calls of the tools that a request offers.
//!
//! Each CLI has its own names for the same four things. A tool is used only if its name is known
//! and its input has the property that is needed, so a new version of a CLI that renames either is
//! noticed.

use serde_json::{Map, Value, json};

use crate::answer::{ToolCall, ToolInput};
use crate::model_request::{ModelRequest, OfferedTool, ToolKind};
use crate::scenario::ToolAction;

/// The call that does it here, or a sentence that says why there is none.
pub(crate) fn call_for(action: &ToolAction, asked: &ModelRequest) -> Result<ToolCall, String> {
    let found = match action {
        ToolAction::Write { path, content } => call_by_name(
            asked,
            &["Write", "write_file", "write"],
            &[(PATHS, path), (&["content"], content)],
        )
        .or_else(|| patch_call(asked, &added_file_patch(path, content)))
        .or_else(|| shell_call(asked, &print_file_command(path, content))),
        ToolAction::Edit { path, old, new } => call_by_name(
            asked,
            &["Edit", "replace", "edit_file", "edit"],
            &[
                (PATHS, path),
                (&["old_string", "old", "oldString"], old),
                (&["new_string", "new", "newString"], new),
            ],
        )
        .or_else(|| patch_call(asked, &updated_file_patch(path, old, new)))
        .or_else(|| {
            let patch = updated_file_patch(path, old, new);
            // codex carries this one out itself, wherever it stands in a command.
            shell_call(asked, &format!("apply_patch <<'EOP'\n{patch}EOP"))
        }),
        ToolAction::Read { path } => {
            call_by_name(asked, &["Read", "read_file", "read"], &[(PATHS, path)])
                .or_else(|| shell_call(asked, &format!("cat {}", shell_quote(path))))
        }
        ToolAction::Run { command } => call_by_name(
            asked,
            &["Bash", "run_shell_command", "run_command", "bash"],
            &[(&["command"], command)],
        )
        .or_else(|| shell_call(asked, command)),
        ToolAction::Team { tool, input } => team_tool_call(asked, tool, input),
        ToolAction::Call { name, input } => literal_call(asked, name, input),
    };
    found.ok_or_else(|| {
        let offered: Vec<String> = asked.tools.iter().map(OfferedTool::full_name).collect();
        format!(
            "no tool that is offered can {}; offered are: {}",
            describe_action(action),
            offered.join(", ")
        )
    })
}

/// The names that the CLIs give the path of a file.
const PATHS: &[&str] = &["file_path", "path", "absolute_path", "filePath"];

fn describe_action(action: &ToolAction) -> String {
    match action {
        ToolAction::Write { path, .. } => format!("write `{path}`"),
        ToolAction::Edit { path, .. } => format!("edit `{path}`"),
        ToolAction::Read { path } => format!("read `{path}`"),
        ToolAction::Run { command } => format!("run `{command}`"),
        ToolAction::Team { tool, .. } => format!("be codeteam's `{tool}`"),
        ToolAction::Call { name, .. } => format!("be called `{name}`"),
    }
}

/// A call of the first tool of these names that takes all of these values, each under the first
/// name of its list that the tool knows.
fn call_by_name(
    asked: &ModelRequest,
    names: &[&str],
    values: &[(&[&str], &str)],
) -> Option<ToolCall> {
    let tools = asked.tools.iter();
    tools
        .filter(|tool| names.contains(&tool.name.as_str()))
        .find_map(|tool| {
            let mut input = Map::new();
            for (keys, value) in values {
                let key = keys.iter().find(|key| tool.has_property(key))?;
                input.insert((*key).to_owned(), json!(value));
            }
            // Two CLIs want to be told why.
            for key in ["description", "instruction"] {
                if tool.schema["required"]
                    .as_array()
                    .is_some_and(|required| required.contains(&json!(key)))
                {
                    input.insert(key.to_owned(), json!("as the scenario says"));
                }
            }
            Some(call_of_tool(tool, ToolInput::Json(Value::Object(input))))
        })
}

fn call_of_tool(tool: &OfferedTool, input: ToolInput) -> ToolCall {
    ToolCall {
        name: tool.name.clone(),
        namespace: tool.namespace.clone(),
        input,
    }
}

fn find_tool<'a>(asked: &'a ModelRequest, name: &str, kind: ToolKind) -> Option<&'a OfferedTool> {
    asked
        .tools
        .iter()
        .find(|tool| tool.name == name && tool.kind == kind)
}

/// A call through codex's `exec`, which runs a script that calls the tools, if it has this one.
fn call_by_script(asked: &ModelRequest, name: &str, input: &Value) -> Option<ToolCall> {
    let exec = find_tool(asked, "exec", ToolKind::Custom)?;
    if !exec.description.contains(name) {
        return None;
    }
    let script = format!("const result = await tools.{name}({input});\ntext(result);\n");
    Some(call_of_tool(exec, ToolInput::Text(script)))
}

/// codex's way to change files.
fn patch_call(asked: &ModelRequest, patch: &str) -> Option<ToolCall> {
    if let Some(tool) = find_tool(asked, "apply_patch", ToolKind::Custom) {
        return Some(call_of_tool(tool, ToolInput::Text(patch.to_owned())));
    }
    call_by_script(asked, "apply_patch", &json!(patch))
}

/// codex's way to do everything else. Not for CLIs with tools of their own: where those are not
/// offered, a role may not use them.
fn shell_call(asked: &ModelRequest, command: &str) -> Option<ToolCall> {
    let function = |name, input: Value| {
        find_tool(asked, name, ToolKind::Function)
            .map(|tool| call_of_tool(tool, ToolInput::Json(input)))
    };
    function("exec_command", json!({"cmd": command}))
        .or_else(|| function("shell_command", json!({"command": command})))
        .or_else(|| function("shell", json!({"command": ["bash", "-c", command]})))
        .or_else(|| call_by_script(asked, "exec_command", &json!({"cmd": command})))
}

fn literal_call(asked: &ModelRequest, name: &str, input: &Value) -> Option<ToolCall> {
    let tools = asked.tools.iter();
    let tool = tools
        .filter(|tool| tool.name == name || tool.full_name() == name)
        .map(|tool| {
            let input = match (tool.kind, input) {
                (ToolKind::Custom, Value::String(text)) => ToolInput::Text(text.clone()),
                (ToolKind::Custom, other) => ToolInput::Text(other.to_string()),
                (_, Value::String(text)) => ToolInput::Raw(text.clone()),
                (_, Value::Null) => ToolInput::Json(json!({})),
                (_, other) => ToolInput::Json(other.clone()),
            };
            call_of_tool(tool, input)
        })
        .next();
    tool.or_else(|| call_by_script(asked, name, input))
}

/// A tool of codeteam's MCP server: one that is offered, or found by a search, or called by a script.
fn team_tool_call(asked: &ModelRequest, tool: &str, input: &Value) -> Option<ToolCall> {
    let names = ["__", "_", "."].map(|between| format!("codeteam{between}{tool}"));
    let is_it = |name: &str| names.iter().any(|known| name.ends_with(known));
    let input = if input.is_null() {
        json!({})
    } else {
        input.clone()
    };
    let offered = asked.tools.iter().find(|known| is_it(&known.full_name()));
    if let Some(known) = offered {
        return Some(call_of_tool(known, ToolInput::Json(input)));
    }
    if let Some(search) = find_tool(asked, ModelRequest::SEARCH, ToolKind::Search) {
        let searched = asked.has_called_since_prompt(|name| name == ModelRequest::SEARCH);
        return (!searched).then(|| {
            call_of_tool(
                search,
                ToolInput::Json(json!({"query": format!("codeteam {tool}")})),
            )
        });
    }
    let exec = find_tool(asked, "exec", ToolKind::Custom)?;
    let script = format!(
        "const tool = ALL_TOOLS.find((tool) => tool.name.endsWith(\"codeteam__{tool}\"));\n\
         const result = await tools[tool.name]({input});\ntext(result);\n"
    );
    Some(call_of_tool(exec, ToolInput::Text(script)))
}

/// The tool that takes a submission, called with it.
pub(crate) fn submit_tool(asked: &ModelRequest, answer: &Value) -> Option<ToolCall> {
    let tool = asked.tools.iter().find(|tool| is_submit_tool(&tool.name));
    tool.map(|tool| call_of_tool(tool, ToolInput::Json(answer.clone())))
        .or_else(|| {
            let exec = find_tool(asked, "exec", ToolKind::Custom)?;
            let name = identifiers(&exec.description).find(|name| is_submit_tool(name))?;
            call_by_script(asked, name, answer)
        })
}

/// The way to a tool for submissions that codex has and does not show: a search for it, after which
/// it is offered, or a script that finds it. For roads that are forced; there may be none.
pub(crate) fn hidden_submit_tool(asked: &ModelRequest, answer: &Value) -> Option<ToolCall> {
    if let Some(search) = find_tool(asked, ModelRequest::SEARCH, ToolKind::Search) {
        let searched = asked.has_called_since_prompt(|name| name == ModelRequest::SEARCH);
        return (!searched)
            .then(|| call_of_tool(search, ToolInput::Json(json!({"query": "submit"}))));
    }
    let exec = find_tool(asked, "exec", ToolKind::Custom)?;
    let script = format!(
        "const submit = ALL_TOOLS.find((tool) => tool.name.endsWith(\"submit\"));\n\
         const result = await tools[submit.name]({answer});\ntext(result);\n"
    );
    Some(call_of_tool(exec, ToolInput::Text(script)))
}

/// claude's tool for answers that must fit a schema.
pub(crate) fn structured_tool(asked: &ModelRequest, answer: &Value) -> Option<ToolCall> {
    find_tool(asked, STRUCTURED, ToolKind::Function)
        .map(|tool| call_of_tool(tool, ToolInput::Json(answer.clone())))
}

/// The schema of the answer, wherever it is offered.
pub(crate) fn answer_schema(asked: &ModelRequest) -> Option<&Value> {
    asked
        .tools
        .iter()
        .find(|tool| is_answer_tool(&tool.name))
        .map(|tool| &tool.schema)
        .or(asked.schema.as_ref())
}

/// Returns true if a tool of this name takes an answer.
pub(crate) fn is_answer_tool(name: &str) -> bool {
    name == STRUCTURED || is_submit_tool(name)
}

const STRUCTURED: &str = "StructuredOutput";

/// `submit`, or what a CLI makes of an MCP server's tool of that name.
fn is_submit_tool(name: &str) -> bool {
    name == "submit" || name.ends_with("_submit")
}

fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

fn added_file_patch(path: &str, content: &str) -> String {
    let lines = marked_lines('+', content);
    format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n")
}

fn updated_file_patch(path: &str, old: &str, new: &str) -> String {
    let (removed, added) = (marked_lines('-', old), marked_lines('+', new));
    format!("*** Begin Patch\n*** Update File: {path}\n@@\n{removed}{added}*** End Patch\n")
}

/// The lines of a patch.
fn marked_lines(mark: char, text: &str) -> String {
    let lines = text.lines().map(|line| format!("{mark}{line}\n"));
    lines.collect::<Vec<_>>().concat()
}

fn print_file_command(path: &str, content: &str) -> String {
    let path = shell_quote(path);
    let content = shell_quote(content);
    format!("mkdir -p \"$(dirname {path})\" && printf '%s' {content} > {path}")
}

/// One word for a shell.
fn shell_quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
