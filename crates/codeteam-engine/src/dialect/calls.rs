//! Tracks the tool calls that a worker reports, and whether they produce anything new.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// The most calls in a row that may repeat earlier ones without a new result. Waiting for something
/// takes a few of them; nobody asks the same thirty times and hopes for another answer.
const MAX_REPEATS: u32 = 30;

/// The most calls that are remembered: more than a worker makes in an attempt, but few enough that
/// a worker that makes up calls endlessly does not exhaust the memory.
const MAX_CALLS: usize = 50_000;

/// The tool calls of a worker so far.
#[derive(Debug, Default)]
pub(super) struct CallLog {
    /// Calls without a result yet, by their ids.
    open: BTreeMap<String, (String, u64)>,
    /// Digests of every call with its result.
    known: BTreeSet<u64>,
    repeats: u32,
    loops: Option<String>,
}

impl CallLog {
    /// Records that a tool is called.
    pub(super) fn begin(&mut self, id: &str, name: &str, input: &str) {
        let call = (name.to_owned(), digest(&[name, input]));
        self.open.insert(id.to_owned(), call);
        if self.open.len() > MAX_CALLS {
            self.open.pop_first();
        }
    }

    /// Records the result of a call.
    pub(super) fn end(&mut self, id: &str, result: &str) {
        let Some((name, call)) = self.open.remove(id) else {
            return;
        };
        let is_new = self.known.insert(digest(&[&call.to_string(), result]));
        if self.known.len() > MAX_CALLS {
            self.known.pop_first();
        }
        self.repeats = if is_new { 0 } else { self.repeats + 1 };
        if self.repeats >= MAX_REPEATS {
            self.loops = Some(name);
        }
    }

    /// Records a call and its result, where both are reported at once.
    pub(super) fn note(&mut self, name: &str, input: &str, result: &str) {
        self.begin("", name, input);
        self.end("", result);
    }

    /// Records that something new was done, whatever it was.
    pub(super) fn note_progress(&mut self) {
        self.repeats = 0;
    }

    /// Describes the loop that the worker is in, if it is in one.
    pub(super) fn describe_loop(&self) -> Option<String> {
        let name = self.loops.as_ref()?;
        Some(format!(
            "the last {MAX_REPEATS} calls of tools, the last one of `{name}`, were all made before \
             and gave the same results: do something else, or answer `blocked` and say why"
        ))
    }
}

fn digest(parts: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_bring_nothing_new_are_a_loop() {
        let mut log = CallLog::default();
        for round in 0..=MAX_REPEATS {
            assert_eq!(log.describe_loop(), None, "{round}");
            let which = if round % 2 == 0 { "a" } else { "b" };
            log.note("read", which, "text");
        }
        // The first call of each was new.
        assert_eq!(log.describe_loop(), None);
        log.note("read", "a", "text");
        let told = log.describe_loop().unwrap();
        assert!(told.contains("`read`"), "{told}");
    }

    #[test]
    fn another_result_or_another_call_is_progress() {
        let mut log = CallLog::default();
        for round in 0..10 * MAX_REPEATS {
            log.begin("1", "run", "make test");
            log.end("1", &format!("{round} failures"));
            log.note("edit", &round.to_string(), "done");
        }
        assert_eq!(log.describe_loop(), None);
    }
}
