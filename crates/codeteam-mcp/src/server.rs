//! The server as its clients see it: it translates tools, prompts and resources to and from the
//! protocol.
//!
//! One thread serves; blocking work runs on other threads. A cached status is returned immediately.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult,
    ErrorCode, GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::checkout_task::{CallOutcome, CheckoutTask, LeadingSession, ServerContext};
use super::clients::{self, ClientRegistry, LeadRefusal, RequestCaller};
use super::tool_answer::ToolAnswer;
use super::tools::{self, InvalidCall, ToolCall};
use super::{prompts, resources};

/// The interval at which a waiting client is told about progress.
const TICK: Duration = Duration::from_millis(500);

const INSTRUCTIONS: &str = "codeteam leads you through a task in roles: analyst, architect, coder, QA, \
    reviewer. Every answer begins with what to do next (`do_next`): do that, and nothing else. The checks \
    are run by codeteam itself. In a new session call get_status first.";

/// The MCP server for one client.
///
/// It translates between the protocol and [`CheckoutTask`] and contains no rules of its own. A tool
/// call is handled in these steps: the calling client claims the lead, which is refused if another
/// client of the same server leads an open task; a cached status is returned at once; anything else
/// runs on a blocking thread. If something was submitted, the call then waits up to `wait` for
/// codeteam's own work (checks, integration), reports progress meanwhile, and returns what is
/// expected next.
///
/// Invalid arguments are answered with a refusal that the model can read, not with a protocol
/// error, because such errors do not reach the model in every client.
pub(super) struct McpServer {
    task: Arc<CheckoutTask>,
    /// The other clients of the server, if there may be several.
    clients: Option<Arc<ClientRegistry>>,
    /// How long a call waits for checks before it answers that they are still running.
    wait: Duration,
}

impl McpServer {
    pub(super) fn new(place: ServerContext, wait: Duration) -> Self {
        Self {
            task: Arc::new(CheckoutTask::new(place)),
            clients: None,
            wait,
        }
    }

    /// Creates the server for one of several clients that share a task.
    pub(super) fn shared(
        team: Arc<CheckoutTask>,
        clients: Arc<ClientRegistry>,
        wait: Duration,
    ) -> Self {
        Self {
            task: team,
            clients: Some(clients),
            wait,
        }
    }

