//! A tree as a zip. The same tree gives the same bytes: entries are sorted and carry no times.

use std::io::Write;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use milepost_model::tree::Leaf;
use milepost_model::{Code, Digest, Refusal};
use tokio_util::io::ReaderStream;
use zip::write::SimpleFileOptions;

use crate::error::{ApiResult, internal};
use crate::state::State;
use crate::trees;

pub(crate) async fn zip_response(state: &State, root: Digest, name: &str) -> ApiResult<Response> {
    let tree = trees::load(state, root).await?;
    let file = tempfile::tempfile().map_err(|error| internal(&error))?;
    let mut writer = zip::ZipWriter::new(file);
    for (path, leaf) in tree.iter() {
        let options = SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Deflated)
            .last_modified_time(zip::DateTime::default());
        match leaf {
            Leaf::Link { target } => writer.add_symlink(path, target, options).map_err(|error| internal(&error))?,
            Leaf::File(entry) => {
                let mode = if entry.executable { 0o755 } else { 0o644 };
                let options = options.unix_permissions(mode).large_file(entry.size > u64::from(u32::MAX));
                let row = trees::locate(state, entry.digest).await?;
                let mut stream = state.blobs.stream_verified(&trees::location(&row)?, entry.digest).await?;
                writer.start_file(path, options).map_err(|error| internal(&error))?;
                while let Some(chunk) = futures::StreamExt::next(&mut stream).await {
                    writer.write_all(&chunk?).map_err(|error| internal(&error))?;
                }
            }
        }
    }
    let mut file = writer.finish().map_err(|error| internal(&error))?;
    std::io::Seek::rewind(&mut file).map_err(|error| internal(&error))?;
    let body = Body::from_stream(ReaderStream::new(tokio::fs::File::from_std(file)));
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{name}.zip\""))
        .map_err(|_| Refusal::new(Code::InvalidName, "The name cannot be the name of a file."))?;
    Ok((
        [
            (header::CONTENT_TYPE, HeaderValue::from_static("application/zip")),
            (header::CONTENT_DISPOSITION, disposition),
        ],
        body,
    )
        .into_response())
}
