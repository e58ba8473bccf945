//! Errors of a registry.

use milepost_model::Digest;

#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("could not reach the registry `{registry}` ({reason}); check its address and the network")]
    Unreachable { registry: String, reason: String },
    #[error("the registry `{registry}` answered {doing} with status {status}{detail}; {hint}")]
    Refused { registry: String, doing: &'static str, status: u16, detail: String, hint: &'static str },
    #[error("the registry `{registry}` is at an address that must not be contacted, or refers to one: {reason}")]
    OutOfReach { registry: String, reason: &'static str },
    #[error("`{0}` is not a repository of a registry; write `host/path`, like `registry.example.com/team/shop`")]
    NotARepository(String),
    #[error(
        "`{0}` is a registry on this machine, but the channel is on another one, so it is not contacted; \
        ask the author for a public registry"
    )]
    Local(String),
    #[error(
        "the registry `{0}` requires a login; log in with `docker login`, `skopeo login`, or set \
        `MILEPOST_REGISTRY_HOST`, `MILEPOST_REGISTRY_USER` and `MILEPOST_REGISTRY_PASSWORD`"
    )]
    LogIn(String),
    #[error("the registry `{0}` refused the name and password, or they lack the permission; check them")]
    Denied(String),
    #[error(
        "`{repository}` already has the tag `{tag}` with other content, and published versions never \
        change; raise the version"
    )]
    TagTaken { repository: String, tag: String },
    #[error(
        "the registry `{registry}` does not support deletion, so the tag `{tag}` is still there; delete it \
        in the registry's own interface"
    )]
    DeleteDisabled { registry: String, tag: String },
    #[error(
        "the tag `{tag}` of `{repository}` was moved to other content and was not deleted; inspect it with \
        `skopeo inspect --raw`, and delete it there if it is not needed"
    )]
    TagMoved { repository: String, tag: String },
    #[error(
        "in `{repository}` the tag `{other}` was moved to the content of `{tag}`, so deleting one would \
        delete both; move `{other}` back, then unpublish again"
    )]
    TagShared { repository: String, tag: String, other: String },
    #[error(
        "the tag `{tag}` of `{repository}` was moved to version `{found}`; ask the author, or install that \
        version by its own name"
    )]
    OtherVersion { repository: String, tag: String, found: String },
    #[error("the registry `{registry}` stored `{found}` instead of `{expected}`; publish again")]
    Stored { registry: String, expected: Digest, found: String },
    #[error("the registry `{registry}` has no `{digest}`; ask the author")]
    Missing { registry: String, digest: Digest },
    #[error("could not read the artifact ({0}); check that it still exists")]
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
