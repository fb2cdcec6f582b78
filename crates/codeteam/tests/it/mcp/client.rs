//! A client as others write them: the official SDK's.

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use rmcp::model::{
    CallToolRequestParams, ClientConfig, GetPromptRequestParams, Implementation,
    ProgressNotificationParam, ReadResourceRequestParams, Tool,
};
use rmcp::service::{NotificationContext, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientHandler, RoleClient, ServiceExt as _};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::project::Project;

/// A client with its server.
pub(super) struct SdkClient {
    runtime: Runtime,
    service: Option<RunningService<RoleClient, ProgressListener>>,
    progress: Arc<Mutex<Vec<String>>>,
}

/// The reply of a tool.
#[derive(Debug)]
pub(super) struct ToolReply {
    pub(super) value: Value,
    pub(super) text: String,
    pub(super) is_error: bool,
}

impl ToolReply {
    pub(super) fn kind(&self) -> &str {
        self.value["type"].as_str().unwrap()
    }

    /// The role that is assigned; a failure if none is.
    pub(super) fn role(&self) -> &str {
        assert_eq!(self.kind(), "role_assignment", "{self:?}");
        self.value["role"].as_str().unwrap()
    }
}

struct ProgressListener {
    progress: Arc<Mutex<Vec<String>>>,
}

impl ClientHandler for ProgressListener {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.client_info = Implementation::new("tester", "1.2");
        info
    }

    async fn on_progress(
        &self,
        told: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let message = told.message.unwrap_or_default();
        self.progress.lock().unwrap().push(message);
    }
}

impl SdkClient {
    pub(super) fn new(project: &Project) -> Self {
        Self::with(project, &[])
    }

    pub(super) fn with(project: &Project, args: &[&str]) -> Self {
        Self::started(project.codeteam(&[&["mcp"], args].concat()))
    }

    /// One whose server has another program above it, as a real client would be: then the test is a
    /// person outside of the session.
    pub(super) fn apart(project: &Project) -> Self {
        let server = project.codeteam(&["mcp"]);
        let mut above = Project::program(Path::new("setsid"));
        // With a pipe of its own, as a client gives it one.
        above.args(["--fork", "--wait", "sh", "-c", "cat | \"$@\"", "sh"]);
        Self::below(above, &server)
    }

    /// One whose server was started by a program that stays above it, as `npx` does.
    pub(super) fn wrapped(project: &Project) -> Self {
        let server = project.codeteam(&["mcp"]);
        let mut above = Project::program(Path::new("setsid"));
        above.args(["--fork", "--wait"]);
        Self::below(above, &server)
    }

    fn below(mut above: Command, server: &Command) -> Self {
        above.arg(server.get_program()).args(server.get_args());
        above.current_dir(server.get_current_dir().unwrap());
        let env = server
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)));
        above.env_clear().envs(env);
        Self::started(above)
    }

    fn started(command: Command) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let progress: Arc<Mutex<Vec<String>>> = Arc::default();
        let listener = ProgressListener {
            progress: Arc::clone(&progress),
        };
        let service = runtime.block_on(async {
            let child = TokioChildProcess::new(tokio::process::Command::from(command)).unwrap();
            listener.serve(child).await.unwrap()
        });
        Self {
            runtime,
            service: Some(service),
            progress,
        }
    }

    fn service(&self) -> &RunningService<RoleClient, ProgressListener> {
        self.service.as_ref().unwrap()
    }

    /// Calls a tool.
    pub(super) fn call(&self, name: &str, arguments: Value) -> ToolReply {
        let params = CallToolRequestParams::new(name.to_owned())
            .with_arguments(arguments.as_object().unwrap().clone());
        let result = self.runtime.block_on(self.service().call_tool(params));
        let result = result.unwrap();
        let text = result.content[0].as_text().unwrap().text.clone();
        ToolReply {
            value: result.structured_content.unwrap(),
            text,
            is_error: result.is_error.unwrap_or(false),
        }
    }

    pub(super) fn submit(&self, submission: Value) -> ToolReply {
        self.call("submit", serde_json::json!({ "submission": submission }))
    }

    pub(super) fn start(&self) -> ToolReply {
        let task = "Add password reset functionality";
        self.call("start_task", serde_json::json!({ "task": task }))
    }

    pub(super) fn status(&self) -> ToolReply {
        self.call("get_status", serde_json::json!({}))
    }

    /// Returns the progress messages that came while calls waited.
    pub(super) fn progress(&self) -> Vec<String> {
        self.progress.lock().unwrap().clone()
    }

    pub(super) fn server(&self) -> (String, String) {
        let info = self.service().peer_info().unwrap();
        let server = info.server_info.clone().unwrap();
        (server.name, server.version)
    }

    pub(super) fn tools(&self) -> Vec<Tool> {
        let listed = self.runtime.block_on(self.service().list_all_tools());
        listed.unwrap()
    }

    /// The names of the prompts, and what one of them says.
    pub(super) fn prompts(&self, name: &str, arguments: Value) -> (Vec<String>, String) {
        self.runtime.block_on(async {
            let all = self.service().list_all_prompts().await.unwrap();
            let mut params = GetPromptRequestParams::new(name.to_owned());
            params.arguments = arguments.as_object().cloned();
            let got = self.service().get_prompt(params).await.unwrap();
            let names = all.into_iter().map(|prompt| prompt.name).collect();
            (names, serde_json::to_string(&got.messages).unwrap())
        })
    }

    /// The addresses of the resources.
    pub(super) fn resources(&self) -> Vec<String> {
        let all = self.runtime.block_on(self.service().list_all_resources());
        all.unwrap().into_iter().map(|r| r.uri).collect()
    }

    pub(super) fn read(&self, uri: &str) -> Result<String, String> {
        let params = ReadResourceRequestParams::new(uri.to_owned());
        let read = self.runtime.block_on(self.service().read_resource(params));
        let read = read.map_err(|error| error.to_string())?;
        let value = serde_json::to_value(&read.contents[0]).unwrap();
        Ok(value["text"].as_str().unwrap().to_owned())
    }

    /// Goes, and lets the server end.
    pub(super) fn close(mut self) {
        if let Some(service) = self.service.take() {
            self.runtime.block_on(service.cancel()).unwrap();
        }
    }
}
