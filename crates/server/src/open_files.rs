//! How many files and connections this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Takes all that the system allows. Shells and service managers begin programs with 1,024, for those that cannot count further, and
/// leave it to the others to say that they can; workers get a limit of their own.
pub fn take_all() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }) {
        tracing::warn!(%error, ?limit, "more files than at first cannot be opened");
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
        take_all();
        assert_eq!(getrlimit(Resource::Nofile).current, most);
    }
}
