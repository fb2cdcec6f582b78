//! The scripted worker: `codeteam agent`, playing a script.

use std::path::PathBuf;

use codeteam_core::assignment::Assignment;
use serde_json::Value;

use super::agent::{self, AgentFold};
use super::{
    CliRequirements, Dialect, FoldSettings, LaunchSettings, OutputFold, TraceBuilder, WorkerCommand,
};
use crate::prompt::Prompt;

/// The dialect of `codeteam agent --script`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ScriptedDialect;

impl Dialect for ScriptedDialect {
    fn requirements(&self) -> Option<&'static CliRequirements> {
        None
    }

    fn command(&self, _: &Assignment, _: &Prompt, around: &LaunchSettings) -> WorkerCommand {
        let mut args = vec![
            "agent".into(),
            "--assignment".into(),
            around.assignment.clone().into(),
        ];
        // This worker takes the script in place of a model.
        if let Some(script) = &around.model {
            args.extend(["--script".into(), script.into()]);
        }
        WorkerCommand {
            program: around.codeteam.clone().into(),
            args,
            reads: [around.codeteam.clone()]
                .into_iter()
                .chain(around.model.iter().map(PathBuf::from))
                .collect(),
            ..WorkerCommand::default()
        }
    }

    fn trace_event(&self, event: &Value, trace: &mut TraceBuilder) {
        agent::trace::trace_event(event, trace);
    }

    fn fold(&self, listening: &FoldSettings) -> Box<dyn OutputFold> {
        Box::new(AgentFold::new(&listening.account))
    }
}
