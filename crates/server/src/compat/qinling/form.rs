//! Bodies that may contain a file: multipart, forms, and JSON for calls without a file.

use std::path::Path;

use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use md5::{Digest as _, Md5};
use milepost_model::{Code, Refusal};
use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;

use super::fault::{Fault, V1Result};
use super::fields::{self, Fields};
use super::unread::{read_all, unreadable};
use super::uploads;
use crate::error::internal;
use crate::state::State;

/// Name of an uploaded package in its directory.
pub(crate) const ZIP: &str = "package.zip";
/// Clients send up to 50 MiB.
const MAX_PACKAGE: usize = 256 << 20;
/// A package and the rest of the form.
pub(super) const MAX_BODY: usize = MAX_PACKAGE + (4 << 20);
/// Maximum size of all text fields together.
const MAX_TEXT: usize = 1 << 20;
const PACKAGE: &str = "package";
/// The text fields that calls use. Others are dropped.
const TEXTS: [&str; 10] =
    ["name", "description", "code", "runtime_id", "entry", "cpu", "memory_size", "timeout", "source", "md5sum"];

pub(crate) struct Form {
    pub fields: Fields,
    pub package: Option<Upload>,
}

/// An uploaded file, alone in a directory that is deleted on drop.
pub(crate) struct Upload {
    pub folder: TempDir,
    /// In hexadecimal.
    pub md5: String,
}

/// Reads a body that may contain a file.
pub(super) async fn read(request: Request, state: &State) -> V1Result<Form> {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.to_ascii_lowercase();
    if kind.starts_with("multipart/form-data") {
        let parts = Multipart::from_request(request, state).await;
        return read_parts(parts.map_err(|error| unreadable(&error.body_text()))?, &state.data).await;
    }
    if kind.starts_with("application/x-www-form-urlencoded") {
        let bytes = read_all(request, MAX_TEXT).await?;
        // `curl -d '{…}'` declares a form. No real form begins like this.
        if bytes.trim_ascii_start().starts_with(b"{") {
            return Ok(Form { fields: fields::parse(&bytes)?, package: None });
        }
        let pairs = form_urlencoded::parse(&bytes).filter(|(name, _)| TEXTS.contains(&&**name));
        let fields = pairs.map(|(name, value)| (name.into_owned(), Value::String(value.into_owned()))).collect();
        return Ok(Form { fields: Fields::of(fields)?, package: None });
    }
    Ok(Form { fields: fields::read(request).await?, package: None })
}

async fn read_parts(mut parts: Multipart, data: &Path) -> V1Result<Form> {
    let mut fields = Map::new();
    let mut room = MAX_TEXT;
    let mut package = None;
    while let Some(mut part) = parts.next_field().await.map_err(|error| broken(&error))? {
        let Some(name) = part.name().map(str::to_owned) else { continue };
        if name == PACKAGE {
            if package.is_some() {
                return Err(Fault::bad("The form has more than one package."));
            }
            let mut upload = Incoming::new(data).await?;
            while let Some(chunk) = part.chunk().await.map_err(|error| broken(&error))? {
                upload.write(&chunk).await?;
            }
            package = Some(upload.done().await?);
        } else if TEXTS.contains(&name.as_str()) {
            let text = read_text(&name, part, &mut room).await?;
            fields.insert(name, Value::String(text));
        }
    }
    Ok(Form { fields: Fields::of(fields)?, package })
}

async fn read_text(name: &str, mut part: Field<'_>, room: &mut usize) -> V1Result<String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = part.chunk().await.map_err(|error| broken(&error))? {
        let Some(left) = room.checked_sub(chunk.len()) else {
            return Err(Fault::bad(format!("The text of the form is larger than {MAX_TEXT} bytes.")));
        };
        *room = left;
        bytes.extend_from_slice(&chunk);
    }
    String::from_utf8(bytes).map_err(|_| Fault::bad(format!("The field {name} is not UTF-8.")))
}

fn broken(error: &MultipartError) -> Fault {
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
        let message = format!("The request is larger than the {} MiB that it may have.", MAX_BODY >> 20);
        return Refusal::new(Code::RequestTooLarge, message).into();
    }
    unreadable(&error.body_text())
}

/// A file being received.
struct Incoming {
    folder: TempDir,
    file: tokio::fs::File,
    hash: Md5,
    size: usize,
}

impl Incoming {
    async fn new(data: &Path) -> V1Result<Self> {
        let folder = uploads::folder(data).map_err(|error| internal(&error))?;
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
