//! Untrusted text: output of functions and builds, responses of servers, file names.

/// Whether a character acts on the terminal instead of being shown: control characters, and those
/// that reverse the order of what follows, so that it reads as something else.
pub fn is_active(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Escapes active characters, which could move the cursor of a terminal, change its title or fill
/// its clipboard. Also applied to output into a pipe, which may end in a terminal. Newlines and
/// tabs stay.
pub fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\n' | '\t' => shown.push(letter),
            // A CRLF line ending.
            '\r' if matches!(letters.peek(), Some('\n') | None) => {}
            letter if is_active(letter) => shown.extend(letter.escape_default()),
            letter => shown.push(letter),
        }
    }
    shown
}

/// Escapes DEL, the C1 control characters and reversed text in JSON: serializers leave them as they
/// are, and terminals act on them.
pub fn harmless_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '\u{7f}'.. if is_active(letter) => shown.push_str(&format!("\\u{:04x}", u32::from(letter))),
            letter => shown.push(letter),
        }
    }
    shown
}

/// Splits a byte stream into whole lines.
#[derive(Debug, Default)]
pub struct Lines {
    rest: Vec<u8>,
}

/// A line longer than this many bytes is shown in parts.
const LONGEST: usize = 64 << 10;

impl Lines {
    /// Returns the text that is complete now: up to the last newline.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let end = match self.rest.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => at + 1,
            None if self.rest.len() > LONGEST => complete_utf8_len(&self.rest),
            None => return String::new(),
        };
        let rest = self.rest.split_off(end);
        let whole = std::mem::replace(&mut self.rest, rest);
        harmless(&String::from_utf8_lossy(&whole))
    }

    /// Returns the rest, a last line without a newline.
    pub fn end(self) -> String {
        harmless(&String::from_utf8_lossy(&self.rest))
    }
}

/// The length without an incomplete UTF-8 sequence at the end.
fn complete_utf8_len(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_terminal_control_characters() {
        assert_eq!(harmless("a\x1b]0;x\x07b\tc\r\nd\u{9b}2J\r"), "a\\u{1b}]0;x\\u{7}b\tc\nd\\u{9b}2J");
        assert_eq!(harmless("over\rwritten"), "over\\rwritten");
        assert_eq!(harmless("file\u{202e}gnp.exe \u{2066}"), "file\\u{202e}gnp.exe \\u{2066}");
        assert_eq!(harmless_json("\"a\u{9b}\u{7f}é\u{202e}\""), "\"a\\u009b\\u007fé\\u202e\"");
    }

    #[test]
    fn a_character_split_across_two_chunks_stays_whole() {
        let mut lines = Lines::default();
        let text = "é\x1b[2J\nü";
        let (one, other) = text.as_bytes().split_at(1);
        assert_eq!(lines.push(one), "");
        assert_eq!(lines.push(other), "é\\u{1b}[2J\n");
        assert_eq!(lines.end(), "ü");
    }
}