    /// Makes the calling client the leader, if the server has several clients.
    async fn claim_lead(
        &self,
        label: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<Result<Option<clients::LeadGuard>, LeadRefusal>, ErrorData> {
        let Some(clients) = self.clients.clone() else {
            return Ok(Ok(None));
        };
        let caller = RequestCaller {
            session: codeteam_http::session_id(context).map(str::to_owned),
            label: label.to_owned(),
            connection: codeteam_http::request_connection(context),
        };
        let is_open = self.task.is_open();
        run_blocking(move || clients.begin_call(caller, is_open).map(Some)).await
    }

    async fn handle_call(
        &self,
        call: ToolCall,
        context: &RequestContext<RoleServer>,
    ) -> Result<ToolAnswer, ErrorData> {
        let label = client_label(context);
        let _leads = match self.claim_lead(&label, context).await? {
            Ok(leads) => leads,
            Err(refusal) => {
                let team = Arc::clone(&self.task);
                return run_blocking(move || match refusal {
                    LeadRefusal::LedByOther(leader) => team.answer_for_other(&leader, &call),
                    LeadRefusal::Unknown => unknown_client_answer(),
                })
                .await;
            }
        };
        if matches!(call, ToolCall::Status)
            && let Some(answer) = self.task.status_at_once()
        {
            return Ok(answer);
        }
        let team = Arc::clone(&self.task);
        let done = run_blocking(move || match call {
            ToolCall::Start(args) => team.start(args, &label),
            ToolCall::Submit(args) => team.submit(args, &label),
            ToolCall::Resume(args) => team.resume(&args, &label),
            ToolCall::Abort(args) => team.abort(args, &label),
            ToolCall::Status => team.status(&label),
            ToolCall::History(args) => team.history(&args, &label).into(),
        });
        match done.await? {
            CallOutcome::Answer(answer) => Ok(answer),
            CallOutcome::Submitted(led, submitted) => {
                self.wait_until_settled(&led, context).await?;
                run_blocking(move || led.outcome(submitted.as_ref())).await
            }
            CallOutcome::Checking(led) => {
                self.wait_until_settled(&led, context).await?;
                run_blocking(move || led.status()).await
            }
        }
    }

    /// Waits a while for codeteam's own work to finish, and reports progress meanwhile.
    async fn wait_until_settled(
        &self,
        led: &Arc<LeadingSession>,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (begun, token) = (Instant::now(), context.meta.get_progress_token());
        loop {
            let left = self.wait.saturating_sub(begun.elapsed());
            let slice = left.min(TICK);
            let waiting = Arc::clone(led);
            let settled = run_blocking(move || waiting.wait_until_settled(slice)).await?;
            if settled || left <= slice || context.ct.is_cancelled() {
                return Ok(());
            }
            if let Some(token) = &token {
                let last = led.progress().pop();
                let mut told =
                    ProgressNotificationParam::new(token.clone(), begun.elapsed().as_secs_f64());
                told.message = Some(last.unwrap_or_else(|| "codeteam is at work".to_owned()));
                // A client that does not listen still gets its answer.
                let _ = context.peer.notify_progress(told).await;
            }
        }
    }
}

/// Builds the answer for a client that cannot be distinguished from others.
fn unknown_client_answer() -> ToolAnswer {
    let errors = [
        "this client cannot be distinguished from others: it opens no session, and the program at the other end of \
         its connection cannot be seen, because it is another user's or the port is forwarded"
            .to_owned(),
    ];
    ToolAnswer::refused(
        &errors,
        "Nothing was done. Tell the user: use a client that opens sessions (protocol 2025-11-25 or older), \
         or let the client start `codeteam mcp` itself, without `--http`.",
    )
}

/// Returns a name for a client that others can be shown.
fn client_label(context: &RequestContext<RoleServer>) -> String {
    let client = context.client_info();
    let name = client.map(|client| format!("{} {}", client.name, client.version));
    let name = name.unwrap_or_else(|| "an MCP client".to_owned());
    let plain = name.chars().filter(|c| !c.is_control());
    plain.take(80).collect::<String>().trim().to_owned()
}

/// Runs blocking work off the serving loop.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ErrorData> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .build();
        let own = Implementation::new("codeteam", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities)
            .with_server_info(own)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::list_tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let _entered = self.task.admit_call()?;
        let started = Instant::now();
        tracing::debug!("the session calls `{}`", request.name);
        let answer = match tools::parse_call(&request.name, request.arguments) {
            Ok(call) => self.handle_call(call, &context).await?,
            // The model can correct its arguments; a protocol error would not reach it in every
            // client.
            Err(InvalidCall::Arguments(why)) => ToolAnswer::refused(
                &[why],
                "Nothing was done. Call the tool again with arguments that fit.",
            ),
            Err(InvalidCall::Tool(error)) => return Err(error),
        };
        let ms = started.elapsed().as_millis();
        tracing::debug!(ms, "answered `{}`", request.name);
        Ok(CallToolResponse::Complete(CallToolResult::from(answer)))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let prompt = prompts::get(&request.name, request.arguments.as_ref())?;
        Ok(GetPromptResponse::Complete(prompt))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let _entered = self.task.admit_call()?;
        let team = Arc::clone(&self.task);
        let listed = run_blocking(move || resources::list_resources(&team)).await??;
        Ok(ListResourcesResult::with_all_items(listed))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = resources::resource_templates();
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let _entered = self.task.admit_call()?;
        let team = Arc::clone(&self.task);
        let read = run_blocking(move || resources::read_resource(&team, &request.uri)).await??;
        Ok(ReadResourceResponse::Complete(read))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // A known method arrives here only if its parameters could not be parsed.
        let known = ["tools/", "prompts/", "resources/", "initialize"];
        let method: String = request.method.chars().take(80).collect();
        if known.iter().any(|start| method.starts_with(start)) {
            let text = format!("the parameters of `{method}` do not fit");
            return Err(ErrorData::invalid_params(text, None));
        }
        let text = format!("there is no method `{method}`");
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None))
    }
}
