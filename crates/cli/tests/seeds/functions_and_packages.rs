//! Lines of seed 003, from its high level proposal and from "Implementation details for fission cli
//! commands".

use super::Row;

const SRC_PKG: &str = "package version create --name src-pkg --src src-archive.zip --env python --buildcmd ./build.sh";
const NEW_ARCHIVE: &str = "src-archive.zip <- the second build";
const FN_A: &str = "function version create fnA --pkg src-pkg --version uid(package src-pkg latest)";
const FOO: &str = "function version create --name foo --code foo.py --env python";
const BAR: &str = "function version create --name bar --code bar.py --env python";
const NEW_FOO: &str = "foo.py <- the second foo";
const NEW_BAR: &str = "bar.py <- the second bar";
const FOO_AGAIN: &str = "function version update --name foo --code foo.py";
const BAR_AGAIN: &str = "function version update --name bar --code bar.py";

const SRC_PKG_VERSIONS: &str = "package version list --name src-pkg";
const FN_A_VERSIONS: &str = "function version list --name fnA";
const FOO_VERSIONS: &str = "function version list --name foo";
const FOO_PKG_VERSIONS: &str = "package version list --name foo-pkg";
const BAR_VERSIONS: &str = "function version list --name bar";
const BAR_PKG_VERSIONS: &str = "package version list --name bar-pkg";

