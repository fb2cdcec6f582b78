//! Ids and names. Ids are derived from the run's own structure, never drawn at random, so that the
//! same inputs give the same ids.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(/** A run: `20250108-153042-add-password-reset`. */ RunId);
name!(/** A task of the plan: `task-001`, `T1`. */ TaskId);
name!(/** A phase of the plan. */ PhaseId);
name!(/** A step of the workflow, unique in the whole workflow. */ StepId);
name!(/** A role, as the workflow and the role files name it. */ RoleName);
name!(/** What carries a role out: `claude`, `scripted`, `session`. */ WorkerName);
name!(/** Whose quota a worker uses up; parks are keyed by it. */ Account);
name!(/** A git tree: exactly what was judged. */ Tree);
name!(/** A git commit. */ Commit);
name!(/** The content hash of a body: a prompt, a transcript, a diff, a report. */ BodyId);
name!(/** A hash of a change that does not depend on the base it is applied to. */ PatchId);
name!(/** One finding of a frame: `F1`, `F2`. */ FindingId);
name!(/** A person, as the configuration names them, or else the machine. */ PersonName);

/// A frame's place in the tree of frames: `run`, `run/task-001`, `run/backend/task-001`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FramePath(String);

impl FramePath {
    /// Returns the path of the root frame, which stands for the run itself.
    pub fn root() -> Self {
        Self("run".to_owned())
    }

    /// Returns the path of the child frame for a phase or a task.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        Self(format!("{}/{name}", self.0))
    }

    /// Returns the last part: the phase or task the frame is for.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if this is the root frame.
    pub fn is_root(&self) -> bool {
        self.0 == "run"
    }

    /// Returns true if this frame is `other` or lies below it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0 == other.0
            || self
                .0
                .strip_prefix(&other.0)
                .is_some_and(|rest| rest.starts_with('/'))
    }
}

impl fmt::Display for FramePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for FramePath {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// Identifies one attempt: of one slot, in one visit of one step, in one frame.
///
/// `generation` counts how often the frame has entered the step, `attempt` the attempts within that
/// visit. `fence` is new for every launch: an attempt that was lost with codeteam's own process is
/// repeated under the same attempt number with a new fence, and whatever still comes back from the
/// old launch is refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AttemptId {
    /// The frame the step runs in.
    pub frame: FramePath,
    /// The step's id.
    pub step: StepId,
    /// The visit of the step, from 1.
    pub generation: u32,
    /// The slot of the step, from 0.
    pub slot: u32,
    /// The attempt within the visit, from 1.
    pub attempt: u32,
    /// The number of the launch, unique in the run; [`Self::NOT_LAUNCHED`] before it is launched.
    pub fence: u64,
}

impl AttemptId {
    /// The fence of an attempt that nobody has launched yet.
    pub const NOT_LAUNCHED: u64 = 0;

    /// Returns whether the attempt has been launched.
    pub fn is_launched(&self) -> bool {
        self.fence != Self::NOT_LAUNCHED
    }

    /// Returns the same attempt as it is before its next launch.
    #[must_use]
    pub fn before_launch(&self) -> Self {
        Self {
            fence: Self::NOT_LAUNCHED,
            ..self.clone()
        }
    }

    /// Returns the attempt that follows this one, not launched yet.
    #[must_use]
    pub fn next_attempt(&self) -> Self {
        Self {
            attempt: self.attempt + 1,
            ..self.before_launch()
        }
    }

    /// Returns the id of what is tried before a run begins: its set-up and its checks, on the
    /// commit it starts from.
    pub fn for_preflight() -> Self {
        Self {
            frame: FramePath::root(),
            step: StepId::from("baseline"),
            generation: 1,
            slot: 0,
            attempt: 1,
            fence: Self::NOT_LAUNCHED,
        }
    }

    /// Formats the id without its fence, as in a commit's trailer: it is the same after a crash.
    pub fn without_fence(&self) -> String {
        let Self {
            frame,
            step,
            generation,
            slot,
            attempt,
            ..
        } = self;
        format!("{frame}:{step}.{generation}.{slot}.{attempt}")
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.without_fence(), self.fence)
    }
}

/// Milliseconds since the Unix epoch, as given by an input.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct EpochMillis(pub u64);

impl EpochMillis {
    /// Returns this moment plus `ms` milliseconds.
    #[must_use]
    pub fn plus(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Returns the milliseconds from `earlier` to this moment; 0 if the clock went back.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Computes a 64-bit FNV-1a hash: for jitter and fingerprints, where the same text must give the
/// same number in every build. It does not resist an adversary who wants collisions.
pub fn fnv_hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Returns true if `text` may name a task, phase, step or role. Names become part of ids, git
/// references and paths, so they must not contain separators, surprise a shell or be refused by
/// git.
pub fn is_valid_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 80
        && !text.starts_with(['-', '.'])
        && !text.ends_with('.')
        && !text.contains("..")
        && !text.to_ascii_lowercase().ends_with(".lock")
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_nest() {
        let task = FramePath::root().child("backend").child("task-001");
        assert_eq!(task.as_str(), "run/backend/task-001");
        assert_eq!(task.name(), "task-001");
        assert!(task.is_within(&FramePath::root()));
        assert!(!FramePath::from("run/task-10").is_within(&FramePath::from("run/task-1")));
    }

    #[test]
    fn names_that_could_escape_are_not_plain() {
        for bad in [
            "", "../x", "a/b", "-rf", ".git", "a b", "a\n", "ü", "x.lock", "x.LOCK", "a..b", "x.",
        ] {
            assert!(!is_valid_name(bad), "{bad:?}");
        }
        assert!(
            is_valid_name("task-001")
                && is_valid_name("P1T5-PH1.C1")
                && is_valid_name("user_model")
        );
    }
}
