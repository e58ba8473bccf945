//! The outermost keys.

use super::{ENVIRONMENT, FUNCTION, Form, KeySpec, PACKAGE, ROUTE, Rule, STATIC, TIMER, Table, WHOLE_ROUTE};

pub static MANIFEST: Table = Table {
    title: "Top level",
    about: "A manifest declares one app. All keys are optional.",
    keys: &MANIFEST_KEYS,
    rules: &[],
    example: "\
app: shop
version: 1.4.0
functions:
  hello: { env: python, src: hello }
secrets: [API_KEY]
config:
  greeting: hi
routes:
  - GET /hello: hello
",
};

pub const MANIFEST_KEYS: [KeySpec; 11] = [
    KeySpec {
        name: "app",
        form: Form::AppName,
        default: "`--app`, `MILEPOST_APP`, or `default`",
        about: "The app that this folder deploys.",
        purpose: "Set it, so that every checkout deploys to the same app.",
    },
    KeySpec {
        name: "deployment",
        form: Form::TextOr(&super::DEPLOYMENT),
        default: "`milepost.yaml`",
        about: "The name under which the app records what this folder owns.",
        purpose: "Needed only when several folders deploy to one app: each removes only its own units.",
    },
    KeySpec {
        name: "version",
        form: Form::Pattern("^[0-9]+\\.[0-9]+\\.[0-9]+"),
        default: "",
        about: "The semantic version of the app.",
        purpose: "The version to publish under; a deploy ignores it.",
    },
    KeySpec {
        name: "environments",
        form: Form::ShortMap(&ENVIRONMENT, &super::ENVIRONMENT_KEYS[0]),
        default: "`python`, `python3`, `node`, `nodejs` and `binary`",
        about: "Runtimes with settings of their own.",
        purpose: "Choose an interpreter version, a build command or variables for several functions.",
    },
    KeySpec {
        name: "packages",
        form: Form::Map(&PACKAGE),
        default: "",
        about: "Code that several functions share.",
        purpose: "Not needed for a function with its own `src`.",
    },
    KeySpec {
        name: "functions",
        form: Form::Map(&FUNCTION),
        default: "",
        about: "The functions of the app, by name.",
        purpose: "A function runs when a route, a timer, a job or an execution calls it.",
    },
    KeySpec {
        name: "secrets",
        form: Form::Texts,
        default: "",
        about: "Names of secrets that the app has.",
        purpose: "Changes warn about those without a value. Values are set on the server, never here.",
    },
    KeySpec {
        name: "config",
        form: Form::Free,
        default: "",
        about: "The configuration of the app, a document of any shape.",
        purpose: "Functions read it at run time; it changes without a new version of their code.",
    },
    KeySpec {
        name: "static",
        form: Form::List(&STATIC),
        default: "",
        about: "Files that are served as they are.",
        purpose: "Web pages, single-page applications and their assets.",
    },
    KeySpec {
        name: "routes",
        form: Form::Routes(&ROUTE, &WHOLE_ROUTE),
        default: "",
        about: "Which HTTP requests call which function.",
        purpose: "Without a route, a function has no address of its own.",
    },
    KeySpec {
        name: "timers",
        form: Form::Map(&TIMER),
        default: "",
        about: "Functions that run on a schedule, by the name of the timer.",
        purpose: "Nightly reports, clean-ups, polling.",
    },
];

pub static DEPLOYMENT: Table = Table {
    title: "deployment",
    about: "Either a string, which is both, or a map with these keys.",
    keys: &DEPLOYMENT_KEYS,
    rules: &[Rule::Required("uid")],
    example: "app: shop\ndeployment: { name: backend, uid: 5c2f9a }\n",
};

pub const DEPLOYMENT_KEYS: [KeySpec; 2] = [
    KeySpec {
        name: "name",
        form: Form::Text,
        default: "the `uid`",
        about: "The name that messages show.",
        purpose: "Tells users which folder a unit belongs to.",
    },
    KeySpec {
        name: "uid",
        form: Form::Text,
        default: "",
        about: "Identifies the folder; any string that no other folder of the app uses.",
        purpose: "Stays the same when the name changes. Importing a folder of specs keeps its uid here.",
    },
];
