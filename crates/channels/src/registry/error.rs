//! Errors of a registry.

use milepost_model::Digest;

#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("the registry `{registry}` does not answer ({reason}); check its address and the network")]
    Unreachable { registry: String, reason: String },
    #[error("the registry `{registry}` answered {doing} with status {status}{detail}; {hint}")]
    Refused { registry: String, doing: &'static str, status: u16, detail: String, hint: &'static str },
    #[error("the registry `{registry}` is at an address that is not asked, or leads to one: {reason}")]
    OutOfReach { registry: String, reason: &'static str },
    #[error("`{0}` is not a repository of a registry; write `host/path`, like `registry.example.com/team/shop`")]
    NotARepository(String),
    #[error(
        "`{0}` is a registry on this machine, and the channel comes from another one; nothing is fetched from there; ask the \
        author for a registry that others reach"
    )]
    Local(String),
    #[error(
        "the registry `{0}` wants a name and a password; log in with `docker login`, `skopeo login`, or set \
        `MILEPOST_REGISTRY_HOST`, `MILEPOST_REGISTRY_USER` and `MILEPOST_REGISTRY_PASSWORD`"
    )]
    LogIn(String),
    #[error("the registry `{0}` does not take this name and password, or they may not do this; check them")]
    Denied(String),
    #[error(
        "`{repository}` already has the tag `{tag}` with other content, and a published version never changes; raise the version"
    )]
    TagTaken { repository: String, tag: String },
    #[error(
        "the registry `{registry}` does not let anybody delete; the tag `{tag}` stays there, delete it in its own interface"
    )]
    DeleteDisabled { registry: String, tag: String },
    #[error(
        "the tag `{tag}` of `{repository}` was moved and names something else, which is left as it is; look at it with \
        `skopeo inspect --raw`, and delete the tag there if nobody needs it"
    )]
    TagMoved { repository: String, tag: String },
    #[error(
        "in `{repository}` the tag `{other}` was moved to what `{tag}` names, and both would go, so both stay; set `{other}` right, \
        then unpublish again"
    )]
    TagShared { repository: String, tag: String, other: String },
    #[error(
        "the tag `{tag}` of `{repository}` was moved: it names version `{found}` now; ask the author, or install that version by its \
        own name"
    )]
    OtherVersion { repository: String, tag: String, found: String },
    #[error("the registry `{registry}` says that it stored `{found}` and not `{expected}`; publish again")]
    Stored { registry: String, expected: Digest, found: String },
    #[error("the registry `{registry}` has no `{digest}`; ask the author")]
    Missing { registry: String, digest: Digest },
    #[error("the artifact cannot be read ({0}); check that it is still there")]
    File(#[from] std::io::Error),
}

impl RegistryError {
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused { status, .. } => matches!(status, 408 | 425 | 429 | 500..),
            _ => false,
        }
    }
}
