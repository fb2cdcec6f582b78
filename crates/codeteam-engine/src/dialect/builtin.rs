//! The built-in worker: `codeteam agent` with any model API.

use codeteam_core::assignment::Assignment;
use codeteam_core::role::RoleKind;
use serde_json::{Value, json};

use super::agent::{self, AgentFold};
use super::{
    CliRequirements, Dialect, FoldSettings, LaunchSettings, OutputFold, TraceBuilder,
    WorkerCommand, tools,
};
use crate::prompt::Prompt;

/// The dialect of `codeteam agent`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BuiltinDialect;

impl BuiltinDialect {
    /// Returns its own names for the tools that an assignment allows; an empty list means all it
    /// has.
    pub(crate) fn tools(assignment: &Assignment) -> Vec<String> {
        let is_default = assignment.means.allowed_tools.is_empty();
        if is_default && assignment.kind != RoleKind::Scribe {
            // The worker itself knows which roles may change files, and what the user's settings
            // allow.
            return Vec::new();
        }
        let mut tools = tools::BUILTIN.tools_for_role(assignment.kind, &assignment.means);
        let servers = &assignment.means.mcp_servers;
        for name in tools::server_tools(&assignment.means) {
            if name.contains("__") || name.ends_with('*') {
                tools.push(name.to_owned());
            } else {
                tools.extend(servers.iter().map(|server| format!("{server}__{name}")));
            }
        }
        for server in servers {
            let of_server = format!("{server}__");
            if !tools.iter().any(|tool| tool.starts_with(&of_server)) {
                tools.push(format!("{of_server}*"));
            }
        }
        tools
    }
}

impl Dialect for BuiltinDialect {
    fn requirements(&self) -> Option<&'static CliRequirements> {
        None
    }

    fn command(
        &self,
        assignment: &Assignment,
        _: &Prompt,
        around: &LaunchSettings,
    ) -> WorkerCommand {
        let mut args = vec![
            "agent".into(),
            "--assignment".into(),
            around.assignment.clone().into(),
        ];
        let mut option = |name: &str, value: &str| args.extend([name.into(), value.into()]);
        if let Some(protocol) = around.protocol {
            option("--protocol", protocol.as_str());
        }
        if let Some((_, url)) = &around.base_url {
            option("--base-url", url);
        }
        if let Some(model) = &around.model {
            option("--model", model);
        }
        if let Some(url) = &around.web_search {
            option("--web-search", url);
        }
        let sampling = &around.sampling;
        if let Some(tokens) = sampling.context_tokens {
            option("--context-tokens", &tokens.to_string());
        }
        if let Some(tokens) = sampling.max_tokens {
            option("--max-tokens", &tokens.to_string());
        }
        if let Some(temperature) = sampling.temperature {
            option("--temperature", &temperature.to_string());
        }
        if let (Some(price), Some(_)) = (&around.price, assignment.limits.max_cost_microusd) {
            let cached = price.cached_input.unwrap_or(price.input);
            let prices = format!("{},{cached},{}", price.input, price.output);
            option("--price", &prices);
        }
        if assignment.means.use_planner {
            args.push("--plan".into());
        }
        let mut files = Vec::new();
        if !around.mcp_servers.is_empty() {
            let path = around.folder.join("mcp.json");
            let servers = json!({ "servers": around.mcp_servers }).to_string();
            args.extend(["--mcp-servers".into(), path.clone().into()]);
            files.push((path, servers));
        }
        WorkerCommand {
            program: around.codeteam.clone().into(),
            args,
            files,
            reads: vec![around.codeteam.clone()],
            ..WorkerCommand::default()
        }
    }

    fn plans_by_itself(&self) -> bool {
        true
    }

    fn trace_event(&self, event: &Value, trace: &mut TraceBuilder) {
        agent::trace::trace_event(event, trace);
    }

    fn fold(&self, listening: &FoldSettings) -> Box<dyn OutputFold> {
        Box::new(AgentFold::new(&listening.account))
    }
}
