//! A tree as a zip. The same tree always gives the same bytes: entries are sorted and have no
//! timestamps.
//!
//! Packing runs on a blocking thread that receives the pieces through a channel. If the request is
//! cancelled, the channel closes and the thread ends.

use std::fs::File;
use std::io::{Seek, Write};
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::StreamExt;
use milepost_model::tree::{Leaf, Tree};
use milepost_model::{Code, Digest, Refusal};
use tokio::sync::mpsc;
use tokio_util::io::ReaderStream;
use zip::write::SimpleFileOptions;

use crate::content::Content;
use crate::content::trees;
use crate::error::{ApiResult, internal};

/// Each archive holds a blocking thread and a temporary file, and its reads need threads of the
/// same pool.
pub(crate) const AT_ONCE: usize = 8;
/// Limits the output rather than the stored size: one file can occur many times in a tree.
const MAX_BYTES: u64 = 64 << 30;
const CHUNKS_AHEAD: usize = 4;

enum Piece {
    Link {
        path: String,
        target: String,
    },
    File {
        path: String,
        executable: bool,
        size: u64,
    },
    /// Content of the preceding `File`.
    Bytes(Bytes),
}

pub(crate) async fn zip_response(content: &Content, root: Digest, name: &str) -> ApiResult<Response> {
    let tree = trees::load(&content.store, root).await?;
    if tree.total_size() > MAX_BYTES {
        let message = format!("the files have {} bytes in total, and a zip may have {MAX_BYTES}", tree.total_size());
        return Err(Refusal::new(Code::RequestTooLarge, message).correct("download the files one by one").into());
    }
    let place = Arc::clone(&content.archives).acquire_owned().await.map_err(|error| internal(&error))?;
    let (sender, pieces) = mpsc::channel(CHUNKS_AHEAD);
    let packing = tokio::task::spawn_blocking(move || {
        let _place = place;
        pack(pieces)
    });
    send(content, &tree, sender).await?;
    let packed = packing.await.map_err(|error| internal(&error))?;
    let (file, size) = packed.map_err(|error| internal(&error))?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/zip")),
        (header::CONTENT_LENGTH, HeaderValue::from(size)),
        (header::CONTENT_DISPOSITION, disposition(name)?),
    ];
    let body = Body::from_stream(ReaderStream::new(tokio::fs::File::from_std(file)));
    Ok((headers, body).into_response())
}

/// Replaces characters that are not allowed in a header. Unit names may contain slashes, quotes and
/// non-ASCII characters.
pub(crate) fn disposition(name: &str) -> ApiResult<HeaderValue> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let name: String = name.chars().map(|letter| if plain(letter) { letter } else { '-' }).collect();
    HeaderValue::from_str(&format!("attachment; filename=\"{name}.zip\"")).map_err(|error| internal(&error))
}

/// Sends the files to the packing thread. A closed channel is not an error here: the thread itself
/// reports why it stopped.
async fn send(content: &Content, tree: &Tree, to: mpsc::Sender<Piece>) -> ApiResult<()> {
    for (path, leaf) in tree.iter() {
        let path = path.to_owned();
        let entry = match leaf {
            Leaf::File(entry) => entry,
            Leaf::Link { target } => {
                if to.send(Piece::Link { path, target: target.clone() }).await.is_err() {
                    return Ok(());
                }
                continue;
            }
        };
        let row = trees::locate(&content.store, entry.digest).await?;
        let mut stream = content.blobs.stream_verified(&trees::location(&row)?, entry.digest).await?;
        if to.send(Piece::File { path, executable: entry.executable, size: entry.size }).await.is_err() {
            return Ok(());
        }
        while let Some(chunk) = stream.next().await {
            if to.send(Piece::Bytes(chunk?)).await.is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn pack(mut pieces: mpsc::Receiver<Piece>) -> Result<(File, u64), zip::result::ZipError> {
    let mut writer = zip::ZipWriter::new(tempfile::tempfile()?);
    let options = SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated)
        .last_modified_time(zip::DateTime::default());
    while let Some(piece) = pieces.blocking_recv() {
        match piece {
            Piece::Link { path, target } => writer.add_symlink(path, target, options)?,
            Piece::File { path, executable, size } => {
                let mode = if executable { 0o755 } else { 0o644 };
                writer.start_file(path, options.unix_permissions(mode).large_file(size > u64::from(u32::MAX)))?;
            }
            Piece::Bytes(bytes) => writer.write_all(&bytes)?,
        }
    }
    let mut file = writer.finish()?;
    let size = file.stream_position()?;
    file.rewind()?;
    Ok((file, size))
}
