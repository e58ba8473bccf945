//! Splits a build's output into lines, in order. The log is bounded, so a build that prints forever
//! costs only its own time. The end is kept because it holds the reason of a failure.

use std::collections::VecDeque;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::sync::mpsc::Sender;

const MOST: usize = 10 << 20;
/// How much of the end is kept once the limit is exceeded.
const TAIL: usize = 64 << 10;
const LONGEST_LINE: usize = 8 << 10;
/// Counted per line in addition to its text, because short lines have overhead too.
const LINE: usize = 16;

/// Reads to the end. A slow receiver slows the build down, a dropped one does not.
pub(super) async fn follow(mut pipe: pipe::Receiver, to: Sender<String>) {
    let mut lines = Lines::default();
    let mut buffer = vec![0; 16 << 10];
    loop {
        match pipe.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(count) => lines.take(&buffer[..count]),
        }
        send(&to, lines.ready.drain(..)).await;
    }
    lines.finish();
    send(&to, lines.ready.drain(..)).await;
}

async fn send(to: &Sender<String>, lines: impl Iterator<Item = String>) {
    for line in lines {
        if to.send(line).await.is_err() {
            return;
        }
    }
}

#[derive(Default)]
struct Lines {
    ready: VecDeque<String>,
    unfinished: Vec<u8>,
    /// Bytes of the unfinished line that were dropped.
    cut: usize,
    kept: usize,
    tail: VecDeque<String>,
    tail_bytes: usize,
    left_out: u64,
}

impl Lines {
    fn take(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            let room = LONGEST_LINE - self.unfinished.len();
            let fits = text.len().min(room);
            self.unfinished.extend_from_slice(&text[..fits]);
            self.cut += text.len() - fits;
            if ends {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let mut bytes = std::mem::take(&mut self.unfinished);
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        let mut line = String::from_utf8_lossy(&bytes).into_owned();
        if self.cut > 0 {
            line.push_str(&format!("… {} bytes left out", std::mem::take(&mut self.cut)));
        }
        let size = line.len() + LINE;
        if self.tail.is_empty() && self.kept + size <= MOST {
            self.kept += size;
            self.ready.push_back(line);
            return;
        }
        self.tail_bytes += size;
        self.tail.push_back(line);
        while self.tail_bytes > TAIL
            && let Some(old) = self.tail.pop_front()
        {
            self.tail_bytes -= old.len() + LINE;
            self.left_out += old.len() as u64 + 1;
        }
    }

    fn finish(&mut self) {
        if !self.unfinished.is_empty() {
            self.end_line();
        }
        if self.left_out > 0 {
            self.ready.push_back(format!("… {} bytes left out: a log has at most {} MiB", self.left_out, MOST >> 20));
        }
        self.ready.append(&mut self.tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(chunks: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::default();
        for chunk in chunks {
            lines.take(chunk);
        }
        lines.finish();
        lines.ready.into()
    }

    #[test]
    fn joins_lines_across_chunks() {
        assert_eq!(all(&[b"on", b"e\r\n\ntw", b"o\nend"]), ["one", "", "two", "end"]);
        assert_eq!(all(&[b"\xff\n"]), ["\u{fffd}"]);
        assert!(all(&[]).is_empty());
    }

    #[test]
    fn truncates_a_long_line_and_keeps_the_next() {
        let long = vec![b'x'; LONGEST_LINE];
        let lines = all(&[&long, b"yyy\nnext\n"]);
        assert_eq!(lines[0].len(), LONGEST_LINE + "… 3 bytes left out".len());
        assert!(lines[0].ends_with("x… 3 bytes left out"));
        assert_eq!(lines[1], "next");
    }

    #[test]
    fn keeps_the_beginning_and_the_end_of_a_long_log() {
        let mut lines = Lines::default();
        let count = 1_000_000;
        for number in 0..count {
            lines.take(format!("{number:07}\n").as_bytes());
        }
        lines.finish();
        let lines: Vec<_> = lines.ready.into();
        let mark = lines.iter().position(|line| line.starts_with('…')).expect("a mark");
        assert_eq!(lines[mark - 1], format!("{:07}", mark - 1));
        assert_eq!(
            lines[mark],
            format!("… {} bytes left out: a log has at most 10 MiB", (count + 1 - lines.len()) * 8)
        );
        assert_eq!(lines.last().map(String::as_str), Some("0999999"));
        assert!(lines.iter().map(|line| line.len() + LINE).sum::<usize>() <= MOST + TAIL + 100);
    }
}
