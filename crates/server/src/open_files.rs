//! How many files and connections this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Takes all that the system allows. Shells and service managers begin programs with 1,024, for those that cannot count further, and
/// leave it to the others to say that they can; workers get a limit of their own. Returns the limit; none is no limit.
pub fn take_all() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return limit.current;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }) {
        Ok(()) => limit.maximum,
        Err(error) => {
            tracing::warn!(%error, ?limit, "could not raise the open-file limit");
            limit.current
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_is_taken() {
        let most = getrlimit(Resource::Nofile).maximum;
        // One less than all: tests beside this one in the same process do not feel it.
        let less = most.map(|most| most - 1).or(Some(1 << 20));
        setrlimit(Resource::Nofile, Rlimit { current: less, maximum: most }).unwrap();
        assert_eq!(take_all(), most);
        assert_eq!(getrlimit(Resource::Nofile).current, most);
    }
}
