//! The scripted worker: `codeteam agent`, playing a script.

use std::path::PathBuf;

use codeteam_core::assignment::Assignment;

use super::lines::Lines;
use super::{Dialect, Fold, Listening, Needs, Program, Surroundings};
use crate::prompt::Prompt;

/// Speaks to `codeteam agent --script`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scripted;

impl Dialect for Scripted {
    fn needs(&self) -> Option<&'static Needs> {
        None
    }

    fn command(&self, _: &Assignment, _: &Prompt, around: &Surroundings) -> Program {
        let mut args = vec![
            "agent".into(),
            "--assignment".into(),
            around.assignment.clone().into(),
        ];
        // What a model is to others, the script is to this one.
        if let Some(script) = &around.model {
            args.extend(["--script".into(), script.into()]);
        }
        Program {
            program: around.codeteam.clone().into(),
            args,
            reads: [around.codeteam.clone()]
                .into_iter()
                .chain(around.model.iter().map(PathBuf::from))
                .collect(),
            ..Program::default()
        }
    }

    fn fold(&self, listening: &Listening) -> Box<dyn Fold> {
        Box::new(Lines::new(&listening.account))
    }
}
