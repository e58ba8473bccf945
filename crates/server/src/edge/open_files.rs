//! The limit of open files and connections of this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to the hard limit and returns it; `None` means unlimited. Shells and
/// service managers set a soft limit of 1,024 for programs that cannot handle more, and others must
/// raise it themselves. Workers get their own limit.
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
    fn raises_the_soft_limit_to_the_hard_limit() {
        let most = getrlimit(Resource::Nofile).maximum;
        // One below the maximum, so that tests running in the same process are not affected.
        let less = most.map(|most| most - 1).or(Some(1 << 20));
        setrlimit(Resource::Nofile, Rlimit { current: less, maximum: most }).unwrap();
        assert_eq!(take_all(), most);
        assert_eq!(getrlimit(Resource::Nofile).current, most);
    }
}
