//! `milepost.yaml`.

use milepost_declared::look_at_manifest;

use super::{Mistake, Subject, error};

pub const SUBJECT: Subject = Subject {
    texts: || [(M, include_str!("milepost.yaml").to_owned())].into(),
    others: &[
        "lib/shared.py",
        "dist/main.js",
        "api/api.py",
        "public/home.html",
        "public/robots.txt",
        "bin/tool",
        "clock/main.py",
    ],
    mistakes: &[MISTAKES, super::forms_of_manifests::MISTAKES],
    read: |folder| {
        let (declared, mut errors) = look_at_manifest(folder.path()).expect("a manifest");
        // Unresolved references are reported after the app was asked; here there is no app.
        let unresolved = declared.unresolved();
        errors.extend(unresolved.into_iter().map(|reference| declared.unknown(reference, &[], None)));
        (errors, declared.warnings)
    },
};

pub const M: &str = "milepost.yaml";

/// A mistake in the only file.
pub const fn mistake(right: &'static str, wrong: &'static str, told: &'static [super::Told]) -> Mistake {
    Mistake { file: M, right, wrong, told, about: &[], renames: None }
}

const MISTAKES: &[Mistake] = &[
    mistake("app: shop\n", "app: My Shop\n", &[error("app: My Shop", "`app`: `My Shop` is not a valid app name")]),
    mistake("deployment: backend\n", "deployment: \"\"\n", &[error("deployment: \"\"", "`deployment` is empty")]),
    mistake("app: shop\n", "ap: shop\n", &[error("ap: shop", "unknown key `ap` in the manifest")]),
    // Environments.
    mistake(
        "    runtime: python\n",
        "    runtime: pyton\n",
        &[error("runtime: pyton", "`runtime` of environment `py311`: there is no runtime called `pyton`")],
    ),
    mistake(
        "    interpreter: \"3.11\"\n",
        "    interpreter: \"3.11\"\n    bulder: make\n",
        &[error("bulder", "unknown key `bulder` in environment `py311`")],
    ),
    mistake(
        "  js: node\n",
        "  js: node\n  a/b: nod\n",
        &[
            error("a/b: nod", "`a/b` is not a valid environment name"),
            error("a/b: nod", "`runtime` of environment `a/b`: there is no runtime called `nod`"),
        ],
    ),
    mistake("environments:\n", "enviroments:\n", &[error("enviroments:", "unknown key `enviroments` in the manifest")]),
    // Packages.
    Mistake {
        file: M,
        right: "    include: [\"*.py\"]\n",
        wrong: "    include: [\"*.py\", \"*.rb\", \"[a\"]\n",
        told: &[
            error("*.rb", "`include` of package `shared`: no files match `*.rb`"),
            error("*.rb", "`include` of package `shared`: invalid pattern `[a`"),
        ],
        about: &["lib"],
        renames: None,
    },
    Mistake {
        file: M,
        right: "    src: lib\n",
        wrong: "    src: libs\n",
        told: &[error("src: libs", "`src` of package `shared`: `libs` does not exist")],
        // Patterns are not matched if the folder is missing.
        about: &["lib"],
        renames: None,
    },
    mistake(
        "    env: js\n    deploy: dist\n",
        "    env: js\n    deploy: { from: dist }\n",
        &[error("deploy: { from: dist }", "`deploy` of package `ready` must be a string, not a map")],
    ),
    mistake("packages:\n", "package:\n", &[error("package:\n", "unknown key `package` in the manifest")]),
    mistake(
        "  ready:\n    env: js\n",
        "  ready:\n    env: jss\n",
        &[error("env: jss", "package `ready` refers to environment `jss`, which is not in the manifest")],
    ),
    // Functions.
    mistake(
        "    env: py311\n    src: api\n",
        "    env: py312\n    src: api\n",
        &[error("env: py312", "function `api` refers to environment `py312`, which is not in the manifest")],
    ),
    mistake(
        "    src: api\n",
        "    src: apis\n",
        &[error("src: apis", "`src` of function `api`: `apis` does not exist")],
    ),
    mistake(
        "    exclude: [\"old/**\"]\n",
        "    exclude: [\"{old\"]\n",
        &[error("{old", "`exclude` of function `api`: invalid pattern `{old`")],
    ),
    mistake(
        "    vars: { MODE: fast, LEVEL: 1.10 }\n",
        "    vars: { MODE: [fast], 1LEVEL: 1.10, A-B: x }\n",
        &[
            error("1LEVEL", "variable `MODE` of function `api` must be a string, not a list"),
            error("1LEVEL", "function `api`: `variables`: `1LEVEL` is not a name"),
            error("1LEVEL", "function `api`: `variables`: `A-B` is not a name"),
        ],
    ),
    mistake(
        "    secrets: [DATABASE_URL]\n",
        "    secrets: [DATABASE/URL, a b]\n",
        &[
            error("DATABASE/URL", "`secrets` of function `api`: `DATABASE/URL` is not a valid secret name"),
            error("DATABASE/URL", "`secrets` of function `api`: `a b` is not a valid secret name"),
        ],
    ),
    mistake(
        "    permission: token\n",
        "    permission: friends\n",
        &[error("friends", "`permission` of function `api`: `friends` is not a permission")],
    ),
    mistake("    memory: 128Mi\n", "    memory: 1Mi\n", &[error("1Mi", "function `api`: `memory`: 1048576 bytes")]),
    mistake("    cpu: 500\n", "    cpu: 0\n", &[error("cpu: 0", "function `api`: `cpu`: 0 is outside")]),
    mistake(
        "    timeout: 10s\n",
        "    timeout: 25h\n",
        &[error("timeout: 25h", "function `api`: `timeoutMs`: 90000000 ms is outside")],
    ),
    mistake(
        "    scale: { min: 0, max: 8, concurrency: 1, idle: 5m }\n",
        "    scale: { min: 9, max: 8, concurrency: 0, idle: soon }\n",
        &[
            error("scale: { min: 9", "function `api`: `scale`: min 9 and max 8"),
            error("scale: { min: 9", "function `api`: `scale.concurrency`: 0 requests"),
            error("scale: { min: 9", "`idle` of `scale` of function `api`: `soon` is not a duration"),
        ],
    ),
    mistake(
        "    entrypoint: api.main\n",
        "    entrypoints: api.main\n",
        &[error("entrypoints", "unknown key `entrypoints` in function `api`")],
    ),
    mistake(
        "    package: shared\n    entrypoint: worker.run\n",
        "    package: shraed\n    build: make\n",
        &[
            error("package: shraed", "function `worker` refers to package `shraed`, which is not in the manifest"),
            error("build: make\n", "function `worker` has both `build` and `package`"),
        ],
    ),
    mistake(
        "    package: ready\n",
        "    package: raedy\n    src: nowhere\n    env: js\n",
        &[
            error("package: raedy", "function `page` has both `src` and `package`"),
            error("package: raedy", "function `page` refers to package `raedy`, which is not in the manifest"),
            error("src: nowhere", "`src` of function `page`: `nowhere` does not exist"),
        ],
    ),
    mistake("functions:\n", "functoins:\n", &[error("functoins:", "unknown key `functoins` in the manifest")]),
    mistake(
        "    package: ready\nsecrets",
        "    package: ready\n  page: { env: js, src: dist, memory: lots }\nsecrets",
        &[
            error("  page: { env: js", "duplicate key `page`"),
            error("  page: { env: js", "`memory` of function `page`: `lots` is not an amount of memory"),
        ],
    ),
    mistake(
        "secrets: [API_KEY]\n",
        "secrets: [API/KEY]\n",
        &[error("API/KEY", "`secrets`: `API/KEY` is not a valid secret name")],
    ),
    mistake(
        "secrets: [API_KEY]\n",
        "secrets: { API_KEY: s3cret }\n",
        &[error("API_KEY: s3cret", "`secrets` must be a list of names, not a map")],
    ),
    mistake(
        "    secrets: [DATABASE_URL]\n",
        "    secrets: { DATABASE_URL: s3cret }\n",
        &[error("DATABASE_URL: s3cret", "`secrets` of function `api` must be a list of names, not a map")],
    ),
    mistake(
        "  page:\n    package: ready\n",
        "  empty: {}\n  page:\n    package: ready\n",
        &[error("empty: {}", "function `empty` has no `src`"), error("empty: {}", "function `empty` has no `env`")],
    ),
    // Configuration.
    mistake(
        "  greeting: hi\n",
        "  greeting: hi\n  greeting: ho\n",
        &[error("greeting: ho", "duplicate key `greeting`")],
    ),
    // Static items.
    mistake(
        "  - src: public\n",
        "  - src: publik\n",
        &[error("src: publik", "`src` of static item `/static`: `publik` does not exist")],
    ),
    mistake(
        "    index: home.html\n",
        "    index: ../home.html\n    fallback: /x\n    error: ../y\n",
        &[
            error("index: ../home", "static item `/static`: `index`: `../home.html` is not a file"),
            error("fallback: /x", "static item `/static`: `fallback`: `/x` is not a file"),
            error("error: ../y", "static item `/static`: `error`: `../y` is not a file"),
            error("error: ../y", "static item `/static` has both `fallback` and `error`"),
        ],
    ),
    mistake(
        "    exclude: [\"*.map\"]\n",
        "    exclude: [\"[map\"]\n",
        &[error("[map", "`exclude` of static item `/static`: invalid pattern `[map`")],
    ),
    mistake(
        "    path: /robots.txt\n",
        "    path: /static/\n",
        &[error("src: public/robots.txt", "`/static` is already served by the static item")],
    ),
    mistake(
        "  - src: public/robots.txt\n    path: /robots.txt\n",
        "  - src: public/robots.txt\n    index: /up\n",
        &[
            error("src: public/robots.txt", "a static item has no `path`"),
            error("index: /up", "a static item: `index`: `/up` is not a file"),
        ],
    ),
    // Routes.
    mistake(
        "  - GET /orders: api\n",
        "  - GTE orders: api\n",
        &[
            error("GTE orders", "route `GTE orders`: `methods`: `GTE` is not an HTTP method"),
            error("GTE orders", "route `GTE orders`: `path`: `orders` must start with `/`"),
        ],
    ),
    mistake(
        "  - GET /orders: api\n",
        "  - orders: aip\n",
        &[
            error("orders: aip", "`orders` is not a route"),
            error("orders: aip", "route `orders` refers to function `aip`, which is not in the manifest"),
        ],
    ),
    mistake(
        "{ function: api, alias: stable }\n",
        "{ funktion: api, alias: sta/ble, version: 1 }\n",
        &[
            error("funktion", "unknown key `funktion` in route `POST /orders/{id}`"),
            error("funktion", "`alias` of route `POST /orders/{id}`:"),
            error("funktion", "route `POST /orders/{id}` has both `alias` and `version`"),
        ],
    ),
    Mistake {
        file: M,
        right: "  - POST /orders/{id}: {",
        wrong: "  - POST /orders/{id: {",
        told: &[error(
            "POST /orders/{id: {",
            "route `POST /orders/{id`: `path`: `/orders/{id` cannot be used: a `{` is not closed",
        )],
        about: &[],
        renames: Some(("route `POST /orders/{id}`", "route `POST /orders/{id`")),
    },
    mistake(
        "      function: page\n",
        "      function: pgae\n",
        &[error("  - /page:", "route `/page` refers to function `pgae`, which is not in the manifest")],
    ),
    mistake(
        "      prefix: true\n",
        "      prefix: maybe\n",
        &[error("prefix: maybe", "`prefix` of route `/page` must be `true` or `false`, not a string")],
    ),
    mistake(
        "      methods: [GET, HEAD]\n",
        "      methods: [GET, HAED]\n",
        &[error("HAED", "route `/page`: `methods`: `HAED` is not an HTTP method")],
    ),
    mistake(
        "timers:\n",
        "  - GET /a: api\n    GET /b: nobody\n  - just text\ntimers:\n",
        &[
            error("  - GET /a: api", "a route must be one line with a method, a path and a function"),
            error("GET /b: nobody", "route `GET /b` refers to function `nobody`, which is not in the manifest"),
            error("- just text", "a route must be one line with a method, a path and a function"),
        ],
    ),
    mistake(
        "timers:\n",
        "  - GET,POST /dup/{a}: api\n  - POST /dup/{b}: page\n  - /dup/{c}: page\n  - PUT /dup/{d}/x: api\ntimers:\n",
        &[error(
            "- POST /dup/{b}: page",
            "route `POST /dup/{b}` matches the same requests as route `GET,POST /dup/{a}`, at milepost.yaml:",
        )],
    ),
    // Timers.
    mistake("timers:\n", "timers:\n  weekly: { function: api }\n", &[error("weekly:", "timer `weekly` has no `cron`")]),
    mistake(
        "static:\n  - src: public\n    path: /static\n    exclude: [\"*.map\"]\n    index: home.html\n  - src: public/robots.txt\n    path: /robots.txt\n",
        "static:\n  src: publics\n  path: /static\n",
        &[
            error("src: publics", "`static` must be a list, not a map"),
            error("src: publics", "`src` of static item `/static`: `publics` does not exist"),
        ],
    ),
    mistake(
        "environments:\n  py311:\n    runtime: python\n    interpreter: \"3.11\"\n  js: node\n  bin: binary\n",
        "environments:\n  - py311: python\n  - js: nodd\n  - name: bin\n    runtime: binary\n",
        &[
            error("- py311: python", "`environments` must be a map, not a list"),
            error("js: nodd", "`runtime` of environment `js`: there is no runtime called `nodd`"),
        ],
    ),
    mistake(
        "cron: \"0 3 * * *\", zone: Europe/Berlin, function: worker",
        "cron: never, zone: Mars, functions: wroker",
        &[
            error("cron: never", "timer `nightly`: `cron`: `never` is not a schedule"),
            error("cron: never", "timer `nightly`: `zone`: `Mars` is not a time zone"),
            error("cron: never", "unknown key `functions` in timer `nightly`"),
            error("cron: never", "timer `nightly` refers to function `wroker`, which is not in the manifest"),
        ],
    ),
    mistake(
        "    cron: \"@hourly\"\n    function: api\n",
        "    zone: Mars\n    function: [api]\n",
        &[
            error("  hourly:", "timer `hourly` has no `cron`"),
            error("zone: Mars\n", "timer `hourly`: `zone`: `Mars` is not a time zone"),
            error("function: [api]", "`function` of timer `hourly` must be a string, not a list"),
        ],
    ),
    mistake(
        "    version: 1\n",
        "    version: a b\n---\nstatic: { }\n",
        &[
            error("version: a b", "`version` of timer `hourly`:"),
            error("static: { }", "a manifest must be a single document"),
            error("static: { }", "`static` must be a list, not a map"),
        ],
    ),
];
