//! Compresses the bytes of a file.

use std::io::{self, Write};

use bytes::Bytes;

use super::encoding::Coding;

/// Smaller files fit into one packet uncompressed.
const SMALLEST: u64 = 256;
const LARGEST: u64 = 8 << 20;
/// Up to this size the first request waits for the copy. For larger files it gets the plain one.
pub(super) const WORTH_WAITING: u64 = 1 << 20;

pub(super) fn is_worth_trying(size: u64, compressible: bool) -> bool {
    compressible && (SMALLEST..=LARGEST).contains(&size)
}

/// Compresses the bytes, or returns `None` if that saves less than a tenth. Slow: do not call it on
/// a runtime thread.
pub(super) fn compress(plain: &[u8], coding: Coding) -> io::Result<Option<Bytes>> {
    let compressed = match coding {
        Coding::Identity => return Ok(None),
        Coding::Gzip => gzip(plain)?,
        Coding::Brotli => brotli(plain)?,
    };
    let saved_enough = compressed.len() <= plain.len() - plain.len() / 10;
    Ok(saved_enough.then(|| Bytes::from(compressed)))
}

fn gzip(plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut writer = flate2::write::GzEncoder::new(Vec::with_capacity(plain.len() / 2), flate2::Compression::new(6));
    writer.write_all(plain)?;
    writer.finish()
}

fn brotli(plain: &[u8]) -> io::Result<Vec<u8>> {
    let quality = if plain.len() <= 256 << 10 { 9 } else { 6 };
    let mut compressed = Vec::with_capacity(plain.len() / 2);
    let mut writer = brotli::CompressorWriter::new(&mut compressed, 64 << 10, quality, 22);
    writer.write_all(plain)?;
    writer.flush()?;
    drop(writer);
    Ok(compressed)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn compressed_bytes_round_trip() {
        let plain = "Some words that come again and again. ".repeat(100);
        let gzip = compress(plain.as_bytes(), Coding::Gzip).expect("it is compressed").expect("it saves");
        let mut back = String::new();
        flate2::read::GzDecoder::new(&gzip[..]).read_to_string(&mut back).expect("it is gzip");
        assert_eq!(back, plain);
        let brotli = compress(plain.as_bytes(), Coding::Brotli).expect("it is compressed").expect("it saves");
        let mut back = String::new();
        brotli::Decompressor::new(&brotli[..], 4096).read_to_string(&mut back).expect("it is brotli");
        assert_eq!(back, plain);
    }

    #[test]
    fn skips_data_that_does_not_compress() {
        let mut state = 1_u64;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u8
        });
        let noise: Vec<u8> = noise.take(4096).collect();
        for coding in [Coding::Gzip, Coding::Brotli, Coding::Identity] {
            assert_eq!(compress(&noise, coding).expect("it is tried"), None);
        }
        assert!(is_worth_trying(256, true) && is_worth_trying(8 << 20, true));
        assert!(!is_worth_trying(255, true) && !is_worth_trying((8 << 20) + 1, true) && !is_worth_trying(4096, false));
    }
}
