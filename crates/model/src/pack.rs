//! The framing of packs: how many blobs travel in one request, and how they lie in the store afterwards.
//!
//! A pack is [`MAGIC`], then for each blob a header of [`HEADER_LEN`] bytes and the bytes of the blob. It has no count
//! and no table at its end: whoever writes one can begin before knowing how many blobs there are, and the end of the
//! stream, after a whole blob, is the end of the pack. The client writes this form and `blobs` keeps it as it came.

use crate::digest::Digest;

/// The last two letters are the format's number.
pub const MAGIC: [u8; 8] = *b"MPPACK01";
/// Kind (1 byte), SHA-256 (32 bytes), size (8 bytes, little endian).
pub const HEADER_LEN: usize = 41;
/// No directory object may be larger. The server holds directories in memory to read what they refer to.
pub const MAX_DIRECTORY_BYTES: u64 = 32 << 20;
/// All directory objects of one pack together may not be larger, for the same reason; send more in another pack.
pub const MAX_DIRECTORIES_BYTES: u64 = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BlobKind {
    /// Bytes that mean nothing to the store.
    File,
    /// A [`crate::tree::Directory`] in its canonical form.
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
    fn a_header_reads_back_as_it_was_written() {
        let digest = Digest::of(b"x");
        for kind in [BlobKind::File, BlobKind::Directory] {
            let bytes = encode_header(kind, digest, u64::MAX - 7);
            assert_eq!(decode_header(&bytes), Ok(Header { kind, digest, size: u64::MAX - 7 }));
        }
    }

    /// Packs are read years after they were written, and clients are older than servers: the layout is fixed.
    #[test]
    fn the_layout_is_what_old_packs_have() {
        let bytes = encode_header(BlobKind::Directory, Digest::from_bytes([7; 32]), 0x0102);
        assert_eq!(bytes[0], 1);
        assert_eq!(bytes[1..33], [7; 32]);
        assert_eq!(bytes[33..], [2, 1, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn an_unknown_kind_is_refused() {
        let mut bytes = encode_header(BlobKind::File, Digest::of(b""), 0);
        bytes[0] = 9;
        assert_eq!(decode_header(&bytes), Err(UnknownBlobKind(9)));
    }
}
