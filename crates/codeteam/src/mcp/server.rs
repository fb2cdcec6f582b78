//! The server as its clients see it: tools, prompts and resources, put into the words of the protocol.
//!
//! One thread serves; what takes time is done beside it. A status that is known is told at once.

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

use super::answer::ToolAnswer;
use super::clients::{self, ClientRegistry, LeadRefusal, RequestCaller};
use super::team::{CallOutcome, CheckoutTask, LeadingSession, ServerContext};
use super::tools::{self, InvalidCall, ToolCall};
use super::{prompts, resources};

/// How often a client that waits is told what goes on.
const TICK: Duration = Duration::from_millis(500);

const INSTRUCTIONS: &str = "codeteam leads you through a task in roles: analyst, architect, coder, QA, \
    reviewer. Every answer begins with what to do next (`do_next`): do that, and nothing else. The checks \
    are run by codeteam itself. In a new session call get_status first.";

/// The server.
pub(super) struct McpServer {
    team: Arc<CheckoutTask>,
    /// Who else is served, if others may be.
    clients: Option<Arc<ClientRegistry>>,
    /// How long a call waits for checks before it answers that they still run.
    wait: Duration,
}

impl McpServer {
    pub(super) fn new(place: ServerContext, wait: Duration) -> Self {
        Self {
            team: Arc::new(CheckoutTask::new(place)),
            clients: None,
            wait,
        }
    }

    /// For one of several clients, who share a task.
    pub(super) fn shared(
        team: Arc<CheckoutTask>,
        clients: Arc<ClientRegistry>,
        wait: Duration,
    ) -> Self {
        Self {
            team,
            clients: Some(clients),
            wait,
        }
    }

    /// Lets a client lead, if others are served too.
    async fn lead(
        &self,
        label: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<Result<Option<clients::LeadGuard>, LeadRefusal>, ErrorData> {
        let Some(clients) = self.clients.clone() else {
            return Ok(Ok(None));
        };
        let caller = RequestCaller {
            session: codeteam_http::client(context).map(str::to_owned),
            label: label.to_owned(),
            connection: codeteam_http::connection(context),
        };
        let is_open = self.team.is_open();
        beside(move || clients.call(caller, is_open).map(Some)).await
    }

    async fn call(
        &self,
        call: ToolCall,
        context: &RequestContext<RoleServer>,
    ) -> Result<ToolAnswer, ErrorData> {
        let label = label(context);
        let _leads = match self.lead(&label, context).await? {
            Ok(leads) => leads,
            Err(refusal) => {
                let team = Arc::clone(&self.team);
                return beside(move || match refusal {
                    LeadRefusal::Led(leader) => team.led_by(&leader, &call),
                    LeadRefusal::Unknown => unknown(),
                })
                .await;
            }
        };
        if matches!(call, ToolCall::Status)
            && let Some(answer) = self.team.status_at_once()
        {
            return Ok(answer);
        }
        let team = Arc::clone(&self.team);
        let done = beside(move || match call {
            ToolCall::Start(args) => team.start(args, &label),
            ToolCall::Submit(args) => team.submit(args, &label),
            ToolCall::Resume(args) => team.resume(&args, &label),
            ToolCall::Abort(args) => team.abort(args, &label),
            ToolCall::Status => team.status(&label),
            ToolCall::History(args) => team.history(&args, &label).into(),
        });
        match done.await? {
            CallOutcome::Answer(answer) => Ok(answer),
            CallOutcome::HandedIn(led, submitted) => {
                self.settle(&led, context).await?;
                beside(move || led.outcome(submitted.as_ref())).await
            }
            CallOutcome::Checking(led) => {
                self.settle(&led, context).await?;
                beside(move || led.status()).await
            }
        }
    }

    /// Waits until codeteam's own work is done, for a while, and tells what goes on meanwhile.
    async fn settle(
        &self,
        led: &Arc<LeadingSession>,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (begun, token) = (Instant::now(), context.meta.get_progress_token());
        loop {
            let left = self.wait.saturating_sub(begun.elapsed());
            let slice = left.min(TICK);
            let waiting = Arc::clone(led);
            let settled = beside(move || waiting.settled(slice)).await?;
            if settled || left <= slice || context.ct.is_cancelled() {
                return Ok(());
            }
            if let Some(token) = &token {
                let last = led.state().progress.pop();
                let mut told =
                    ProgressNotificationParam::new(token.clone(), begun.elapsed().as_secs_f64());
                told.message = Some(last.unwrap_or_else(|| "codeteam is at work".to_owned()));
                // A client that does not listen still gets its answer.
                let _ = context.peer.notify_progress(told).await;
            }
        }
    }
}

/// What is said to a client that cannot be told from others.
fn unknown() -> ToolAnswer {
    let errors = [
        "this client cannot be told from others: it opens no session, and the program at the other end of \
         its connection cannot be seen, because it is another user's or the port is forwarded"
            .to_owned(),
    ];
    ToolAnswer::refused(
        &errors,
        "Nothing was done. Tell the user: use a client that opens sessions (protocol 2025-11-25 or older), \
         or let the client start `codeteam mcp` itself, without `--http`.",
    )
}

/// Names a client to others.
fn label(context: &RequestContext<RoleServer>) -> String {
    let client = context.client_info();
    let name = client.map(|client| format!("{} {}", client.name, client.version));
    let name = name.unwrap_or_else(|| "an MCP client".to_owned());
    let plain = name.chars().filter(|c| !c.is_control());
    plain.take(80).collect::<String>().trim().to_owned()
}

/// Does something beside the loop that serves.
async fn beside<T: Send + 'static>(
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
        Ok(ListToolsResult::with_all_items(tools::list()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let _entered = self.team.enter()?;
        let answer = match tools::read(&request.name, request.arguments) {
            Ok(call) => self.call(call, &context).await?,
            // What a model got wrong, it can mend: protocol errors do not reach it in every client.
            Err(InvalidCall::Arguments(why)) => ToolAnswer::refused(
                &[why],
                "Nothing was done. Call the tool again with arguments that fit.",
            ),
            Err(InvalidCall::Tool(error)) => return Err(error),
        };
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
        let _entered = self.team.enter()?;
        let team = Arc::clone(&self.team);
        let listed = beside(move || resources::list(&team)).await??;
        Ok(ListResourcesResult::with_all_items(listed))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = resources::templates();
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let _entered = self.team.enter()?;
        let team = Arc::clone(&self.team);
        let read = beside(move || resources::read(&team, &request.uri)).await??;
        Ok(ReadResourceResponse::Complete(read))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // A known method is here only if its parameters could not be read.
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
