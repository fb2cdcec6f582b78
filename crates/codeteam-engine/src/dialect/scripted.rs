//! The scripted worker: `codeteam agent`, playing a script.

use std::path::PathBuf;

use codeteam_core::assignment::Assignment;

use super::lines::AgentFold;
use super::{CliRequirements, Dialect, FoldSettings, LaunchSettings, OutputFold, WorkerCommand};
use crate::prompt::Prompt;

/// Speaks to `codeteam agent --script`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScriptedDialect;

impl Dialect for ScriptedDialect {
    fn needs(&self) -> Option<&'static CliRequirements> {
        None
    }

    fn command(&self, _: &Assignment, _: &Prompt, around: &LaunchSettings) -> WorkerCommand {
        let mut args = vec![
            "agent".into(),
            "--assignment".into(),
            around.assignment.clone().into(),
        ];
        // What a model is to others, the script is to this one.
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

    fn fold(&self, listening: &FoldSettings) -> Box<dyn OutputFold> {
        Box::new(AgentFold::new(&listening.account))
    }
}
