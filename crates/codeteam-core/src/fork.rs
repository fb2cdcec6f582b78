//! Where a run comes from that began as a fork of another one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::frame::FrameOutputs;
use crate::ids::{PhaseId, RunId};

/// The moment of another run that a run began from, and what it takes over besides the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkOrigin {
    /// The other run.
    pub run: RunId,
    /// The last of its events that counts here.
    pub event: u64,
    /// Its requirements, designs and answers at that moment.
    #[serde(default)]
    pub outputs: FrameOutputs,
    /// The same of its phases that had begun.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub phases: BTreeMap<PhaseId, FrameOutputs>,
}

impl ForkOrigin {
    /// Keeps of the outputs of a run's frames what is still true in another run.
    pub fn new<'a>(
        run: RunId,
        event: u64,
        outputs: &FrameOutputs,
        phases: impl IntoIterator<Item = (PhaseId, &'a FrameOutputs)>,
    ) -> Self {
        let phases = phases.into_iter();
        Self {
            run,
            event,
            outputs: lasting_outputs(outputs),
            phases: phases
                .map(|(phase, outputs)| (phase, lasting_outputs(outputs)))
                .collect(),
        }
    }
}

/// Keeps of a frame's outputs what says nothing about a change.
fn lasting_outputs(outputs: &FrameOutputs) -> FrameOutputs {
    FrameOutputs {
        requirements: outputs.requirements.clone(),
        answers: outputs.answers.clone(),
        analysis: outputs.analysis.clone(),
        design: outputs.design.clone(),
        designed: outputs.designed.clone(),
        designs: outputs.designs.clone(),
        ..FrameOutputs::default()
    }
}
