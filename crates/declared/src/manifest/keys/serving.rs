//! The keys of static items, routes and timers.

use super::{Form, KeySpec, Rule, Table};

pub static STATIC: Table = Table {
    title: "static",
    about: "A list of static items.",
    keys: &STATIC_KEYS,
    rules: &[Rule::Required("src"), Rule::Required("path"), Rule::NotBoth("fallback", "error")],
    example: "\
static:
  - { src: public, path: /, index: index.html, error: 404.html, clean: true }
  - { src: public, path: /assets, include: [\"**/*.html\"], exclude: [error.html], expires: 24h }
  - { src: public, path: /app, fallback: index.html }
",
};

pub const STATIC_KEYS: [KeySpec; 9] = [
    KeySpec {
        name: "src",
        form: Form::Text,
        default: "",
        about: "The folder or file to serve, relative to the manifest.",
        purpose: "Ignored files are served too: build output often is one.",
    },
    KeySpec {
        name: "path",
        form: Form::UrlPath,
        default: "",
        about: "The path to serve it at.",
        purpose: "Of several items, the one with the longest path answers.",
    },
    KeySpec {
        name: "include",
        form: Form::Texts,
        default: "all files",
        about: "Patterns of files to serve, relative to `src`.",
        purpose: "Serve a part of a folder.",
    },
    KeySpec {
        name: "exclude",
        form: Form::Texts,
        default: "",
        about: "Patterns of files to leave out, relative to `src`.",
        purpose: "Source maps, drafts, very large files.",
    },
    KeySpec {
        name: "index",
        form: Form::Text,
        default: "`index.html`",
        about: "The file that answers for a directory.",
        purpose: "Sites whose start pages have another name.",
    },
    KeySpec {
        name: "fallback",
        form: Form::Text,
        default: "",
        about: "The file that answers with 200 if nothing else does.",
        purpose: "Single-page applications, which route in the browser.",
    },
    KeySpec {
        name: "error",
        form: Form::Text,
        default: "a plain page",
        about: "The file that answers with 404 if nothing else does.",
        purpose: "A \"not found\" page in the design of the site.",
    },
    KeySpec {
        name: "clean",
        form: Form::Flag,
        default: "`false`",
        about: "Serves `login.html` at `/login`.",
        purpose: "Addresses without `.html`; the old ones redirect.",
    },
    KeySpec {
        name: "expires",
        form: Form::Duration,
        default: "one year for names with a content hash, else `0s`",
        about: "How long caches may keep the files, up to `8760h`.",
        purpose: "Fewer requests for files that rarely change.",
    },
];

pub static ROUTE: Table = Table {
    title: "routes",
    about: "A list of routes, each `METHODS PATH: FUNCTION` or `METHODS PATH` with these keys. Without \
            methods, a route accepts all that no other route of the path names.",
    keys: &ROUTE_KEYS,
    rules: &[Rule::Required("function"), Rule::NotBoth("alias", "version")],
    example: "\
routes:
  - GET /hello: hello
  - GET,POST /orders/{id}: { function: orders, alias: stable }
  - /api: { function: api, version: v1.0.0, prefix: true, strip: true }
  - /old: { function: api, methods: [GET], host: shop.example.com, name: old, fission: true }
",
};

pub const ROUTE_KEYS: [KeySpec; 9] = [
    TARGET,
    ALIAS,
    VERSION,
    KeySpec {
        name: "prefix",
        form: Form::Flag,
        default: "`false`",
        about: "Also answers everything below the path.",
        purpose: "Applications that route by themselves, such as Flask or Express.",
    },
    KeySpec {
        name: "strip",
        form: Form::Flag,
        default: "`false`",
        about: "Removes the prefix before the function sees the path.",
        purpose: "Applications that expect to be at `/`. Only with `prefix`.",
    },
    KeySpec {
        name: "fission",
        form: Form::Flag,
        default: "`false`",
        about: "Passes requests on as Fission's router does.",
        purpose: "Functions that read `X-Fission-` headers.",
    },
    KeySpec {
        name: "host",
        form: Form::Text,
        default: "all hosts of the app",
        about: "The only host that the route answers at.",
        purpose: "Different routes for two hosts of one app.",
    },
    KeySpec {
        name: "methods",
        form: Form::Texts,
        default: "those before the path, or all",
        about: "The HTTP methods.",
        purpose: "In place of naming them before the path.",
    },
    KeySpec {
        name: "name",
        form: Form::Text,
        default: "methods and path, such as `GET /hello`",
        about: "The name of the route.",
        purpose: "Two routes with the same methods and path, for two hosts.",
    },
];

pub static WHOLE_ROUTE: Table = Table {
    title: "routes, as maps",
    about: "A route can also be a map with these keys and all keys above.",
    keys: &WHOLE_ROUTE_KEYS,
    rules: &[Rule::Required("path"), Rule::Required("function"), Rule::NotBoth("alias", "version")],
    example: "\
routes:
  - { path: /page, method: GET, function: hello }
  - { path: /api, methods: [GET, HEAD], function: api, prefix: true }
",
};

pub const WHOLE_ROUTE_KEYS: [KeySpec; 11] = [
    KeySpec {
        name: "path",
        form: Form::UrlPath,
        default: "",
        about: "The path that the route answers.",
        purpose: "May have parameters, such as `/orders/{id}`.",
    },
    KeySpec {
        name: "method",
        form: Form::Texts,
        default: "all that no other route of the path names",
        about: "The HTTP methods; the same as `methods`.",
        purpose: "Reads better for a single one.",
    },
    ROUTE_KEYS[0],
    ROUTE_KEYS[1],
    ROUTE_KEYS[2],
    ROUTE_KEYS[3],
    ROUTE_KEYS[4],
    ROUTE_KEYS[5],
    ROUTE_KEYS[6],
    ROUTE_KEYS[7],
    ROUTE_KEYS[8],
];

pub static TIMER: Table = Table {
    title: "timers",
    about: "A map of names to timers. A timer fires for the live release.",
    keys: &TIMER_KEYS,
    rules: &[Rule::Required("cron"), Rule::Required("function"), Rule::NotBoth("alias", "version")],
    example: "\
timers:
  nightly: { cron: \"0 3 * * *\", zone: Europe/Berlin, function: report }
  often: { cron: \"@every 5m\", function: poll, alias: stable }
  pinned: { cron: \"@daily\", function: poll, version: v1.0.0 }
",
};

pub const TIMER_KEYS: [KeySpec; 5] = [
    KeySpec {
        name: "cron",
        form: Form::Text,
        default: "",
        about: "The schedule: five or six fields, or a form such as `@daily`.",
        purpose: "See [Schedules](../executions.md#schedules).",
    },
    KeySpec {
        name: "zone",
        form: Form::Text,
        default: "`UTC`",
        about: "The time zone of the schedule, by name.",
        purpose: "Times of day that follow the clocks of a place.",
    },
    TARGET,
    ALIAS,
    VERSION,
];

const TARGET: KeySpec = KeySpec {
    name: "function",
    form: Form::Text,
    default: "",
    about: "The function to call.",
    purpose: "One under `functions`, or one of the app.",
};
const ALIAS: KeySpec = KeySpec {
    name: "alias",
    form: Form::Text,
    default: "",
    about: "Calls the version that this alias points at.",
    purpose: "Move the alias to change the version without a deploy.",
};
const VERSION: KeySpec = KeySpec {
    name: "version",
    form: Form::Text,
    default: "the version in each release",
    about: "Calls this version of the function.",
    purpose: "Pin a caller to a version for good.",
};
