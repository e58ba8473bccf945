//! Why a server does not start.

use std::net::SocketAddr;

use milepost_blobs::BlobError;
use milepost_catalog::CatalogError;
use milepost_gateway::{GatewayError, TlsError};

use super::stores::BLOBS_PATIENCE;
use crate::edge::connections::TooManyConnections;
use crate::keyring::KeyringError;

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("could not use the data folder `{path}`")]
    Data { path: String, source: std::io::Error },
    #[error(
        "another Milepost server (pid {pid}) uses the data folder `{path}`; stop it, or give another folder with `--data`"
    )]
    Running { pid: u32, path: String },
    #[error("could not open the database")]
    Database { next: &'static str, source: CatalogError },
    #[error("the database does not answer as it should")]
    Catalog(#[from] CatalogError),
    #[error("could not open the blob store")]
    Blobs(#[from] BlobError),
    #[error("the blob store did not answer within {} s", BLOBS_PATIENCE.as_secs())]
    BlobsSilent,
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    #[error("the key `{path}` is not the one that the secrets of this database are sealed with; copy that one here")]
    OtherKey { path: String },
    #[error("could not listen on {addr}; is it taken? give another address with `{flag}`")]
    Listen { addr: SocketAddr, flag: &'static str, source: std::io::Error },
    #[error("could not listen on the loopback address, where functions call each other; bring the interface `lo` up")]
    Inside(#[source] std::io::Error),
    #[error(transparent)]
    Connections(#[from] TooManyConnections),
    #[error("could not start the runtime of functions")]
    Runtime(#[source] std::io::Error),
    #[error("could not start the gateway")]
    Gateway(#[from] GatewayError),
    #[error("could not use the certificate of the gateway")]
    Tls(#[from] TlsError),
    #[error("the server stopped with an error")]
    Serve(#[source] std::io::Error),
}

impl StartError {
    /// What to do next, if the message itself does not say it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Data { .. } => {
                Some("check that it is a folder that you may write to, or give another with `--data DIR`")
            }
            Self::Connections(_) => Some(TooManyConnections::HINT),
            Self::Database { next, source: CatalogError::Database { .. } } => Some(next),
            Self::Database { source: CatalogError::UnknownScheme(_), .. } => {
                Some("give `--database` a URL like `postgres://user@host/name`, or leave it out for a SQLite file")
            }
            Self::Blobs(BlobError::Storage { .. }) | Self::BlobsSilent => Some(
                "check that the folder or bucket of `--blobs` exists and may be written to, and the `AWS_…` variables of \
                 an S3 store",
            ),
            _ => None,
        }
    }
}
