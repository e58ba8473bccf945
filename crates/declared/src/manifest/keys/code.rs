//! The keys of environments, packages and functions.

use super::{Form, KeySpec, Rule, Table};

pub static ENVIRONMENT: Table = Table {
    title: "environments",
    about: "A map of names to environments. A string is short for a map with `runtime` alone.",
    keys: &ENVIRONMENT_KEYS,
    rules: &[Rule::Required("runtime")],
    example: "\
environments:
  js: node
  py311: { runtime: python, interpreter: \"3.11\", builder: ./build.sh, vars: { MODE: fast } }
",
};

pub const ENVIRONMENT_KEYS: [KeySpec; 4] = [
    KeySpec {
        name: "runtime",
        form: Form::Choice(&["python", "node", "binary"]),
        default: "",
        about: "What runs the code.",
        purpose: "Every function of the environment is written for it.",
    },
    KeySpec {
        name: "interpreter",
        form: Form::Text,
        default: "the newest one on the server",
        about: "The version of the interpreter; `stdio` for programs that run once per request.",
        purpose: "Pin a version that the code needs. An unknown one is refused with a list of those there are.",
    },
    KeySpec {
        name: "builder",
        form: Form::Text,
        default: "the convention of the runtime",
        about: "The build command of packages that have none.",
        purpose: "One command for all packages of the environment, in place of `build` in each.",
    },
    KeySpec {
        name: "vars",
        form: Form::Values,
        default: "",
        about: "Variables for every function in the environment.",
        purpose: "Settings that several functions share; a function's own `vars` win.",
    },
];

pub static PACKAGE: Table = Table {
    title: "packages",
    about: "A map of names to packages.",
    keys: &PACKAGE_KEYS,
    rules: &[Rule::Required("env"), Rule::OneOf("src", "deploy"), Rule::Needs("build", "src")],
    example: "\
packages:
  shared: { env: python, src: hello, include: [\"*.py\"], exclude: [\"*_test.py\"], build: ./build.sh }
  built: { env: python, deploy: hello }
functions:
  orders: { package: shared, entrypoint: hello.main }
",
};

pub const PACKAGE_KEYS: [KeySpec; 6] = [
    KeySpec {
        name: "env",
        form: Form::Text,
        default: "",
        about: "The environment that builds and runs the code.",
        purpose: "A built-in one, one under `environments`, or one of the app.",
    },
    KeySpec {
        name: "src",
        form: Form::Text,
        default: "",
        about: "The code: a folder, a file or a `.zip`, relative to the manifest.",
        purpose: "Runs as it is, or is the source of a build.",
    },
    INCLUDE,
    EXCLUDE,
    KeySpec {
        name: "build",
        form: Form::Text,
        default: "the environment's `builder`, or the convention of the runtime",
        about: "The command that builds the code on the server.",
        purpose: "When `requirements.txt` or `package.json` are not enough.",
    },
    KeySpec {
        name: "deploy",
        form: Form::Text,
        default: "what the build made",
        about: "Code that is built already: a folder, a file or a `.zip`.",
        purpose: "When CI builds the code; `src` then only records what it was built from.",
    },
];

pub static FUNCTION: Table = Table {
    title: "functions",
    about: "A map of names to functions.",
    keys: &FUNCTION_KEYS,
    rules: &[
        Rule::OneOf("src", "package"),
        Rule::NotBoth("src", "package"),
        Rule::Needs("src", "env"),
        Rule::NotBoth("build", "package"),
        Rule::NotBoth("include", "package"),
        Rule::NotBoth("exclude", "package"),
    ],
    example: "\
functions:
  hello:
    env: python
    src: hello
    entrypoint: hello.main
    include: [\"*.py\"]
    exclude: [\"*_test.py\"]
    build: ./build.sh
    vars: { MODE: fast, LEVEL: 3 }
    secrets: [DATABASE_URL]
    configmaps: [mail]
    permission: token
    memory: 128Mi
    cpu: 500
    timeout: 10s
    scale: { min: 0, max: 8, concurrency: 1, idle: 5m }
    description: Greets customers.
  orders: { package: shared }
",
};

pub const FUNCTION_KEYS: [KeySpec; 16] = [
    KeySpec {
        name: "env",
        form: Form::Text,
        default: "that of the package",
        about: "The environment that runs the function.",
        purpose: "`python`, `node` or `binary`, one under `environments`, or one of the app. `src` needs it.",
    },
    KeySpec {
        name: "src",
        form: Form::Text,
        default: "",
        about: "The function's own code: a folder, a file or a `.zip`, relative to the manifest.",
        purpose: "Makes a package `NAME-pkg`. Use `package` instead for shared code.",
    },
    KeySpec {
        name: "package",
        form: Form::Text,
        default: "",
        about: "The package with the code: one under `packages`, or one of the app.",
        purpose: "Several functions of one code base, each with its own `entrypoint`.",
    },
    KeySpec {
        name: "entrypoint",
        form: Form::Text,
        default: "the convention of the runtime",
        about: "The function or file to call in the package, such as `hello.main`.",
        purpose: "See [Entrypoint](../functions.md#entrypoint) for what each runtime finds by itself.",
    },
    INCLUDE,
    EXCLUDE,
    KeySpec {
        name: "build",
        form: Form::Text,
        default: "the environment's `builder`, or the convention of the runtime",
        about: "The command that builds the code on the server.",
        purpose: "When `requirements.txt` or `package.json` are not enough. Only with `src`.",
    },
    KeySpec {
        name: "vars",
        form: Form::Values,
        default: "",
        about: "Environment variables of the function.",
        purpose: "Settings that are part of the function's version. Use `config` for what changes without one.",
    },
    KeySpec {
        name: "secrets",
        form: Form::Texts,
        default: "",
        about: "Names of secrets that the function gets.",
        purpose: "A function sees no other secret. Values are set on the server, never here.",
    },
    KeySpec {
        name: "configmaps",
        form: Form::Texts,
        default: "",
        about: "Keys of `config` that the function also gets as files.",
        purpose: "Code written for Fission, or libraries that read a file.",
    },
    KeySpec {
        name: "permission",
        form: Form::Choice(&["public", "token", "internal"]),
        default: "`public`",
        about: "Which callers the function accepts.",
        purpose: "`token` asks for an API token, `internal` accepts only functions of the same app.",
    },
    KeySpec {
        name: "memory",
        form: Form::Memory,
        default: "`128Mi`",
        about: "The memory limit of one instance.",
        purpose: "An instance that needs more is killed.",
    },
    KeySpec {
        name: "cpu",
        form: Form::Count,
        default: "`1000`",
        about: "The processor limit of one instance, in thousandths of a core.",
        purpose: "Keep a busy function from taking the whole machine, or give it several cores.",
    },
    KeySpec {
        name: "timeout",
        form: Form::Duration,
        default: "`60s`",
        about: "The time until a response begins, and between two pieces of a streamed one.",
        purpose: "Calls that hang end with 504.",
    },
    KeySpec {
        name: "scale",
        form: Form::One(&SCALE),
        default: "",
        about: "How many instances run, and how many requests each takes.",
        purpose: "Keep instances warm, or limit them.",
    },
    KeySpec {
        name: "description",
        form: Form::Text,
        default: "",
        about: "A text that lists show beside the function.",
        purpose: "Documents it for the next reader.",
    },
];

pub static SCALE: Table = Table {
    title: "scale",
    about: "The value of `scale` in a function.",
    keys: &SCALE_KEYS,
    rules: &[],
    example: "\
functions:
  hello:
    env: python
    src: hello
    scale: { min: 1, max: 4, concurrency: 8, idle: 10m }
",
};

pub const SCALE_KEYS: [KeySpec; 4] = [
    KeySpec {
        name: "min",
        form: Form::Count,
        default: "`0`",
        about: "Instances that always run.",
        purpose: "Avoids the start of an instance for the first request.",
    },
    KeySpec {
        name: "max",
        form: Form::Count,
        default: "`8`",
        about: "Instances that may run at once.",
        purpose: "Further requests wait in a queue.",
    },
    KeySpec {
        name: "concurrency",
        form: Form::Count,
        default: "`1`",
        about: "Requests that one instance takes at a time.",
        purpose: "Raise it for code that mostly waits for a database or another service.",
    },
    KeySpec {
        name: "idle",
        form: Form::Duration,
        default: "`2m`",
        about: "How long an instance without requests is kept.",
        purpose: "Longer for slow starts, shorter to free memory.",
    },
];

const INCLUDE: KeySpec = KeySpec {
    name: "include",
    form: Form::Texts,
    default: "all files",
    about: "Patterns of files to take, relative to the folder.",
    purpose: "`*` stays in its directory, `**` does not, and a directory includes what is below it.",
};
const EXCLUDE: KeySpec = KeySpec {
    name: "exclude",
    form: Form::Texts,
    default: "",
    about: "Patterns of files to leave out, relative to the folder.",
    purpose: "For files that git has and the app does not need; `.gitignore` applies anyway.",
};
