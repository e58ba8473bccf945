//! Lines that the seeds describe as errors.

pub struct Refusal {
    pub at: &'static str,
    pub before: &'static [&'static str],
    pub line: &'static str,
    /// A part of the error message.
    pub says: &'static str,
}

const V0: &str = "function version create --name hello --env nodejs --code hello1.js --version v1.0.0";

pub const ROWS: &[Refusal] = &[
    Refusal {
        at: "002 #9: a version in use by an alias",
        before: &[V0, "function alias create --name hello --alias qa --version v1.0.0"],
        line: "function version delete --name hello --version v1.0.0",
        says: "alias qa points at function hello version 1",
    },
    Refusal {
        at: "002 #5: the version of an alias must exist",
        before: &[V0],
        line: "function alias create --name hello --alias qa --version v1.0.1",
        says: "did you mean `v1.0.0`?",
    },
    Refusal {
        at: "003 CLI #3: a package that has no versions",
        before: &[],
        line: "function version create --name fnA --pkg src-pkg --version bla",
        says: "has no package `src-pkg`",
    },
    Refusal {
        at: "003, high level proposal #3: nothing to make a version of",
        before: &[],
        line: "function version create --name fnA",
        says: "function `fnA` has no code",
    },
];
