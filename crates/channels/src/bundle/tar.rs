//! The subset of tar that bundles need: plain files with short names and sizes below 8 GiB.

/// The block size of tar.
pub(super) const BLOCK: u64 = 512;
/// What eleven octal digits can express.
pub(super) const MAX_SIZE: u64 = (8 << 30) - 1;
/// The end marker of a tar.
pub(super) const END: [u8; 1024] = [0; 1024];

pub(super) type Header = [u8; BLOCK as usize];

/// Makes the header of a file. The name must fit its 100 bytes.
pub(super) fn header(name: &str, size: u64) -> Header {
    let mut header = [0; BLOCK as usize];
    put(&mut header, 0, name.as_bytes());
    put(&mut header, 100, b"0000644\0");
    put(&mut header, 108, b"0000000\0");
    put(&mut header, 116, b"0000000\0");
    put(&mut header, 124, format!("{size:011o}\0").as_bytes());
    put(&mut header, 136, b"00000000000\0");
    put(&mut header, 156, b"0");
    put(&mut header, 257, b"ustar\x0000");
    let sum = checksum(&header);
    put(&mut header, 148, format!("{sum:06o}\0 ").as_bytes());
    header
}

/// Returns the name and size of a file if the block is exactly what [`header`] writes.
pub(super) fn parse(block: &Header) -> Option<(String, u64)> {
    let name = block[..100].split(|byte| *byte == 0).next()?;
    let name = std::str::from_utf8(name).ok().filter(|name| !name.is_empty())?;
    let size = std::str::from_utf8(&block[124..135]).ok()?;
    let octal = size.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    let size = u64::from_str_radix(size, 8).ok().filter(|_| octal)?;
    (header(name, size) == *block).then(|| (name.to_owned(), size))
}

/// How many bytes follow a file of this size before the next header.
pub(super) fn padding(size: u64) -> usize {
    // Below 512, so it fits.
    (size.next_multiple_of(BLOCK) - size) as usize
}

/// The sum of all bytes, with the checksum field as spaces.
fn checksum(header: &Header) -> u32 {
    let mut summed = *header;
    put(&mut summed, 148, b"        ");
    summed.iter().map(|byte| u32::from(*byte)).sum()
}

fn put(header: &mut Header, at: usize, bytes: &[u8]) {
    header[at..at + bytes.len()].copy_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_headers_parse() {
        let written = header("artifacts/ab", 1234);
        assert_eq!(parse(&written), Some(("artifacts/ab".to_owned(), 1234)));
        for at in 0..written.len() {
            let mut altered = written;
            altered[at] ^= 1;
            assert_ne!(parse(&altered), parse(&written), "a change at {at} was not seen");
        }
    }

    #[test]
    fn files_are_padded_to_blocks() {
        assert_eq!([0, 1, 511, 512, 513].map(padding), [0, 511, 1, 0, 511]);
    }
}
