//! Stored content: trees and archives of it, uploads, artifacts, and copies on the local disk.

pub(crate) mod archive;
pub(crate) mod artifacts;
pub(crate) mod change;
pub(crate) mod channels;
pub(crate) mod checkout;
pub(crate) mod ingest;
pub(crate) mod ingest_source;
pub(crate) mod named_files;
pub(crate) mod trees;
