//! Serves the one tool that takes a worker's answer, for CLIs that cannot be held to a schema in
//! any other way.
//!
//! It runs in the worker's sandbox and stores nothing: the CLI's own transcript of the call is what
//! counts. The server exists to report immediately what does not fit, while the worker can still
//! correct it.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use codeteam_core::submission::{self, AnswerForm};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::Value;

const NAME: &str = "submit";

/// Serves the tool on standard input and output until its client disconnects.
pub fn serve(form: AnswerForm) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let served = SubmitServer::new(form)
            .serve(rmcp::transport::stdio())
            .await;
        let service = served.map_err(io::Error::other)?;
        service.waiting().await.map_err(io::Error::other)?;
        Ok(())
    })
}

struct SubmitServer {
    form: AnswerForm,
    is_done: AtomicBool,
}

impl SubmitServer {
    fn new(form: AnswerForm) -> Self {
        Self {
            form,
            is_done: AtomicBool::new(false),
        }
    }

    /// Checks an answer against its form and returns the reply for the worker.
    fn check_answer(&self, answer: JsonObject) -> Result<&'static str, String> {
        if self.is_done.load(Ordering::Relaxed) {
            return Err("an answer was accepted already; end here".to_owned());
        }
        let text = Value::Object(answer).to_string();
        submission::parse(self.form, &text)?;
        self.is_done.store(true, Ordering::Relaxed);
        Ok("accepted; end here and say nothing more")
    }
}

impl ServerHandler for SubmitServer {
    fn get_info(&self) -> ServerConfig {
        let tools = ServerCapabilities::builder().enable_tools().build();
        let own = Implementation::new("codeteam", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(tools).with_server_info(own)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = match submission::answer_schema(self.form) {
            Value::Object(schema) => schema,
            _ => JsonObject::new(),
        };
        let words = "Submits your answer. Call it once, when you are done; it ends your work.";
        let tool = Tool::new(NAME, words, schema);
        Ok(ListToolsResult::with_all_items(vec![tool]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != NAME {
            let message = format!("there is no tool `{}`", request.name);
            return Err(ErrorData::invalid_params(message, None));
        }
        let said = self.check_answer(request.arguments.unwrap_or_default());
        let result = match said {
            Ok(words) => CallToolResult::success(vec![ContentBlock::text(words)]),
            Err(wrong) => {
                let example = submission::example(self.form);
                let words = format!("not accepted: {wrong}\nfor example: {example}");
                CallToolResult::error(vec![ContentBlock::text(words)])
            }
        };
        Ok(CallToolResponse::Complete(result))
    }
}
