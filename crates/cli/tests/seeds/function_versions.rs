//! Lines of seed 002.

use super::Row;

const V0: &str = "function version create --name hello --env nodejs --code hello1.js --version v1.0.0";
const V1: &str = "function version create --name hello --env nodejs --code hello2.js --version v1.0.1";
const V2: &str = "function version create --name hello --env nodejs --code hello3.js --version v1.0.2";
const QA: &str = "function alias create --name hello --alias qa --version v1.0.1";

const VERSIONS: &str = "function version list --name hello";
const ALIASES: &str = "function alias list --name hello";

pub const ROWS: &[Row] = &[
    Row {
        at: "002 #1",
        line: "fission function version create --name hello --env nodejs --code hello1.js --version v1.0.0",
        fill: &[],
        before: &[],
        after: &[(VERSIONS, "label", r#"["v1.0.0"]"#), (VERSIONS, "latest", "[true]")],
    },
    Row {
        at: "002 #1",
        line: "fission function version create --name hello --env nodejs --code hello2.js --version v1.0.1",
        fill: &[],
        before: &[V0],
        after: &[(VERSIONS, "label", r#"["v1.0.1", "v1.0.0"]"#), (VERSIONS, "number", "[2, 1]")],
    },
    Row {
        at: "002 #1, #2",
        line: "fission function version create --name hello --env nodejs --code hello3.js --version v1.0.2",
        fill: &[],
        before: &[V0, V1],
        after: &[
            (VERSIONS, "label", r#"["v1.0.2", "v1.0.1", "v1.0.0"]"#),
            (VERSIONS, "latest", "[true, false, false]"),
            ("function version get --name hello --version latest", "label", r#""v1.0.2""#),
        ],
    },
    Row {
        at: "002 #4",
        line: "fission function version list --name hello ",
        fill: &[],
        before: &[V0, V1, V2],
        after: &[(VERSIONS, "label", r#"["v1.0.2", "v1.0.1", "v1.0.0"]"#)],
    },
    Row {
        at: "002 #5",
        line: "fission function alias create --name hello --alias qa --version v1.0.1",
        fill: &[],
        before: &[V0, V1, V2],
        after: &[
            (ALIASES, "name", r#"["qa"]"#),
            (ALIASES, "label", r#"["v1.0.1"]"#),
            (VERSIONS, "aliases", r#"[[], ["qa"], []]"#),
        ],
    },
    Row {
        at: "002 #6",
        line: "fission function alias list --name hello",
        fill: &[],
        before: &[V0, V1, V2, QA],
        after: &[(ALIASES, "name", r#"["qa"]"#), (ALIASES, "number", "[2]")],
    },
    Row {
        // The seed omits the `v`.
        at: "002 #7",
        line: "fission function alias update --name hello --alias qa --version 1.0.2",
        fill: &[],
        before: &[V0, V1, V2, QA],
        after: &[(ALIASES, "label", r#"["v1.0.2"]"#), (VERSIONS, "aliases", r#"[["qa"], [], []]"#)],
    },
    Row {
        at: "002 #8",
        line: "fission function alias delete --name hello --alias qa",
        fill: &[],
        before: &[V0, V1, V2, QA],
        after: &[(ALIASES, "name", "[]"), (VERSIONS, "number", "[3, 2, 1]")],
    },
    Row {
        at: "002 #9",
        line: "fission function version delete --name hello --version v1.0.0",
        fill: &[],
        before: &[V0, V1, V2, QA],
        after: &[(VERSIONS, "label", r#"["v1.0.2", "v1.0.1"]"#), (ALIASES, "label", r#"["v1.0.1"]"#)],
    },
    Row {
        at: "002 #10",
        line: "fission route create --method GET --url /hello --function hello --version v1.0.2",
        fill: &[],
        before: &[V0, V1, V2],
        after: &[
            ("route list", "current.spec.function", r#"["hello"]"#),
            ("route list", "current.spec.version.number", "[3]"),
            ("route list", "current.spec.path", r#"["/hello"]"#),
        ],
    },
    Row {
        // The seed has a typographic dash in place of the first hyphens.
        at: "002 #12",
        line: "fission function create --name foo --env nodejs --code foo.js —-tag v1.0.0",
        fill: &[],
        before: &[],
        after: &[("group get v1.0.0", "members.name", r#"["foo"]"#), ("function list", "name", r#"["foo"]"#)],
    },
    Row {
        at: "002 #12",
        line: "fission function create --name bar --env nodejs --code bar.js —-tag v1.0.0",
        fill: &[],
        before: &["function create --name foo --env nodejs --code foo.js --tag v1.0.0"],
        after: &[
            ("group list", "name", r#"["v1.0.0"]"#),
            ("group get v1.0.0", "members.name", r#"["foo", "bar"]"#),
            ("group get v1.0.0", "members.number", "[1, 1]"),
        ],
    },
    Row {
        // "He could do so with the existing CLI": all aliases and versions are deleted.
        at: "002 #13, 003 #9",
        line: "fission function delete",
        fill: &[("function delete", "function delete --name hello")],
        before: &[V0, V1, QA],
        after: &[("function list", "name", "[]"), ("app show", "objects.type", r#"["environment", "package"]"#)],
    },
];
