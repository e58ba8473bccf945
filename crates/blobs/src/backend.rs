//! Opens the store that `--blobs` names.

use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::Duration;

use object_store::ClientOptions;
use object_store::ObjectStore;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::prefix::PrefixStore;

use crate::error::BlobError;
use crate::folder;
use crate::room::Disk;

/// Timeout for a single read from S3. There is no limit on a whole request: streaming a large blob
/// to a slow reader takes as long as the reader needs.
const S3_SILENCE: Duration = Duration::from_secs(60);

pub(crate) fn open(url: &str, aws: &[(String, String)]) -> Result<(Arc<dyn ObjectStore>, Disk), BlobError> {
    match url.split_once(':') {
        Some(("memory", "")) => Ok((Arc::new(InMemory::new()), Disk::default())),
        Some(("file", path)) => folder(path.strip_prefix("//").unwrap_or(path)),
        Some(("s3", place)) => Ok((s3(place.strip_prefix("//").unwrap_or(place), aws)?, Disk::default())),
        // The text may contain a password, so only the scheme is shown.
        Some((scheme, rest)) if rest.starts_with("//") => {
            Err(unusable(&format!("{scheme}://…"), "write a path, `file://…` or `s3://bucket/prefix`"))
        }
        _ => folder(url),
    }
}

fn folder(path: &str) -> Result<(Arc<dyn ObjectStore>, Disk), BlobError> {
    if path.is_empty() {
        return Err(unusable(path, "the path is empty"));
    }
    folder::prepare(FilePath::new(path)).map_err(|error| BlobError::storage("prepare the folder for blobs", error))?;
    let store = LocalFileSystem::new_with_prefix(path)
        .map_err(|error| BlobError::storage("open the folder for blobs", error))?;
    // Off by default in `object_store`. Without it, acknowledged data can be lost in a power
    // failure.
    Ok((Arc::new(store.with_fsync(true)), Disk::of(FilePath::new(path))))
}

fn s3(place: &str, aws: &[(String, String)]) -> Result<Arc<dyn ObjectStore>, BlobError> {
    let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
    if bucket.is_empty() || bucket.contains(['@', ':', '?']) {
        return Err(unusable("s3://…", "write `s3://bucket/prefix`; credentials come from the `AWS_…` variables"));
    }
    // The HTTP client panics without a process-wide provider. An installed one stays in place.
    drop(rustls::crypto::ring::default_provider().install_default());
    let client = ClientOptions::new().with_timeout_disabled().with_read_timeout(S3_SILENCE);
    let mut builder = AmazonS3Builder::new().with_client_options(client);
    for (name, value) in aws {
        // Other `AWS_…` variables are meant for other programs.
        if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
            builder = builder.with_config(key, value);
        }
    }
    let store = builder
        .with_bucket_name(bucket)
        .build()
        .map_err(|error| unusable(&format!("s3://{place}"), &error.to_string()))?;
    let prefix = prefix.trim_matches('/');
    Ok(if prefix.is_empty() { Arc::new(store) } else { Arc::new(PrefixStore::new(store, prefix)) })
}

fn unusable(url: &str, reason: &str) -> BlobError {
    BlobError::Unusable { url: url.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_invalid_urls_without_showing_their_password() {
        for url in ["ftp://me:hunter2@host/x", "s3://me:hunter2@bucket", "s3://", "", "file://"] {
            let error = open(url, &[]).expect_err(url).to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
