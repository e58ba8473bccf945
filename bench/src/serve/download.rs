//! Downloads a file of any size, whole or in part, without storing it. Its content is predictable,
//! so that wrong bytes are detected.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::client::Target;

const DEADLINE: Duration = Duration::from_secs(60);
const PIECE: usize = 1 << 20;
const WORD: u64 = 8;

/// The word at this position of the file: splitmix64, which does not depend on previous words and
/// is incompressible.
fn word(at: u64) -> [u8; WORD as usize] {
    let mut mixed = at.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (mixed ^ (mixed >> 31)).to_le_bytes()
}

/// Creates the file and syncs it, so that writing it is over when the measurements begin.
pub fn make(path: &Path, size: u64) -> Result<()> {
    let mut file = File::create(path).with_context(|| format!("could not make {}", path.display()))?;
    let mut piece = Vec::with_capacity(PIECE);
    let mut at = 0;
    while at < size / WORD {
        let end = (at + PIECE as u64 / WORD).min(size / WORD);
        piece.clear();
        piece.extend((at..end).flat_map(word));
        file.write_all(&piece).with_context(|| format!("could not write {}", path.display()))?;
        at = end;
    }
    file.sync_all()?;
    Ok(())
}

/// Checks one word of some bytes that begin at this offset of the file.
fn check(offset: u64, bytes: &[u8]) -> Result<()> {
    let skipped = (WORD - offset % WORD) % WORD;
    let Some(found) = bytes.get(skipped as usize..(skipped + WORD) as usize) else { return Ok(()) };
    ensure!(found == word((offset + skipped) / WORD), "the bytes at {offset} are not those of the file");
    Ok(())
}

/// A kept-alive connection.
pub struct Downloads {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Downloads {
    pub fn open(target: &Target) -> Result<Self> {
        let stream = TcpStream::connect_timeout(&target.address, DEADLINE)
            .with_context(|| format!("no answer at {}", target.address))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(DEADLINE))?;
        Ok(Self { stream, buffer: vec![0; PIECE] })
    }

    /// Reads all bytes of the file or of a range of it.
    pub fn get(&mut self, target: &Target, size: u64, range: Option<Range<u64>>) -> Result<()> {
        let wanted = range.clone().unwrap_or(0..size);
        let header = range.map(|range| format!("Range: bytes={}-{}\r\n", range.start, range.end - 1));
        let request =
            format!("GET {} HTTP/1.1\r\nHost: {}\r\n{}\r\n", target.path, target.host, header.as_deref().unwrap_or(""));
        self.stream.write_all(request.as_bytes())?;
        let (body, filled) = self.read_head(if header.is_some() { 206 } else { 200 }, wanted.end - wanted.start)?;
        let mut at = wanted.start;
        check(at, &self.buffer[body..filled])?;
        at += (filled - body) as u64;
        while at < wanted.end {
            let count = self.stream.read(&mut self.buffer)?;
            if count == 0 {
                bail!("the connection was closed at {at} of {wanted:?}");
            }
            check(at, &self.buffer[..count])?;
            at += count as u64;
        }
        ensure!(at == wanted.end, "{} bytes too many", at - wanted.end);
        Ok(())
    }

    /// Returns where the body begins in the buffer, and how far the buffer is filled.
    fn read_head(&mut self, status: u16, length: u64) -> Result<(usize, usize)> {
        let mut filled = 0;
        loop {
            let count = self.stream.read(&mut self.buffer[filled..])?;
            filled += count;
            let end = self.buffer[..filled].windows(4).position(|four| four == b"\r\n\r\n");
            if let Some(end) = end {
                let head = String::from_utf8_lossy(&self.buffer[..end]).to_ascii_lowercase();
                ensure!(
                    head.starts_with(&format!("http/1.1 {status} "))
                        && head.contains(&format!("\r\ncontent-length: {length}\r\n")),
                    "not {status} with {length} bytes, but:\n{head}"
                );
                return Ok((end + 4, filled));
            }
            ensure!(count > 0 && filled < self.buffer.len(), "an answer without a head");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_bytes_of_another_offset() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        make(&path, (PIECE + 800) as u64).expect("made");
        let bytes = std::fs::read(&path).expect("it is there");
        assert_eq!(bytes.len(), PIECE + 800);
        for offset in [0, 1, 7, 8, PIECE - 3, PIECE + 700] {
            check(offset as u64, &bytes[offset..]).expect("the right bytes");
            assert!(check(offset as u64 + 8, &bytes[offset..]).is_err(), "{offset}");
        }
        check(3, &bytes[3..9]).expect("too few to tell");
    }
}
