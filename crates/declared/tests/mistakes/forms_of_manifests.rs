//! Malformed values in a `milepost.yaml`: reported on their line, and their content is checked too.

use super::of_manifests::mistake;
use super::{Mistake, error};

pub const MISTAKES: &[Mistake] = &[
    mistake(
        "deployment: backend\n",
        "deployment: [backend]\n",
        &[error("deployment: [", "`deployment` must be a string, not a list")],
    ),
    mistake(
        "  bin: binary\n",
        "  bin: [binry]\n",
        &[
            error("bin: [binry]", "environment `bin` must be a string, not a list"),
            error("bin: [binry]", "`runtime` of environment `bin`: there is no runtime called `binry`"),
        ],
    ),
    // A string instead of a map: the package is declared, so references to it are valid.
    mistake(
        "  tool: { env: bin, deploy: bin }\n",
        "  tool: bin\n",
        &[error("  tool: bin\n", "package `tool` must be a map, not a string")],
    ),
    mistake(
        "  tool: { env: bin, deploy: bin }\n",
        "  tool:\n    - env: bni\n    - deploy: bins\n",
        &[
            error("- env: bni", "package `tool` must be a map, not a list"),
            error("- env: bni", "package `tool` refers to environment `bni`, which is not in the manifest"),
            error("- deploy: bins", "`deploy` of package `tool`: `bins` does not exist"),
        ],
    ),
    mistake(
        "    package: tool\n",
        "    package: { name: tol }\n",
        &[
            error("name: tol }", "`package` of function `tool` must be a string, not a map"),
            error("name: tol }", "function `tool` refers to package `tol`, which is not in the manifest"),
        ],
    ),
    mistake(
        "    env: py311\n    src: clock\n",
        "    env: { name: py31 }\n    src: clock\n",
        &[
            error("name: py31 }", "`env` of function `clock` must be a string, not a map"),
            error("name: py31 }", "function `clock` refers to environment `py31`, which is not in the manifest"),
        ],
    ),
    mistake(
        "    vars: { PLACE: tower }\n",
        "    vars: [{ name: PLACE, value: [tower] }, { 1B: c }]\n",
        &[
            error("name: PLACE", "`vars` of function `clock` must be a map, not a list"),
            error("name: PLACE", "variable `PLACE` of function `clock` must be a string, not a list"),
            error("name: PLACE", "function `clock`: `variables`: `1B` is not a name"),
        ],
    ),
    mistake(
        "  clock:\n    env: py311\n    src: clock\n    vars: { PLACE: tower }\n",
        "  clock: clock/main.py\n",
        &[error("clock: clock/main.py", "function `clock` must be a map, not a string")],
    ),
    // Routes.
    mistake(
        "  - { path: /clock, method: PUT, function: clock }\n",
        "  - { path: clock, method: PTU, function: clokc, alias: a/b }\n",
        &[
            error("path: clock,", "route `PTU clock`: `methods`: `PTU` is not an HTTP method"),
            error("path: clock,", "route `PTU clock`: `path`: `clock` must start with `/`"),
            error("path: clock,", "route `PTU clock` refers to function `clokc`, which is not in the manifest"),
            error("path: clock,", "`alias` of route `PTU clock`:"),
        ],
    ),
    mistake(
        "  - { path: /clock, method: PUT, function: clock }\n",
        "  - { paht: /clock, method: [PUT, [PTU]] }\n",
        &[
            error("paht:", "unknown key `paht` in a route"),
            error("paht:", "an entry of `method` of a route must be a string, not a list"),
            error("paht:", "a route: `methods`: `PTU` is not an HTTP method"),
            error("paht:", "a route has no `function`"),
        ],
    ),
    mistake(
        "  - PUT /tool: tool\n",
        "  - PUT /tool: [tol]\n",
        &[
            error("PUT /tool: [tol]", "route `PUT /tool` must be a string, not a list"),
            error("PUT /tool: [tol]", "route `PUT /tool` refers to function `tol`, which is not in the manifest"),
        ],
    ),
    mistake(
        "  - PUT /tool: tool\n",
        "  - \"PUT /tool: tol\"\n",
        &[
            error("\"PUT /tool: tol\"", "a route must be one line with a method, a path and a function"),
            error("\"PUT /tool: tol\"", "route `PUT /tool` refers to function `tol`, which is not in the manifest"),
        ],
    ),
    mistake(
        "  - PUT /tool: tool\n",
        "  - PUT /tool:\n    function: tol\n    alias: a/b\n",
        &[
            error("    function: tol\n", "the keys of route `PUT /tool` must be nested under it"),
            error("- PUT /tool:\n", "route `PUT /tool` refers to function `tol`, which is not in the manifest"),
            error("    alias: a/b\n", "`alias` of route `PUT /tool`:"),
        ],
    ),
    // Timers.
    mistake(
        "  monthly: { cron: \"@monthly\", function: tool }\n",
        "  monthly: [{ cron: seldom }, { function: tol }]\n",
        &[
            error("cron: seldom", "timer `monthly` must be a map, not a list"),
            error("cron: seldom", "timer `monthly`: `cron`: `seldom` is not a schedule"),
            error("cron: seldom", "timer `monthly` refers to function `tol`, which is not in the manifest"),
        ],
    ),
    // Static items and secrets.
    mistake(
        "  - src: public/robots.txt\n    path: /robots.txt\n",
        "  - /robots.txt: public/robot.txt\n",
        &[
            error("- /robots.txt: public", "a static item must set its path with `path`"),
            error("- /robots.txt: public", "`src` of static item `/robots.txt`: `public/robot.txt` does not exist"),
        ],
    ),
    mistake(
        "  - src: public/robots.txt\n    path: /robots.txt\n",
        "  - public/robot.txt\n",
        &[
            error("- public/robot.txt", "a static item must be a map, not a string"),
            error("- public/robot.txt", "`src` of a static item: `public/robot.txt` does not exist"),
        ],
    ),
    mistake(
        "secrets: [API_KEY]\n",
        "secrets: [{ name: API/KEY }]\n",
        &[
            error("name: API/KEY", "an entry of `secrets` must be a string, not a map"),
            error("name: API/KEY", "`secrets`: `API/KEY` is not a valid secret name"),
        ],
    ),
];
