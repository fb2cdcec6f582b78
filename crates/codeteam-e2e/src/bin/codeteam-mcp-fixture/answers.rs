//! The answers that the suite expects, in wire form.

use serde_json::{Value, json};

/// One red dot, as PNG.
const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// No sound at all, as WAV.
const SOUND: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==";

/// The log messages of a tool.
pub(crate) const LOGGED: [&str; 3] = [
    "Tool execution started",
    "Tool processing data",
    "Tool execution completed",
];

/// A result of one text.
pub(crate) fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

fn image() -> Value {
    json!({ "type": "image", "data": IMAGE, "mimeType": "image/png" })
}

fn embedded(uri: &str, kind: &str, text: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": kind, "text": text } })
}

/// The result of a tool that always has the same.
pub(crate) fn call(name: &str) -> Option<Value> {
    Some(match name {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => json!({ "content": [image()] }),
        "test_audio_content" => json!({
            "content": [{ "type": "audio", "data": SOUND, "mimeType": "audio/wav" }],
        }),
        "test_embedded_resource" => json!({ "content": [embedded(
            "test://embedded-resource", "text/plain", "This is an embedded resource content.",
        )] }),
        "test_multiple_content_types" => json!({ "content": [
            { "type": "text", "text": "Multiple content types test:" },
            image(),
            embedded(
                "test://mixed-content-resource", "application/json",
                r#"{"test":"data","value":123}"#,
            ),
        ] }),
        "test_error_handling" => {
            let mut result = text("This tool intentionally returns an error for testing");
            result["isError"] = json!(true);
            result
        }
        "json_schema_2020_12_tool" => text("it fits"),
        _ => return None,
    })
}

/// All tools.
pub(crate) fn tools() -> Value {
    let plain = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_tool_with_logging",
        "test_error_handling",
        "test_tool_with_progress",
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
        "test_reconnection",
    ];
    let tool = |name: &str, schema: Value| json!({ "name": name, "description": format!("For the suite: {name}."), "inputSchema": schema });
    let one = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] });
    let mut tools: Vec<Value> = plain
        .iter()
        .map(|name| tool(name, json!({ "type": "object" })))
        .collect();
    tools.push(tool("test_sampling", one("prompt")));
    tools.push(tool("test_elicitation", one("message")));
    tools.push(tool(
        "json_schema_2020_12_tool",
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": { "address": {
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            } },
            "properties": { "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" } },
            "additionalProperties": false,
        }),
    ));
    json!({ "tools": tools })
}

/// Returns a request for a model's answer.
pub(crate) fn sampling(prompt: &str) -> Value {
    json!({
        "messages": [{ "role": "user", "content": { "type": "text", "text": prompt } }],
        "maxTokens": 100,
    })
}

/// Returns a question for a person.
pub(crate) fn elicitation(tool: &str, message: &str) -> Value {
    let (message, schema) = match tool {
        "test_elicitation_sep1034_defaults" => ("Please look these over", defaults()),
        "test_elicitation_sep1330_enums" => ("Please choose", enums()),
        _ => (
            message,
            json!({
                "type": "object",
                "properties": {
                    "username": { "type": "string", "description": "User's response" },
                    "email": { "type": "string", "description": "User's email address" },
                },
                "required": ["username", "email"],
            }),
        ),
    };
    json!({ "mode": "form", "message": message, "requestedSchema": schema })
}

fn defaults() -> Value {
    json!({ "type": "object", "properties": {
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": {
            "type": "string", "enum": ["active", "inactive", "pending"], "default": "active",
        },
        "verified": { "type": "boolean", "default": true },
    } })
}

fn enums() -> Value {
    let plain = json!(["option1", "option2", "option3"]);
    let titled = json!([
        { "const": "value1", "title": "First" },
        { "const": "value2", "title": "Second" },
        { "const": "value3", "title": "Third" },
    ]);
    json!({ "type": "object", "properties": {
        "untitledSingle": { "type": "string", "enum": plain },
        "titledSingle": { "type": "string", "oneOf": titled },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": plain } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled } },
    } })
}

/// All prompts.
pub(crate) fn prompts() -> Value {
    let argument = |name: &str| json!({ "name": name, "required": true });
    let prompt = |name: &str, arguments: &[&str]| {
        json!({
            "name": name,
            "description": format!("For the suite: {name}."),
            "arguments": arguments.iter().map(|name| argument(name)).collect::<Vec<_>>(),
        })
    };
    json!({ "prompts": [
        prompt("test_simple_prompt", &[]),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        prompt("test_prompt_with_image", &[]),
    ] })
}

/// One of them, with what was given.
pub(crate) fn prompt(name: &str, given: &Value) -> Option<Value> {
    let given = |name: &str| given[name].as_str().unwrap_or_default().to_owned();
    let user = |content: Value| json!({ "role": "user", "content": content });
    let says = |text: &str| user(json!({ "type": "text", "text": text }));
    let messages = match name {
        "test_simple_prompt" => vec![says("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => vec![says(&format!(
            "Prompt with arguments: arg1='{}', arg2='{}'",
            given("arg1"),
            given("arg2")
        ))],
        "test_prompt_with_embedded_resource" => vec![
            user(embedded(
                &given("resourceUri"),
                "text/plain",
                "Embedded resource content for testing.",
            )),
            says("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => {
            vec![user(image()), says("Please analyze the image above.")]
        }
        _ => return None,
    };
    Some(json!({ "messages": messages }))
}

/// All resources.
pub(crate) fn resources() -> Value {
    let resource = |uri: &str, kind: &str| json!({ "uri": uri, "name": uri, "description": format!("For the suite: {uri}."), "mimeType": kind });
    json!({ "resources": [
        resource("test://static-text", "text/plain"),
        resource("test://static-binary", "image/png"),
        resource("test://watched-resource", "text/plain"),
    ] })
}

/// Returns the one resource template.
pub(crate) fn templates() -> Value {
    json!({ "resourceTemplates": [{
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "mimeType": "application/json",
    }] })
}

/// One of them.
pub(crate) fn resource(uri: &str) -> Option<Value> {
    let (kind, name, content) = match uri {
        "test://static-text" => (
            "text/plain",
            "text",
            "This is the content of the static text resource.".to_owned(),
        ),
        "test://watched-resource" => ("text/plain", "text", "Watched.".to_owned()),
        "test://static-binary" => ("image/png", "blob", IMAGE.to_owned()),
        _ => {
            let id = uri
                .strip_prefix("test://template/")?
                .strip_suffix("/data")?;
            let data =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            ("application/json", "text", data.to_string())
        }
    };
    Some(json!({ "contents": [{ "uri": uri, "mimeType": kind, name: content }] }))
}
