//! A driver and the session that carries assignments out in its run: what each tells the other.

use std::sync::mpsc::Sender;

use codeteam_core::hands::{self, Operator};
use codeteam_core::ids::AttemptId;
use codeteam_core::input::Input;
use codeteam_core::{Effect, Run};

use super::{Driver, Error};
use crate::perform::{self, Halt};

/// What a driver hears of.
pub(crate) enum DriverMessage {
    /// Something that was due has come to its end, or cannot be done.
    Done(Result<Input, Halt>),
    /// The session has said something.
    Said(SessionMessage),
}

/// What a session says.
pub(crate) enum SessionMessage {
    /// An answer to an assignment.
    Submitted { id: AttemptId, text: String },
    /// Something that becomes an input as it is.
    Input(Box<Input>),
}

/// Whoever leads a session through a run, as the driver sees them.
pub(crate) trait SessionLink: Send + Sync {
    /// From now on the driver hears what is said there.
    fn connect(&self, sender: Sender<DriverMessage>);
    /// How the run stands, what was heard so far, and whether codeteam itself is at work.
    fn shows(&self, run: &Run, heard: u64, busy: bool);
}

impl Driver<'_> {
    /// Whether an effect is a session's to carry out.
    pub(super) fn is_handed(&self, effect: &Effect) -> bool {
        let in_session = self.run.hands == Operator::Session;
        in_session
            && matches!(effect, Effect::StartWorker { worker, .. } if hands::is_session(worker))
    }

    /// Takes what the session has said.
    pub(super) fn hear(&mut self, said: SessionMessage) -> Result<(), Error> {
        self.heard += 1;
        match said {
            SessionMessage::Input(input) => self.feed(&input, Vec::new()),
            SessionMessage::Submitted { id, text } => {
                let busy = self.inflight.contains_key(&id) || self.frame_is_busy(&id);
                match perform::submitted(&self.run, &id, text) {
                    Some(job) if !busy => self.launch(job),
                    // It was for an assignment that is over.
                    _ => Ok(()),
                }
            }
        }
    }
}