pub const ROWS: &[Row] = &[
    Row {
        // The line names no code. It makes a version with the existing code, and is refused for a
        // new function.
        at: "003, high level proposal #3",
        line: "fission function version create --name fnA",
        fill: &[],
        before: &["function version create --name fnA --code foo.py --env python"],
        after: &[
            (FN_A_VERSIONS, "number", "[2, 1]"),
            (FN_A_VERSIONS, "spec.package.name", r#"["fnA-pkg", "fnA-pkg"]"#),
        ],
    },
    Row {
        at: "003, high level proposal #3",
        line: "fission fn version update --name fnA --code <new_code>",
        fill: &[("<new_code>", "new_code.py")],
        before: &["function version create --name fnA --code foo.py --env python"],
        after: &[
            (FN_A_VERSIONS, "number", "[2, 1]"),
            (FN_A_VERSIONS, "spec.package.number", "[2, 1]"),
            (FN_A_VERSIONS, "uid", r#"["uid(package fnA-pkg 2)", "uid(package fnA-pkg 1)"]"#),
        ],
    },
    Row {
        // After scenario 2: the function uses a package that others may share, and gets its own.
        at: "003, high level proposal #3",
        line: "fission fn version update --name fnA --code <new_code>",
        fill: &[("<new_code>", "new_code.py")],
        before: &[SRC_PKG, FN_A],
        after: &[
            (FN_A_VERSIONS, "number", "[2, 1]"),
            (FN_A_VERSIONS, "spec.package.name", r#"["fnA-pkg", "src-pkg"]"#),
            (FN_A_VERSIONS, "spec.environment.name", r#"["python", "python"]"#),
        ],
    },
    Row {
        at: "003, version create for packages",
        line: "fission package version create --name <pkg> --other-options...",
        fill: &[("<pkg>", "src-pkg"), ("--other-options...", "--deploy src-archive.zip --env python --version v1")],
        before: &[],
        after: &[(SRC_PKG_VERSIONS, "number", "[1]"), (SRC_PKG_VERSIONS, "label", r#"["v1"]"#)],
    },
    Row {
        at: "003 CLI #1",
        line: r#"fission package version create --name src-pkg --src src-archive.zip --env python --buildcmd "./build.sh""#,
        fill: &[],
        before: &[],
        after: &[
            (SRC_PKG_VERSIONS, "number", "[1]"),
            (SRC_PKG_VERSIONS, "spec.environment.name", r#"["python"]"#),
            (SRC_PKG_VERSIONS, "spec.buildCommand", r#"["./build.sh"]"#),
            ("app show", "id", r#""uid(package src-pkg 1)""#),
        ],
    },
    Row {
        at: "003, version create for function",
        line: "fission function version create --name <function> --other-options...",
        fill: &[("<function>", "foo"), ("--other-options...", "--src src-archive.zip --env python --entrypoint main")],
        before: &[],
        after: &[(FOO_VERSIONS, "number", "[1]"), (FOO_VERSIONS, "spec.entrypoint", r#"["main"]"#)],
    },
    Row {
        at: "003 CLI #2",
        line: "fission function version create fnA --pkg src-pkg --version bla --other-options",
        fill: &[("bla", "uid(package src-pkg 1)"), ("--other-options", "--entrypoint main.main")],
        before: &[SRC_PKG],
        after: &[
            (FN_A_VERSIONS, "uid", r#"["uid(package src-pkg 1)"]"#),
            (FN_A_VERSIONS, "spec.package.name", r#"["src-pkg"]"#),
            (FN_A_VERSIONS, "spec.package.number", "[1]"),
        ],
    },
    Row {
        at: "003 CLI #3",
        line: "function version create --name foo --code foo.py --env foo-env",
        fill: &[],
        before: &["environment create --name foo-env --image python"],
        after: &[
            (FOO_VERSIONS, "uid", r#"["uid(package foo-pkg 1)"]"#),
            (FOO_VERSIONS, "spec.package.name", r#"["foo-pkg"]"#),
            (FOO_VERSIONS, "spec.environment.name", r#"["foo-env"]"#),
            (FOO_PKG_VERSIONS, "number", "[1]"),
        ],
    },
    Row {
        at: "003, version update for packages",
        line: "fission package version update --name src-pkg --other-options",
        fill: &[("--other-options", "--src src-archive.zip")],
        before: &[SRC_PKG, NEW_ARCHIVE],
        after: &[
            (SRC_PKG_VERSIONS, "number", "[2, 1]"),
            (SRC_PKG_VERSIONS, "spec.buildCommand", r#"["./build.sh", "./build.sh"]"#),
        ],
    },
    Row {
        // "I like the idea of doing nothing": the function does not change.
        at: "003 CLI #4",
        line: r#"fission package version create --name src-pkg --src src-archive.zip --env python --buildcmd "./build.sh""#,
        fill: &[],
        before: &[SRC_PKG, FN_A, NEW_ARCHIVE],
        after: &[
            (SRC_PKG_VERSIONS, "number", "[2, 1]"),
            (FN_A_VERSIONS, "number", "[1]"),
            (FN_A_VERSIONS, "spec.package.number", "[1]"),
        ],
    },
    Row {
        at: "003, version update for functions",
        line: "fission function version update --name <function> --other-options...",
        fill: &[("<function>", "foo"), ("--other-options...", "--memory 256Mi")],
        before: &[FOO],
        after: &[
            (FOO_VERSIONS, "number", "[2, 1]"),
            (FOO_VERSIONS, "spec.memory", "[268435456, null]"),
            (FOO_VERSIONS, "spec.package.number", "[1, 1]"),
        ],
    },
    Row {
        at: "003 CLI #5",
        line: "fission function version update --name foo --pkg foo-pkg --version bla",
        fill: &[("bla", "uid(package foo-pkg 2)")],
        before: &[FOO, NEW_FOO, "package version update --name foo-pkg --deploy foo.py"],
        after: &[
            (FOO_VERSIONS, "uid", r#"["uid(package foo-pkg 2)", "uid(package foo-pkg 1)"]"#),
            (FOO_VERSIONS, "spec.package.number", "[2, 1]"),
        ],
    },
    Row {
        at: "003 CLI #6",
        line: "fission function version update --name bar --code bar.py --other-options",
        fill: &[("--other-options", "--timeout 10s")],
        before: &[BAR, NEW_BAR],
        after: &[
            (BAR_VERSIONS, "uid", r#"["uid(package bar-pkg 2)", "uid(package bar-pkg 1)"]"#),
            (BAR_VERSIONS, "spec.timeoutMs", "[10000, null]"),
            (BAR_PKG_VERSIONS, "number", "[2, 1]"),
        ],
    },
    Row {
        at: "003, version delete for packages",
        line: "fission package version delete --name <pkg> --version <version-uid>",
        fill: &[("<pkg>", "src-pkg"), ("<version-uid>", "uid(package src-pkg 1)")],
        before: &[SRC_PKG, NEW_ARCHIVE, SRC_PKG],
        after: &[(SRC_PKG_VERSIONS, "number", "[2]")],
    },
    Row {
        // The functions that refer to it are deleted too.
        at: "003 CLI #7",
        line: "fission package version delete --name bar-pkg --version <version-uid>",
        fill: &[("<version-uid>", "uid(package bar-pkg 1)")],
        before: &[BAR, NEW_BAR, BAR_AGAIN],
        after: &[(BAR_PKG_VERSIONS, "number", "[2]"), (BAR_VERSIONS, "number", "[2]")],
    },
    Row {
        at: "003 CLI #8",
        line: "fission package version delete --name <pkg> --version all",
        fill: &[("<pkg>", "bar-pkg")],
        before: &[FOO, BAR, NEW_BAR, BAR_AGAIN],
        after: &[("package list", "name", r#"["foo-pkg"]"#), ("function list", "name", r#"["foo"]"#)],
    },
    Row {
        at: "003, version delete for functions",
        line: "fission function version delete --name <function> --version <version-uid>",
        fill: &[("<function>", "bar"), ("<version-uid>", "uid(function bar 1)")],
        before: &[BAR, NEW_BAR, BAR_AGAIN],
        after: &[(BAR_VERSIONS, "number", "[2]")],
    },
    Row {
        // The packages stay, and `latest` moves back.
        at: "003 CLI #9",
        line: "fission function version delete --name foo --version <version-uid>",
        fill: &[("<version-uid>", "uid(function foo 2)")],
        before: &[FOO, NEW_FOO, FOO_AGAIN],
        after: &[
            (FOO_VERSIONS, "number", "[1]"),
            (FOO_PKG_VERSIONS, "number", "[2, 1]"),
            ("function version get --name foo --version latest", "number", "1"),
        ],
    },
    Row {
        at: "003 CLI #10",
        line: "fission function version delete --name <function> --version all",
        fill: &[("<function>", "foo")],
        before: &[FOO, NEW_FOO, FOO_AGAIN],
        after: &[("function list", "name", "[]"), (FOO_PKG_VERSIONS, "number", "[2, 1]")],
    },
    Row {
        at: "003 CLI #11",
        line: "fission package version list --name <pkg>",
        fill: &[("<pkg>", "src-pkg")],
        before: &[SRC_PKG, NEW_ARCHIVE, SRC_PKG],
        after: &[(SRC_PKG_VERSIONS, "number", "[2, 1]")],
    },
    Row {
        at: "003 CLI #12",
        line: "fission function version list --name <function>",
        fill: &[("<function>", "foo")],
        before: &[FOO, NEW_FOO, FOO_AGAIN],
        after: &[(FOO_VERSIONS, "number", "[2, 1]")],
    },
    Row {
        at: "003, with the short name of DESIGN section 2",
        line: "fission pkg version list --name <pkg>",
        fill: &[("<pkg>", "src-pkg")],
        before: &[SRC_PKG],
        after: &[(SRC_PKG_VERSIONS, "number", "[1]")],
    },
];
