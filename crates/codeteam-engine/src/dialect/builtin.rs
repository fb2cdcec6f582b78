//! The built-in worker: `codeteam agent`, asking any model API.

use codeteam_core::assignment::Assignment;
use codeteam_core::role::Kind;
use serde_json::json;

use super::lines::Lines;
use super::{Dialect, Fold, Listening, Needs, Program, Surroundings, tools};
use crate::prompt::Prompt;

/// Speaks to `codeteam agent`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Builtin;

impl Builtin {
    /// Its own names for the tools that an assignment allows; none for all that it has.
    pub(crate) fn tools(assignment: &Assignment) -> Vec<String> {
        let is_default = assignment.means.allowed_tools.is_empty();
        if is_default && assignment.kind != Kind::Scribe {
            // It knows itself who may change files, and what the user's settings make possible.
            return Vec::new();
        }
        let mut tools = tools::BUILTIN.offered(assignment.kind, &assignment.means);
        let servers = &assignment.means.mcp_servers;
        for name in tools::of_servers(&assignment.means) {
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

impl Dialect for Builtin {
    fn needs(&self) -> Option<&'static Needs> {
        None
    }

    fn command(&self, assignment: &Assignment, _: &Prompt, around: &Surroundings) -> Program {
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
        Program {
            program: around.codeteam.clone().into(),
            args,
            files,
            reads: vec![around.codeteam.clone()],
            ..Program::default()
        }
    }

    fn fold(&self, listening: &Listening) -> Box<dyn Fold> {
        Box::new(Lines::new(&listening.account))
    }
}
