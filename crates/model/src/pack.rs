//! The pack format: many blobs in one request, and the same bytes in the blob store.
//!
//! A pack is [`MAGIC`], then for each blob a header of [`HEADER_LEN`] bytes and the bytes of the
//! blob. It has no count and no trailing table, so that a writer can start before it knows how many
//! blobs there are. The pack ends where the stream ends after a complete blob. The client writes
//! this format and `blobs` stores it unchanged.

use crate::digest::Digest;

/// The last two characters are the format number.
pub const MAGIC: [u8; 8] = *b"MPPACK01";
/// Kind (1 byte), SHA-256 (32 bytes), size (8 bytes, little endian).
pub const HEADER_LEN: usize = 41;
/// Maximum size of one directory object. The server holds directories in memory to read what they
/// refer to.
pub const MAX_DIRECTORY_BYTES: u64 = 32 << 20;
/// Maximum total size of the directory objects in one pack, for the same reason. A client splits
/// more into several packs.
pub const MAX_DIRECTORIES_BYTES: u64 = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BlobKind {
    /// Opaque bytes.
    File,
    /// A [`crate::tree::Directory`] in canonical form.
    Directory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub kind: BlobKind,
    pub digest: Digest,
    pub size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a kind of blob")]
pub struct UnknownBlobKind(pub u8);

pub fn encode_header(kind: BlobKind, digest: Digest, size: u64) -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    header[0] = match kind {
        BlobKind::File => 0,
        BlobKind::Directory => 1,
    };
    header[1..33].copy_from_slice(digest.as_bytes());
    header[33..].copy_from_slice(&size.to_le_bytes());
    header
}

pub fn decode_header(bytes: &[u8; HEADER_LEN]) -> Result<Header, UnknownBlobKind> {
    let kind = match bytes[0] {
        0 => BlobKind::File,
        1 => BlobKind::Directory,
        other => return Err(UnknownBlobKind(other)),
    };
    let (mut digest, mut size) = ([0; 32], [0; 8]);
    digest.copy_from_slice(&bytes[1..33]);
    size.copy_from_slice(&bytes[33..]);
    Ok(Header { kind, digest: Digest::from_bytes(digest), size: u64::from_le_bytes(size) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_round_trip() {
        let digest = Digest::of(b"x");
        for kind in [BlobKind::File, BlobKind::Directory] {
            let bytes = encode_header(kind, digest, u64::MAX - 7);
            assert_eq!(decode_header(&bytes), Ok(Header { kind, digest, size: u64::MAX - 7 }));
        }
    }

    /// Packs are read years after they were written, and clients may be older than servers, so the
    /// layout must not change.
    #[test]
    fn the_header_layout_is_fixed() {
        let bytes = encode_header(BlobKind::Directory, Digest::from_bytes([7; 32]), 0x0102);
        assert_eq!(bytes[0], 1);
        assert_eq!(bytes[1..33], [7; 32]);
        assert_eq!(bytes[33..], [2, 1, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn rejects_an_unknown_blob_kind() {
        let mut bytes = encode_header(BlobKind::File, Digest::of(b""), 0);
        bytes[0] = 9;
        assert_eq!(decode_header(&bytes), Err(UnknownBlobKind(9)));
    }
}
