use crate::api::Problem;
use crate::source::SourceError;

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The server processed the request and refused it.
    #[error("{}", .0.detail)]
    Refused(Box<Problem>),
    #[error("no Milepost server answers at {url}")]
    Unreachable { url: String, source: reqwest::Error },
    #[error("a name is empty")]
    EmptyName,
    #[error("the connection to the server broke")]
    Broken(#[source] reqwest::Error),
    #[error("what answers there does not speak as a Milepost server does (status {status}: {what})")]
    Protocol { status: u16, what: String },
    #[error("`{0}` is not the address of a server; write it like `http://127.0.0.1:7070`")]
    Address(String),
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("could not read `{path}` while sending it")]
    Reading { path: String, source: std::io::Error },
}
