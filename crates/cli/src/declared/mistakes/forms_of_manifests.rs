//! Values of a `milepost.yaml` in another form than they should have: told on their line, and looked into all the same.

use super::of_manifests::mistake;
use super::{Mistake, error};

pub const MISTAKES: &[Mistake] = &[
    mistake(
        "deployment: backend\n",
        "deployment: [backend]\n",
        &[error("deployment: [", "`deployment` must be text, not a list")],
    ),
    mistake(
        "  bin: binary\n",
        "  bin: [binry]\n",
        &[
            error("bin: [binry]", "environment `bin` must be text, not a list"),
            error("bin: [binry]", "`runtime` of environment `bin`: there is no runtime called `binry`"),
        ],
    ),
    // Text where a map belongs: it is there, so what names it is right.
    mistake(
        "  tool: { env: bin, deploy: bin }\n",
        "  tool: bin\n",
        &[error("  tool: bin\n", "package `tool` must be a map of keys, not text")],
    ),
    mistake(
        "  tool: { env: bin, deploy: bin }\n",
        "  tool:\n    - env: bni\n    - deploy: bins\n",
        &[
            error("- env: bni", "package `tool` must be a map of keys, not a list"),
            error("- env: bni", "package `tool` names environment `bni`, which is not in the manifest"),
            error("- deploy: bins", "`deploy` of package `tool`: there is no `bins`"),
        ],
    ),
    mistake(
        "    package: tool\n",
        "    package: { name: tol }\n",
        &[
            error("name: tol }", "`package` of function `tool` must be text, not a map of keys"),
            error("name: tol }", "function `tool` names package `tol`, which is not in the manifest"),
        ],
    ),
    mistake(
        "    env: py311\n    src: clock\n",
        "    env: { name: py31 }\n    src: clock\n",
        &[
            error("name: py31 }", "`env` of function `clock` must be text, not a map of keys"),
            error("name: py31 }", "function `clock` names environment `py31`, which is not in the manifest"),
        ],
    ),
    mistake(
        "    vars: { PLACE: tower }\n",
        "    vars: [{ name: PLACE, value: [tower] }, { 1B: c }]\n",
        &[
            error("name: PLACE", "`vars` of function `clock` must be a map of keys, not a list"),
            error("name: PLACE", "variable `PLACE` of function `clock` must be text, not a list"),
            error("name: PLACE", "function `clock`: `variables`: `1B` is not a name"),
        ],
    ),
    mistake(
        "  clock:\n    env: py311\n    src: clock\n    vars: { PLACE: tower }\n",
        "  clock: clock/main.py\n",
        &[error("clock: clock/main.py", "function `clock` must be a map of keys, not text")],
    ),
    // Routes.
    mistake(
        "  - { path: /clock, method: PUT, function: clock }\n",
        "  - { path: clock, method: PTU, function: clokc, alias: a/b }\n",
        &[
            error("path: clock,", "route `PTU clock`: `methods`: `PTU` is not an HTTP method"),
            error("path: clock,", "route `PTU clock`: `path`: `clock` must start with `/`"),
            error("path: clock,", "route `PTU clock` names function `clokc`, which is not in the manifest"),
            error("path: clock,", "`alias` of route `PTU clock`:"),
        ],
    ),
    mistake(
        "  - { path: /clock, method: PUT, function: clock }\n",
        "  - { paht: /clock, method: [PUT, [PTU]] }\n",
        &[
            error("paht:", "unknown key `paht` in a route"),
            error("paht:", "an entry of `method` of a route must be text, not a list"),
            error("paht:", "a route: `methods`: `PTU` is not an HTTP method"),
            error("paht:", "a route has no `function`"),
        ],
    ),
    mistake(
        "  - PUT /tool: tool\n",
        "  - PUT /tool: [tol]\n",
        &[
            error("PUT /tool: [tol]", "route `PUT /tool` must be text, not a list"),
            error("PUT /tool: [tol]", "route `PUT /tool` names function `tol`, which is not in the manifest"),
        ],
    ),
    mistake(
        "  - PUT /tool: tool\n",
        "  - \"PUT /tool: tol\"\n",
        &[
            error("\"PUT /tool: tol\"", "a route is one line with a method, a path and a function"),
            error("\"PUT /tool: tol\"", "route `PUT /tool` names function `tol`, which is not in the manifest"),
        ],
    ),
    mistake(
        "  - PUT /tool: tool\n",
        "  - PUT /tool:\n    function: tol\n    alias: a/b\n",
        &[
            error("    function: tol\n", "what route `PUT /tool` is made of must stand below it"),
            error("- PUT /tool:\n", "route `PUT /tool` names function `tol`, which is not in the manifest"),
            error("    alias: a/b\n", "`alias` of route `PUT /tool`:"),
        ],
    ),
    // Timers.
    mistake(
        "  monthly: { cron: \"@monthly\", function: tool }\n",
        "  monthly: [{ cron: seldom }, { function: tol }]\n",
        &[
            error("cron: seldom", "timer `monthly` must be a map of keys, not a list"),
            error("cron: seldom", "timer `monthly`: `cron`: `seldom` is not a schedule"),
            error("cron: seldom", "timer `monthly` names function `tol`, which is not in the manifest"),
        ],
    ),
    // Static items and secrets.
    mistake(
        "  - src: public/robots.txt\n    path: /robots.txt\n",
        "  - /robots.txt: public/robot.txt\n",
        &[
            error("- /robots.txt: public", "a static item has its path under `path`"),
            error("- /robots.txt: public", "`src` of static item `/robots.txt`: there is no `public/robot.txt`"),
        ],
    ),
    mistake(
        "  - src: public/robots.txt\n    path: /robots.txt\n",
        "  - public/robot.txt\n",
        &[
            error("- public/robot.txt", "a static item must be a map of keys, not text"),
            error("- public/robot.txt", "`src` of a static item: there is no `public/robot.txt`"),
        ],
    ),
    mistake(
        "secrets: [API_KEY]\n",
        "secrets: [{ name: API/KEY }]\n",
        &[
            error("name: API/KEY", "an entry of `secrets` must be text, not a map of keys"),
            error("name: API/KEY", "`secrets`: `API/KEY` is not a valid secret name"),
        ],
    ),
];
