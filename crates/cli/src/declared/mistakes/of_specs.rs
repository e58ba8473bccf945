//! Folders of `fission.io/v1` documents.

use super::super::fission::look_at_folder;
use super::forms_of_specs::K;
use super::{Mistake, Subject, error, warning};

pub const SUBJECT: Subject = Subject {
    texts: || {
        let (functions, triggers) = (include_str!("functions.yaml"), include_str!("triggers.yaml"));
        [(F, functions), (T, triggers), (K, include_str!("more.yaml"))]
            .map(|(file, text)| (file, text.to_owned()))
            .into()
    },
    others: &["api/api.py", "api/requirements.txt", "web/main.js", "tools/tools.py", "bin/run"],
    mistakes: &[MISTAKES, super::forms_of_specs::MISTAKES],
    read: |folder| {
        let (declared, errors) = look_at_folder(&folder.path().join("specs")).expect("a folder");
        (errors, declared.warnings)
    },
};

pub const F: &str = "specs/functions.yaml";
const T: &str = "specs/triggers.yaml";

/// Where another document can be appended: the end of the text.
const END_OF_F: &str = "      name: inline-pkg\n";
const END_OF_T: &str = "    alias: qa\n";

const MISTAKES: &[Mistake] = &[
    // The deployment.
    Mistake {
        file: F,
        right: "uid: 6a1f0d2c\n",
        wrong: "uid: \"\"\n",
        told: &[error("uid: \"\"", "the `uid` of the DeploymentConfig is empty")],
        about: &["uid"],
        renames: None,
    },
    Mistake {
        file: F,
        right: "name: shop\nuid: 6a1f0d2c\n",
        wrong: "name: shop\nuuid: 6a1f0d2c\n",
        told: &[error("uuid: 6a1f0d2c", "unknown key `uuid` in the DeploymentConfig")],
        about: &["uid"],
        renames: None,
    },
    Mistake {
        file: T,
        right: END_OF_T,
        wrong: "    alias: qa\n---\napiVersion: fission.io/v1\nkind: DeploymentConfig\nname: other\nuid: 0b\n",
        told: &[error("apiVersion: fission.io/v1\nkind: DeploymentConfig", "duplicate DeploymentConfig")],
        about: &["end of triggers"],
        renames: None,
    },
    // Environments.
    Mistake {
        file: F,
        right: "image: fission/python-env:1.34",
        wrong: "image: fission/ruby-env:1.34",
        told: &[error("fission/ruby-env", "`image` of environment `py`: Milepost has no runtime for")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "    image: fission/node-env\n",
        wrong: "    podspec: {hostname: x}\n    image: fission/node-env\n",
        told: &[warning(
            "podspec: {hostname: x}",
            "`hostname` of `podspec` of `runtime` of environment `js` is not supported",
        )],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "  runtime:\n    image: fission/python-env",
        wrong: "  runtme:\n    image: fission/python-env",
        told: &[error("runtme:", "unknown key `runtme` in environment `py`")],
        about: &[],
        renames: None,
    },
    // Archives.
    Mistake {
        file: F,
        right: "  - \"api/*.py\"\n",
        wrong: "  - \"api/*.rb\"\n  - \"api/*.py\"\n",
        told: &[error("api/*.rb", "`include` of archive `api-archive`: no files match `api/*.rb`")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "  - \"api/old/**\"\n",
        wrong: "  - \"api/[old\"\n",
        told: &[error("api/[old", "`exclude` of archive `api-archive`: invalid pattern `api/[old`")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "  - \"api/requirements.txt\"\n",
        wrong: "  - \"api/requirements.txt\"\n  - \"api/{a\"\n",
        told: &[error("api/{a", "`include` of archive `api-archive`: invalid pattern `api/{a`")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "rootdir: web\n",
        wrong: "rootdir: wep\n",
        told: &[error("rootdir: wep", "`rootdir` of archive `web-archive`: folder")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "include:\n  - tools\n",
        wrong: "inclued:\n  - tools\n",
        told: &[error("inclued:", "unknown key `inclued` in an ArchiveUploadSpec")],
        about: &["tools-archive"],
        renames: None,
    },
    Mistake {
        file: F,
        right: "kind: ArchiveUploadSpec\nname: tools-archive\n",
        wrong: "kind: ArchiveUplodSpec\nname: tools-archive\n",
        told: &[error("kind: ArchiveUplodSpec", "unknown kind `ArchiveUplodSpec`")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "kind: ArchiveUploadSpec\nname: web-archive\n",
        wrong: "name: web-archive\n",
        told: &[error("name: web-archive\n", "this document has no `kind`")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "name: api-archive\ninclude",
        wrong: "include",
        told: &[error("kind: ArchiveUploadSpec\ninclude", "an ArchiveUploadSpec has no `name`")],
        // The reference to the archive without a name is then not checked.
        about: &["unknown archive", "unknown archive of tools", "unknown archive of bin"],
        renames: Some(("archive `api-archive`:", "an ArchiveUploadSpec:")),
    },
    // Packages.
    Mistake {
        file: F,
        right: "url: archive://api-archive",
        wrong: "url: archive://api-archvie",
        told: &[error("api-archvie", "`source` of package `api-pkg` refers to archive `api-archvie`")],
        about: &["unknown archive"],
        renames: None,
    },
    Mistake {
        file: F,
        right: "url: archive://web-archive",
        wrong: "url: https://example.org/web.zip",
        told: &[error("https://example.org", "`url` of `deployment` of package `web-pkg`: Milepost does not download")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "    type: url\n    url: archive://web-archive",
        wrong: "    type: git\n    url: archive://web-archive",
        told: &[error("type: git", "unknown archive type `git`")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "    url: archive://tools-archive",
        wrong: "    url: archive://zzz",
        told: &[
            error("archive://zzz", "`source` of package `tools-pkg` refers to archive `zzz`"),
            error("kind: ArchiveUploadSpec\nname: tools-archive", "no package uses archive `tools-archive`"),
        ],
        about: &["unknown archive of tools"],
        renames: None,
    },
    Mistake {
        file: F,
        right: "    literal: Zg==\n    checksum:",
        wrong: "    literal: Zg=\n    checksum:",
        told: &[error("literal: Zg=\n", "`literal` of `deployment` of package `inline-pkg` is not valid base64")],
        about: &["literal"],
        renames: None,
    },
    Mistake {
        file: F,
        right: "      sum: 252f10c8",
        wrong: "      sum: 353f10c8",
        told: &[error("sum: 353f10c8", "`checksum` of `deployment` of package `inline-pkg` does not match")],
        about: &["literal"],
        renames: None,
    },
    Mistake {
        file: F,
        right: "      type: sha256",
        wrong: "      type: md5",
        told: &[error("type: md5", "unknown checksum type `md5`")],
        about: &["literal"],
        renames: None,
    },
    Mistake {
        file: F,
        right: "  buildcmd: ./build.sh\n",
        wrong: "  buildcmmd: ./build.sh\n",
        told: &[error("buildcmmd", "unknown key `buildcmmd` in package `api-pkg`")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: END_OF_F,
        wrong: "      name: inline-pkg\n---\napiVersion: fission.io/v1\nkind: Package\nmetadata:\n  name: spare\n  labels: {}\nspec:\n  environment:\n    name: js\n  deployment:\n    literal: aGk=\n---\nkind: ArchiveUploadSpec\nname: unused\ninclude: tools\n",
        told: &[
            warning(
                "apiVersion: fission.io/v1\nkind: Package\nmetadata:\n  name: spare",
                "no function uses package `spare`",
            ),
            error("kind: ArchiveUploadSpec\nname: unused", "no package uses archive `unused`"),
        ],
        about: &[],
        renames: None,
    },
    // Functions.
    Mistake {
        file: F,
        right: "    packageref:\n      name: tools-pkg\n",
        wrong: "    packageref:\n      name: tols-pkg\n",
        told: &[error("name: tols-pkg", "function `tools` refers to package `tols-pkg`, which is not in the folder")],
        about: &["package of tools"],
        renames: None,
    },
    Mistake {
        file: F,
        right: "    packageref:\n      name: web-pkg\n",
        wrong: "    packageref: web-pkg\n",
        told: &[error(
            "packageref: web-pkg",
            "`packageref` of `package` of function `web` must be a map, not a string",
        )],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "  environment:\n    name: py\n  package:\n    functionName: tools.run\n",
        wrong: "  package:\n    functionName: tools.run\n",
        told: &[error(
            "apiVersion: fission.io/v1\nkind: Function\nmetadata:\n  name: tools\n",
            "function `tools` has no `environment`",
        )],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "      memory: 256Mi",
        wrong: "      memory: 1Mi",
        told: &[error("memory: 1Mi", "function `api`: `memory`: 1048576 bytes is outside")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "      cpu: 100m",
        wrong: "      cpu: fast",
        told: &[error("cpu: fast", "`cpu` of `requests` of `resources` of function `api`: `fast` is not an amount")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "  functionTimeout: 60",
        wrong: "  functionTimeout: 999999",
        told: &[error("functionTimeout: 999999", "function `api`: `timeoutMs`:")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "      MinScale: 1\n",
        wrong: "      MinScale: 9\n",
        told: &[error("InvokeStrategy:", "function `api`: `scale`: min 9 and max 3")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "      ExecutorType: newdeploy\n      MinScale: 1\n",
        wrong: "      ExecutorType: poolmgr\n      MinScale: 9\n",
        told: &[error("InvokeStrategy:", "function `api`: `scale`: min 9 and max 3")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "  idletimeout: 120\n",
        wrong: "  idletimeout: soon\n",
        told: &[error("idletimeout: soon", "`idletimeout` of function `api`: `soon` is not a number of seconds")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "  requestsPerPod: 4\n",
        wrong: "  requestPerPod: 4\n",
        told: &[error("requestPerPod", "unknown key `requestPerPod` in function `api`")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "    - name: DATABASE_URL\n",
        wrong: "    - name: DATABASE/URL\n",
        told: &[error("DATABASE/URL", "`secrets` of function `api`: `DATABASE/URL` is not a valid secret name")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "      namespace: shop\n  resources:",
        wrong: "      namespace: shelf\n  resources:",
        told: &[error("namespace: shelf", "an entry of `secrets` of function `api` is in namespace `shelf`")],
        about: &[],
        renames: None,
    },
    Mistake {
        file: F,
        right: "  idletimeout: 120\n  requestsPerPod: 4\n",
        wrong: "  functionTimeout: 90\n  idletimeout: 120\n  requestsPerPod: 4\n",
        told: &[error("functionTimeout: 90", "duplicate key `functionTimeout`")],
        about: &[],
        renames: None,
    },
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
            error("relativurl", "HTTP trigger `api-http`: `relativeurl`: `/api orders` must not hold spaces"),
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
            error("/in{line", "HTTP trigger `inline-http`: `prefix`: `/in{line` cannot be used: a `{` has no `}`"),
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
