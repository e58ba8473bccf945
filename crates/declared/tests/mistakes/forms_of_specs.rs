//! Malformed values in specs, which are reported on their line and whose content is checked too,
//! and unused packages.

use super::of_specs::F;
use super::{Mistake, Told, error, warning};

pub const K: &str = "specs/more.yaml";

const fn mistake(right: &'static str, wrong: &'static str, told: &'static [Told]) -> Mistake {
    Mistake { file: K, right, wrong, told, about: &[], renames: None }
}

pub const MISTAKES: &[Mistake] = &[
    Mistake {
        file: F,
        right: "  source:\n    url: archive://tools-archive",
        wrong: "  source: archive://tools-archive",
        told: &[error("  source: archive://tools", "`source` of package `tools-pkg` must be a map, not a string")],
        about: &["unknown archive of tools"],
        renames: None,
    },
    mistake(
        "  runtime:\n    image: fission/binary-env\n",
        "  runtime: fission/rust-env\n",
        &[
            error("runtime: fission/rust", "`runtime` of environment `bin` must be a map, not a string"),
            error("runtime: fission/rust", "`image` of environment `bin`: Milepost has no runtime for"),
        ],
    ),
    Mistake {
        file: K,
        right: "  deployment:\n    url: archive://bin-archive\n",
        wrong: "  deployment: archive://bin-archvie\n",
        told: &[
            error("deployment: archive", "`deployment` of package `bin-pkg` must be a map, not a string"),
            error("deployment: archive", "`deployment` of package `bin-pkg` refers to archive `bin-archvie`"),
        ],
        about: &["unknown archive of bin"],
        renames: None,
    },
    mistake(
        "  deployment:\n    url: archive://bin-archive\n",
        "  deployment:\n    - type: git\n    - url: archive://bin-archive\n",
        &[
            error("- type: git", "`deployment` of package `bin-pkg` must be a map, not a list"),
            error("- type: git", "unknown archive type `git`"),
        ],
    ),
    mistake(
        "  environment:\n    name: bin\n  deployment:\n    literal",
        "  environment: bin\n  deployment:\n    literal",
        &[error("environment: bin\n", "`environment` of package `job-pkg` must be a map, not a string")],
    ),
    mistake(
        "  package:\n    packageref:\n      name: bin-pkg\n",
        "  package: bin-pgk\n",
        &[
            error("package: bin-pgk", "`package` of function `bin` must be a map, not a string"),
            error("package: bin-pgk", "function `bin` refers to package `bin-pgk`, which is not in the folder"),
        ],
    ),
    mistake(
        "    packageref:\n      name: bin-pkg\n",
        "    packageref: [bin-pkg]\n",
        &[error("packageref: [bin-pkg]", "`packageref` of `package` of function `bin` must be a map, not a list")],
    ),
    mistake(
        "  package:\n    packageref:\n      name: job-pkg\n",
        "  package:\n    name: job-pkg\n",
        &[error("    name: job-pkg\n", "`package` of function `job` must have its `name` under `packageref`")],
    ),
    // A package that no function refers to is unused, even if the names are similar.
    mistake(
        "  package:\n    packageref:\n      name: job-pkg\n",
        "",
        &[
            error(
                "apiVersion: fission.io/v1\nkind: Function\nmetadata:\n  name: job\n",
                "function `job` has no `package`",
            ),
            warning(
                "apiVersion: fission.io/v1\nkind: Package\nmetadata:\n  name: job-pkg\n",
                "no function uses package `job-pkg`",
            ),
        ],
    ),
    mistake(
        "      name: job-pkg\n",
        "      name: zzzz\n",
        &[
            error("name: zzzz", "function `job` refers to package `zzzz`, which is not in the folder"),
            warning(
                "apiVersion: fission.io/v1\nkind: Package\nmetadata:\n  name: job-pkg\n",
                "no function uses package `job-pkg`",
            ),
        ],
    ),
    mistake(
        "  secrets:\n    - name: JOB_TOKEN\n",
        "  secrets: JOB/TOKEN\n",
        &[
            error("secrets: JOB/TOKEN", "`secrets` of function `job` must be a list, not a string"),
            error("secrets: JOB/TOKEN", "`secrets` of function `job`: `JOB/TOKEN` is not a valid secret name"),
        ],
    ),
    mistake(
        "    - name: JOB_TOKEN\n",
        "    - JOB/TOKEN\n",
        &[
            error("- JOB/TOKEN", "an entry of `secrets` of function `job` must be a map, not a string"),
            error("- JOB/TOKEN", "`secrets` of function `job`: `JOB/TOKEN` is not a valid secret name"),
        ],
    ),
    mistake(
        "  functionref:\n    name: bin\n",
        "  functionref: bni\n",
        &[
            error("functionref: bni", "`functionref` of HTTP trigger `bin-http` must be a map, not a string"),
            error("functionref: bni", "HTTP trigger `bin-http` refers to function `bni`, which is not in the folder"),
        ],
    ),
    mistake(
        "spec:\n  relativeurl: /bin\n",
        "spec:\n- relativeurl: bin\n",
        &[
            error("- relativeurl: bin", "HTTP trigger `bin-http` must be a map, not a list"),
            error("- relativeurl: bin", "HTTP trigger `bin-http`: `relativeurl`: `bin` must start with `/`"),
        ],
    ),
    mistake(
        "  functionref:\n    name: job\n",
        "  functionref:\n    - name: jbo\n",
        &[
            error("- name: jbo", "`functionref` of time trigger `job-time` must be a map, not a list"),
            error("- name: jbo", "time trigger `job-time` refers to function `jbo`, which is not in the folder"),
        ],
    ),
    mistake(
        "kind: TimeTrigger\n",
        "kind: [TimeTrigger]\n",
        &[error("kind: [TimeTrigger]", "`kind` of a document must be a string, not a list")],
    ),
    mistake(
        "metadata:\n  name: job-time\n",
        "metadata: job-time\n",
        &[error("metadata: job-time", "`metadata` of time trigger `job-time` must be a map, not a string")],
    ),
];
