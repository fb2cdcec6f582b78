//! `codeteam-mcp-fixture`: what the conformance suite of the protocol wants to find in a server,
//! served by the layer that serves codeteam's own tools over HTTP.
//!
//! The suite calls tools, prompts and resources by names of its own, which no real server has.

#![expect(
    deprecated,
    reason = "the suite asks for logging, sampling and subscriptions, which leave the protocol"
)]

mod answers;

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use codeteam_http::{BearerToken, ClientLimits, ClientSessions, LoopbackListener, serve};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
    GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel,
    LoggingMessageNotificationParam, PaginatedRequestParams, ProgressNotificationParam,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    ServerRequest, SetLevelRequestParams, SubscribeRequestParams, UnsubscribeRequestParams,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Between two notifications of one call, as the suite wants it.
const PAUSE: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell if this fails.
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Serves on a free port. The URL and the token are one line of JSON on standard output, as
/// `codeteam mcp --http --json` prints them.
fn run() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let token = BearerToken::generate()?;
    let listener = LoopbackListener::bind(([127, 0, 0, 1], 0).into())?;
    let told = json!({ "url": listener.url(), "token": token.secret() });
    let mut out = std::io::stdout().lock();
    writeln!(out, "{told}")?;
    out.flush()?;
    let sessions = Arc::new(ClientSessions::new(ClientLimits::default()));
    let served = serve(
        listener,
        token,
        sessions,
        || ConformanceServer,
        std::future::pending(),
    );
    Ok(runtime.block_on(served)?)
}

struct ConformanceServer;

/// Something of the protocol's, from how it looks on the wire.
fn from_wire<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|e| ErrorData::internal_error(e.to_string(), None))
}

fn unknown(name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("there is no `{name}`"), None)
}

impl ConformanceServer {
    async fn log(context: &RequestContext<RoleServer>, text: &str) {
        let told = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(text));
        let sent = context.peer.notify_logging_message(told);
        // A client that does not listen still gets its answer.
        let _ = sent.await;
    }

    async fn progress(context: &RequestContext<RoleServer>) {
        for done in [0.0, 50.0, 100.0] {
            if let Some(token) = context.meta.get_progress_token() {
                let told = ProgressNotificationParam::new(token, done).with_total(100.0);
                let _ = context.peer.notify_progress(told).await;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Sends the client a request, and returns its answer as it came.
    async fn ask(
        context: &RequestContext<RoleServer>,
        method: &str,
        params: Value,
    ) -> Result<Value, ErrorData> {
        let request: ServerRequest = from_wire(json!({ "method": method, "params": params }))?;
        let answer = context.peer.send_request(request).await;
        let answer = answer.map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
        serde_json::to_value(answer).map_err(|e| ErrorData::internal_error(e.to_string(), None))
    }
}

impl ServerHandler for ConformanceServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .build();
        let own = Implementation::new("codeteam-mcp-fixture", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(own)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        from_wire(answers::tools())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.as_ref();
        let given = |name: &str| {
            let given = request.arguments.as_ref().and_then(|all| all.get(name));
            given.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let result = match name {
            "test_tool_with_logging" => {
                for text in answers::LOGGED {
                    Self::log(&context, text).await;
                    tokio::time::sleep(PAUSE).await;
                }
                answers::text("logged")
            }
            "test_tool_with_progress" => {
                Self::progress(&context).await;
                answers::text("done")
            }
            "test_sampling" => {
                let params = answers::sampling(&given("prompt"));
                let answer = Self::ask(&context, "sampling/createMessage", params).await?;
                answers::text(&format!("LLM response: {}", answer["content"]["text"]))
            }
            "test_elicitation"
            | "test_elicitation_sep1034_defaults"
            | "test_elicitation_sep1330_enums" => {
                let params = answers::elicitation(name, &given("message"));
                let answer = Self::ask(&context, "elicitation/create", params).await?;
                answers::text(&format!("User response: {answer}"))
            }
            "test_reconnection" => {
                tokio::time::sleep(PAUSE).await;
                answers::text("here again")
            }
            _ => answers::call(name).ok_or_else(|| unknown(name))?,
        };
        Ok(CallToolResponse::Complete(from_wire(result)?))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        from_wire(answers::prompts())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let given = Value::Object(request.arguments.unwrap_or_default());
        let prompt = answers::prompt(&request.name, &given);
        let prompt = prompt.ok_or_else(|| unknown(&request.name))?;
        Ok(GetPromptResponse::Complete(from_wire(prompt)?))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        from_wire(answers::resources())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        from_wire(answers::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = answers::resource(&request.uri).ok_or_else(|| unknown(&request.uri))?;
        Ok(ReadResourceResponse::Complete(from_wire(read)?))
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        from_wire(json!({ "completion": { "values": ["paris", "park"], "hasMore": false } }))
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }
}
