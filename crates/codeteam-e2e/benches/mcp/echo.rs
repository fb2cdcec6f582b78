//! The least there can be: `rmcp` with one tool.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};

use super::Outcome;

/// Serves on standard input and output until the client goes: as the SDK does it by itself, with a
/// thread that reads, or by pipes without one, as codeteam does.
pub(crate) fn serve(pipes: bool) -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let service = if pipes {
            EchoServer.serve(rmcp::transport::stdio_pipes()).await?
        } else {
            EchoServer.serve(rmcp::transport::stdio()).await?
        };
        service.waiting().await?;
        Ok(())
    })
}

struct EchoServer;

impl ServerHandler for EchoServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = Tool::new("echo", "Says it again.", JsonObject::new());
        Ok(ListToolsResult::with_all_items(vec![tool]))
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let result = CallToolResult::success(vec![ContentBlock::text("hello")]);
        Ok(CallToolResponse::Complete(result))
    }
}
