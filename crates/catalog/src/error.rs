//! Errors of the catalog: a rejected request, or a problem with the database.

use milepost_model::Refusal;

use crate::ops::qinling::held::V1Held;

pub type Result<T, E = CatalogError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The request is invalid. The text is meant for the user who sent it.
    #[error(transparent)]
    Refused(#[from] Box<Refusal>),
    /// Something still uses what an OpenStack client deletes or changes. The interface has its own
    /// phrases for it.
    #[error(transparent)]
    Held(#[from] Box<V1Held>),
    #[error("could not {doing}")]
    Database {
        doing: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("`{0}://…` is not a database that Milepost knows")]
    UnknownScheme(String),
    #[error("the database has schema {found}, this Milepost knows up to {newest}; start a newer Milepost")]
    Newer { found: i64, newest: i64 },
    /// A column that holds one of a fixed set of words holds another one.
    #[error(
        "`{column}` in the database holds `{value}`, which this Milepost never writes; \
         restore the database from a backup, or start the version that wrote it"
    )]
    UnknownWord { column: &'static str, value: String },
    /// Another server held a lock for longer than this work waits for it.
    #[error("another server is at it")]
    Busy,
    /// The database holds a value that the code never writes.
    #[error("the catalog is inconsistent: {0}")]
    Inconsistent(String),
}

impl CatalogError {
    pub(crate) fn database(doing: impl Into<String>, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Database { doing: doing.into(), source: Box::new(source) }
    }

    pub(crate) fn inconsistent(what: String) -> Self {
        Self::Inconsistent(what)
    }
}

impl From<Refusal> for CatalogError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}
