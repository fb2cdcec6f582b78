//! The messages between a driver and the session that carries out assignments in its run.

use std::sync::mpsc::Sender;

use codeteam_core::ids::AttemptId;
use codeteam_core::input::Input;
use codeteam_core::operator::{self, Operator};
use codeteam_core::{Effect, Run};

use super::{Driver, Error};
use crate::halt::Halt;
use crate::perform::{self};

/// A message to the driver's loop.
pub(crate) enum DriverMessage {
    /// A job has ended with a result, or codeteam itself has to stop.
    Done(Result<Input, Halt>),
    /// The session has sent a message.
    FromSession(SessionMessage),
}

/// A message from a session to the driver.
pub(crate) enum SessionMessage {
    /// The session's answer to an assignment.
    Submitted { id: AttemptId, text: String },
    /// An input that is handled as it is.
    Input(Box<Input>),
}

/// The connection to a session that carries out assignments, as the driver sees it.
pub(crate) trait SessionLink: Send + Sync {
    /// Connects the driver: from now on the session's messages go to `sender`.
    fn connect(&self, sender: Sender<DriverMessage>);
    /// Publishes the state of the run, the number of messages handled so far, and whether codeteam
    /// itself is working.
    fn publish_state(&self, run: &Run, heard: u64, busy: bool);
}

impl Driver<'_> {
    /// Returns true if the session carries out this effect.
    pub(super) fn belongs_to_session(&self, effect: &Effect) -> bool {
        let in_session = self.run.operator == Operator::Session;
        in_session
            && matches!(effect, Effect::StartWorker { worker, .. } if operator::is_session_worker(worker))
    }

    /// Handles a message from the session.
    pub(super) fn handle_session_message(&mut self, said: SessionMessage) -> Result<(), Error> {
        self.session_messages_handled += 1;
        match said {
            SessionMessage::Input(input) => self.handle_input(&input, Vec::new()),
            SessionMessage::Submitted { id, text } => {
                let busy = self.inflight.contains_key(&id) || self.frame_is_busy(&id);
                match perform::job_for_submission(&self.run, &id, text) {
                    Some(job) if !busy => self.launch(job),
                    // The answer was for an assignment that is over.
                    _ => Ok(()),
                }
            }
        }
    }
}
