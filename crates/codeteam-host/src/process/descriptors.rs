//! Raises the limit of files that codeteam itself may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A higher limit is useless, and harmful to programs that loop over every possible descriptor:
/// unconfined commands inherit it.
const MOST: u64 = 1 << 20;

/// Raises this process's limit of open files as far as the system allows. Each port that is served
/// to a confined command may take some three hundred descriptors, and the usual limit is 1024.
/// Confined commands have their own limit.
pub fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(MOST, |most| most.min(MOST));
    if limit.current.is_some_and(|now| now < wanted) {
        let raised = Rlimit {
            current: Some(wanted),
            maximum: limit.maximum,
        };
        // If this fails, connections that exceed the limit report an error.
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
        raise_file_limit();
        let after = getrlimit(Resource::Nofile);
        assert_eq!(after.maximum, before.maximum);
        assert_eq!(after.current, Some(wanted));
        raise_file_limit();
        assert_eq!(getrlimit(Resource::Nofile), after);
    }
}
