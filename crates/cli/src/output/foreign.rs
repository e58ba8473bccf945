//! Text that others wrote: functions, builds, servers, the folders of strangers.

/// The text as it may be shown. What could move the cursor, change the title or fill the clipboard of a terminal is escaped, in
/// a pipe as well, which may end in a terminal. Lines and tabs stay.
pub fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\n' | '\t' => shown.push(letter),
            // The end of a line as other systems write it.
            '\r' if matches!(letters.peek(), Some('\n') | None) => {}
            letter if letter.is_control() => shown.extend(letter.escape_default()),
            letter => shown.push(letter),
        }
    }
    shown
}

/// JSON whose texts hold no control characters: serializers leave those above ASCII as they are, and some terminals obey them.
pub fn harmless_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '\u{7f}'..='\u{9f}' => shown.push_str(&format!("\\u{:04x}", u32::from(letter))),
            letter => shown.push(letter),
        }
    }
    shown
}

/// Bytes that come piece by piece, in whole lines.
#[derive(Debug, Default)]
pub struct Lines {
    rest: Vec<u8>,
}

/// A line that goes on for longer is shown in parts.
const LONGEST: usize = 64 << 10;

impl Lines {
    /// What can be shown now.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let end = match self.rest.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => at + 1,
            None if self.rest.len() > LONGEST => whole_letters(&self.rest),
            None => return String::new(),
        };
        let rest = self.rest.split_off(end);
        let whole = std::mem::replace(&mut self.rest, rest);
        harmless(&String::from_utf8_lossy(&whole))
    }

    /// What did not end with a line.
    pub fn end(self) -> String {
        harmless(&String::from_utf8_lossy(&self.rest))
    }
}

/// Where the last letter that is complete ends.
fn whole_letters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        assert_eq!(harmless("a\x1b]0;x\x07b\tc\r\nd\u{9b}2J\r"), "a\\u{1b}]0;x\\u{7}b\tc\nd\\u{9b}2J");
        assert_eq!(harmless("over\rwritten"), "over\\rwritten");
        assert_eq!(harmless_json("\"a\u{9b}\u{7f}é\""), "\"a\\u009b\\u007fé\"");
    }

    #[test]
    fn letters_that_come_in_two_pieces_stay_whole() {
        let mut lines = Lines::default();
        let text = "é\x1b[2J\nü";
        let (one, other) = text.as_bytes().split_at(1);
        assert_eq!(lines.push(one), "");
        assert_eq!(lines.push(other), "é\\u{1b}[2J\n");
        assert_eq!(lines.end(), "ü");
    }
}
