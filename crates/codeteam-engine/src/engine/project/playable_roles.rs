//! Leaves out the roles that nobody can play here, so that no plan names them and nobody who
//! assembles a team is offered them.

use codeteam_core::ids::WorkerName;
use codeteam_core::operator::Operator;
use codeteam_core::role::Role;
use codeteam_workflow::language::CompiledWorkflow;

use super::Project;
use crate::dialect::{self, DialectName};
use crate::engine::RunRequest;
use crate::workers::{self, Worker};

impl Project {
    /// Removes the roles that no step names and nobody can play here: their tools, their MCP servers
    /// or all of their workers are missing. A plan that names such a role is refused, and nobody
    /// who assembles a team is offered it.
    pub(super) fn drop_unplayable_roles(
        &self,
        compiled: &mut CompiledWorkflow,
        request: &RunRequest,
    ) {
        let is_playable = |role: &Role| {
            let named = role.workers.iter();
            let is_here = |name: &WorkerName| {
                let worker = Worker::find(&self.config, name);
                worker.is_some_and(|w| workers::is_installed(&self.config, &self.env, &w))
            };
            let has_worker = request.worker.is_some()
                || request.hands == Operator::Session
                || role.workers.is_empty()
                || named.clone().any(is_here);
            let servers = role.means.mcp_servers.iter();
            let has_servers = servers
                .clone()
                .all(|s| self.config.mcp_servers.contains_key(s));
            let mut tools = role.means.allowed_tools.iter();
            let has_tools = !role.means.mcp_servers.is_empty()
                || tools.all(|tool| dialect::tools::is_known_tool(tool));
            has_worker && has_servers && has_tools
        };
        keep_assignable(compiled, is_playable);
    }

    /// Removes the roles that no step names and that need to search the web, if none of their
    /// workers can: codeteam's own worker needs a key for it.
    pub(super) fn drop_roles_without_search(
        &self,
        compiled: &mut CompiledWorkflow,
        request: &RunRequest,
    ) {
        let has_key = matches!(self.env.keys.web_search(), Ok(Some(_)));
        if has_key || request.hands == Operator::Session {
            return;
        }
        let can_search = |name: &WorkerName| {
            let worker = Worker::find(&self.config, name);
            worker.is_none_or(|worker| worker.dialect != DialectName::Builtin)
        };
        keep_assignable(compiled, |role| {
            let needs_search = dialect::tools::searches_web(&role.means.allowed_tools);
            !needs_search || role.workers.iter().any(can_search)
        });
    }
}

/// Removes the roles that only a plan could name and that are of no use.
pub(super) fn keep_assignable(compiled: &mut CompiledWorkflow, is_useful: impl Fn(&Role) -> bool) {
    let assignable = std::mem::take(&mut compiled.assignable);
    for name in assignable {
        if compiled.roles.get(&name).is_some_and(&is_useful) {
            compiled.assignable.insert(name);
        } else {
            compiled.roles.remove(&name);
            compiled.sources.remove(&name);
        }
    }
}
