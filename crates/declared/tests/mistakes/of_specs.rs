//! Folders of `fission.io/v1` documents.

use milepost_declared::fission::look_at_folder;

use super::forms_of_specs::K;
use super::{Mistake, Subject, error, warning};

pub const SUBJECT: Subject = Subject {
    texts: || {
        let (functions, triggers) = (include_str!("functions.yaml"), include_str!("triggers.yaml"));
        [(F, functions), (T, triggers), (K, include_str!("more.yaml"))].map(|(file, text)| (file, text.into())).into()
    },
    others: &["api/api.py", "api/requirements.txt", "web/main.js", "tools/tools.py", "bin/run"],
    mistakes: &[MISTAKES, super::of_triggers::MISTAKES, super::forms_of_specs::MISTAKES],
    read: |folder| {
        let (declared, errors) = look_at_folder(&folder.path().join("specs")).expect("a folder");
        (errors, declared.warnings)
    },
};

pub const F: &str = "specs/functions.yaml";
pub const T: &str = "specs/triggers.yaml";

/// Where another document can be appended: the end of the text.
const END_OF_F: &str = "      name: inline-pkg\n";
pub const END_OF_T: &str = "    alias: qa\n";

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
];
