//! Named objects in S3, with its conditional writes.

use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{Attribute, Attributes, GetOptions, ObjectStore, PutMode, PutOptions, UpdateVersion};

use super::{Condition, NamedObject, NamedRead, READING, Replaced, WRITING, content_type};
use crate::error::BlobError;

pub(super) async fn read(
    store: &Arc<dyn ObjectStore>,
    name: &str,
    known: Option<&str>,
    limit: u64,
) -> Result<NamedRead, BlobError> {
    let options = GetOptions { if_none_match: known.map(str::to_owned), ..GetOptions::default() };
    let got = match store.get_opts(&Path::from(name), options).await {
        Ok(got) => got,
        Err(object_store::Error::NotFound { .. }) => return Ok(NamedRead::Missing),
        Err(object_store::Error::NotModified { .. }) => return Ok(NamedRead::NotModified),
        Err(error) => return Err(BlobError::storage(READING, error)),
    };
    if got.meta.size > limit {
        return Err(BlobError::TooLarge { what: "the object", size: got.meta.size, limit });
    }
    let Some(tag) = got.meta.e_tag.clone() else {
        return Err(BlobError::storage(READING, "the store gives no ETag, so nothing could be replaced safely"));
    };
    let bytes = got.bytes().await.map_err(|error| BlobError::storage(READING, error))?;
    Ok(NamedRead::Found(NamedObject { bytes, tag }))
}

pub(super) async fn replace(
    store: &Arc<dyn ObjectStore>,
    name: &str,
    bytes: Bytes,
    when: Condition<'_>,
) -> Result<Replaced, BlobError> {
    let mode = match when {
        Condition::Absent => PutMode::Create,
        Condition::Tag(tag) => PutMode::Update(UpdateVersion { e_tag: Some(tag.to_owned()), version: None }),
    };
    // A bucket may be served as a website, so caches must revalidate.
    let mut attributes = Attributes::new();
    attributes.insert(Attribute::CacheControl, "no-cache".into());
    attributes.insert(Attribute::ContentType, content_type(name).into());
    let options = PutOptions { mode, attributes, ..PutOptions::default() };
    match store.put_opts(&Path::from(name), bytes.into(), options).await {
        Ok(put) => match put.e_tag {
            Some(tag) => Ok(Replaced::Written { tag }),
            None => Err(BlobError::storage(WRITING, "the store gives no ETag")),
        },
        Err(
            object_store::Error::AlreadyExists { .. }
            | object_store::Error::Precondition { .. }
            | object_store::Error::NotFound { .. },
        ) => Ok(Replaced::Lost),
        Err(error) => Err(BlobError::storage(WRITING, error)),
    }
}
