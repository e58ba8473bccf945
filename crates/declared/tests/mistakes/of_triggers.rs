//! Triggers of folders of `fission.io/v1` documents.

use super::of_specs::{END_OF_T, T};
use super::{Mistake, error, warning};

pub const MISTAKES: &[Mistake] = &[
    // Triggers.
    Mistake {
        file: T,
        right: "  method: GET\n",
        wrong: "  method: GTE\n",
        told: &[error("method: GTE", "HTTP trigger `api-http`: `method`: `GTE` is not an HTTP method")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: T,
        right: "  relativeurl: /api/orders\n",
        wrong: "  relativeurl: api/orders\n",
        told: &[error("url: api/orders", "HTTP trigger `api-http`: `relativeurl`: `api/orders` must start with `/`")],
        about: &["path of api"],
        renames: None,
    },
    Mistake {
        file: T,
        right: "  relativeurl: /api/orders\n",
        wrong: "  relativurl: /api orders\n",
        told: &[
            error("relativurl", "unknown key `relativurl` in HTTP trigger `api-http`"),
            error("relativurl", "HTTP trigger `api-http`: `relativeurl`: `/api orders` must not contain spaces"),
        ],
        about: &["path of api"],
        renames: None,
    },
    Mistake {
        file: T,
        right: "    type: name\n    name: api\n",
        wrong: "    type: nam\n    name: aip\n",
        told: &[
            error("type: nam\n", "unknown `functionref` type `nam`"),
            error("name: aip", "HTTP trigger `api-http` refers to function `aip`, which is not in the folder"),
        ],
        about: &[],
        renames: None,
    },
    Mistake {
        file: T,
        right: "  methods: [GET, HEAD]\n",
        wrong: "  methods: [GET, FETCH, PUSH]\n",
        told: &[
            error("FETCH", "HTTP trigger `web-http`: `methods`: `FETCH` is not an HTTP method"),
            error("FETCH", "HTTP trigger `web-http`: `methods`: `PUSH` is not an HTTP method"),
        ],
        about: &[],
        renames: None,
    },
    Mistake {
        file: T,
        right: "  keepPrefix: true\n",
        wrong: "  keepPrefix: sometimes\n",
        told: &[error("keepPrefix", "`keepPrefix` of HTTP trigger `web-http` must be `true` or `false`, not a string")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: T,
        right: "    alias: stable\n",
        wrong: "    alias: sta/ble\n    version: latest\n",
        told: &[
            error("alias: sta/ble", "`alias` of `functionref` of HTTP trigger `web-http`:"),
            error("version: latest", "`functionref` of HTTP trigger `web-http` has both `alias` and `version`"),
        ],
        about: &[],
        renames: None,
    },
    Mistake {
        file: T,
        right: "  relativeurl: /inline\n",
        wrong: "  relativeurl: /inline\n  prefix: /in{line\n",
        told: &[
            error("/in{line", "HTTP trigger `inline-http`: `prefix`: `/in{line` cannot be used: a `{` is not closed"),
            error("/in{line", "HTTP trigger `inline-http` has both `relativeurl` and `prefix`"),
        ],
        about: &[],
        renames: None,
    },
    Mistake {
        file: T,
        right: "    name: inline\n    version: \"1\"\n",
        wrong: "    type: function-weights\n    version: \"a b\"\n",
        told: &[
            error("function-weights", "HTTP trigger `inline-http` splits requests by weight"),
            error("version: \"a b\"", "`version` of `functionref` of HTTP trigger `inline-http`:"),
        ],
        about: &[],
        renames: None,
    },
    Mistake {
        file: T,
        right: "  cron: \"0 3 * * *\"\n",
        wrong: "  cron: never\n",
        told: &[error("cron: never", "time trigger `nightly`: `cron`: `never` is not a schedule")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: T,
        right: "    type: name\n    name: tools\n",
        wrong: "    type: name\n",
        told: &[error("    type: name\n---", "`functionref` of time trigger `nightly` has no `name`")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: T,
        right: "  cron: \"@hourly\"\n",
        wrong: "",
        told: &[error(
            "apiVersion: fission.io/v1\nkind: TimeTrigger\nmetadata:\n  name: hourly",
            "time trigger `hourly` has no `cron`",
        )],
        about: &[],
        renames: None,
    },
    Mistake {
        file: T,
        right: "kind: TimeTrigger\nmetadata:\n  name: nightly\n",
        wrong: "kind: TimeTriger\nmetadata:\n  name: night/ly\n",
        told: &[
            error("kind: TimeTriger\n", "unknown kind `TimeTriger`"),
            error("night/ly", "`night/ly` is not a valid timer name"),
        ],
        about: &[],
        renames: Some(("time trigger `nightly`", "time trigger `night/ly`")),
    },
    Mistake {
        file: T,
        right: "  name: inline-http\n",
        wrong: "  name: api-http\n",
        told: &[error("  name: api-http\nspec:\n  relativeurl: /inline", "duplicate HTTP trigger `api-http`")],
        about: &[],
        renames: Some(("HTTP trigger `inline-http`", "HTTP trigger `api-http`")),
    },
    Mistake {
        file: T,
        right: END_OF_T,
        wrong: "    alias: qa\n---\napiVersion: fission.io/v1\nkind: HTTPTrigger\nmetadata: {name: one}\nspec:\n  relativeurl: /dup/{a}\n  method: PUT\n  functionref: {name: web}\n---\napiVersion: fission.io/v1\nkind: HTTPTrigger\nmetadata: {name: two}\nspec:\n  relativeurl: /dup/{b}\n  method: PUT\n  functionref: {name: web}\n",
        told: &[error(
            "apiVersion: fission.io/v1\nkind: HTTPTrigger\nmetadata: {name: two}",
            "HTTP trigger `two` matches the same requests as HTTP trigger `one`, at ",
        )],
        about: &["end of triggers"],
        renames: None,
    },
    Mistake {
        file: T,
        right: END_OF_T,
        wrong: "    alias: qa\n---\n- just a list\n---\napiVersion: fission.io/v1\nkind: CanaryConfig\nmetadata: {name: c}\n---\napiVersion: v1\nkind: ConfigMap\n",
        told: &[
            error("- just a list", "a document must be a map, not a list"),
            error("kind: CanaryConfig", "kind `CanaryConfig` is not supported"),
            warning("apiVersion: v1\n", "unknown kind `ConfigMap` of `v1`; this document is skipped"),
        ],
        about: &["end of triggers"],
        renames: None,
    },
];
