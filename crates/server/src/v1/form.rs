//! Bodies with a file in them: multipart, forms, and JSON for what needs no file.

use axum::extract::{FromRequest, Multipart, Request};
use axum::http::header::CONTENT_TYPE;
use bytes::BytesMut;
use futures::StreamExt;
use md5::{Digest as _, Md5};
use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;

use super::fault::{Fault, V1Result};
use super::fields::Fields;
use crate::body;
use crate::error::internal;
use crate::state::State;

/// The file of a package in its folder.
pub(crate) const ZIP: &str = "package.zip";
/// Clients send up to 50 MiB.
const MAX_PACKAGE: usize = 256 << 20;
const MAX_FIELD: usize = 1 << 20;
const PACKAGE: &str = "package";

pub(crate) struct Form {
    pub fields: Fields,
    pub package: Option<Upload>,
}

/// A file that was sent, alone in a folder that goes when this does.
pub(crate) struct Upload {
    pub folder: TempDir,
    /// In hexadecimal.
    pub md5: String,
}

impl FromRequest<State> for Form {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &State) -> Result<Self, Fault> {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("multipart/form-data") {
            let parts = Multipart::from_request(request, state).await;
            return read_parts(parts.map_err(|error| unreadable(&error.body_text()))?).await;
        }
        if kind.starts_with("application/x-www-form-urlencoded") {
            let bytes = read_all(request).await?;
            let pairs = form_urlencoded::parse(&bytes).into_owned();
            let fields = pairs.map(|(name, value)| (name, Value::String(value))).collect();
            return Ok(Self { fields: Fields::of(fields), package: None });
        }
        Ok(Self { fields: Fields::from_request(request, state).await?, package: None })
    }
}

async fn read_parts(mut parts: Multipart) -> V1Result<Form> {
    let mut fields = Map::new();
    let mut package = None;
    while let Some(mut part) = parts.next_field().await.map_err(|error| unreadable(&error.body_text()))? {
        let Some(name) = part.name().map(str::to_owned) else { continue };
        let broken = |error: axum::extract::multipart::MultipartError| unreadable(&error.body_text());
        if name == PACKAGE {
            let mut upload = Incoming::new().await?;
            while let Some(chunk) = part.chunk().await.map_err(broken)? {
                upload.write(&chunk).await?;
            }
            package = Some(upload.done().await?);
            continue;
        }
        let mut bytes = BytesMut::new();
        while let Some(chunk) = part.chunk().await.map_err(broken)? {
            if bytes.len() + chunk.len() > MAX_FIELD {
                return Err(Fault::bad(format!("The field {name} is larger than {MAX_FIELD} bytes.")));
            }
            bytes.extend_from_slice(&chunk);
        }
        let text = String::from_utf8(bytes.to_vec());
        let text = text.map_err(|_| Fault::bad(format!("The field {name} is not UTF-8.")))?;
        fields.insert(name, Value::String(text));
    }
    Ok(Form { fields: Fields::of(fields), package })
}

async fn read_all(request: Request) -> V1Result<BytesMut> {
    let mut stream = request.into_body().into_data_stream();
    let mut bytes = BytesMut::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| unreadable("it did not arrive whole"))?;
        if bytes.len() + chunk.len() > MAX_FIELD {
            body::hear_out(&mut stream).await;
            return Err(Fault::bad(format!("The form is larger than {MAX_FIELD} bytes.")));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn unreadable(why: &str) -> Fault {
    Fault::bad(format!("The body of the request cannot be read: {}.", why.trim_end_matches('.')))
}

/// A file while it arrives.
struct Incoming {
    folder: TempDir,
    file: tokio::fs::File,
    hash: Md5,
    size: usize,
}

impl Incoming {
    async fn new() -> V1Result<Self> {
        let folder = tempfile::tempdir().map_err(|error| internal(&error))?;
        let file = tokio::fs::File::create(folder.path().join(ZIP)).await.map_err(|error| internal(&error))?;
        Ok(Self { folder, file, hash: Md5::new(), size: 0 })
    }

    async fn write(&mut self, chunk: &[u8]) -> V1Result<()> {
        self.size += chunk.len();
        if self.size > MAX_PACKAGE {
            return Err(Fault::bad(format!(
                "The package is larger than the {} MiB that one may have.",
                MAX_PACKAGE >> 20
            )));
        }
        self.hash.update(chunk);
        Ok(self.file.write_all(chunk).await.map_err(|error| internal(&error))?)
    }

    async fn done(mut self) -> V1Result<Upload> {
        self.file.flush().await.map_err(|error| internal(&error))?;
        let md5 = data_encoding::HEXLOWER.encode(&self.hash.finalize());
        Ok(Upload { folder: self.folder, md5 })
    }
}
