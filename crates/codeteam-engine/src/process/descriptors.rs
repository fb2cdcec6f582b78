//! How many files codeteam itself may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More is of no use, and of harm to programs that look at every number there could be: what runs
/// unconfined inherits it.
const MOST: u64 = 1 << 20;

/// Lets this process have as many files open as the system lets it ask for: each port that is
/// served to a confined command may take some three hundred, and the usual limit is 1024. Confined
/// commands have a limit of their own.
pub(crate) fn allow_many() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(MOST, |most| most.min(MOST));
    if limit.current.is_some_and(|now| now < wanted) {
        let raised = Rlimit {
            current: Some(wanted),
            maximum: limit.maximum,
        };
        // What cannot be served then says so.
        let _ = setrlimit(Resource::Nofile, raised);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_there_can_be() {
        let before = getrlimit(Resource::Nofile);
        let wanted = before.maximum.map_or(MOST, |most| most.min(MOST));
        // Other tests run beside this one.
        let lowered = Rlimit {
            current: Some(wanted - 1),
            ..before
        };
        setrlimit(Resource::Nofile, lowered).unwrap();
        allow_many();
        let after = getrlimit(Resource::Nofile);
        assert_eq!(after.maximum, before.maximum);
        assert_eq!(after.current, Some(wanted));
        allow_many();
        assert_eq!(getrlimit(Resource::Nofile), after);
    }
}
