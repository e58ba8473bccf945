//! Plain tables: columns separated by spaces, without borders, for `cut` and `grep`.

use comfy_table::{ContentArrangement, Table as Comfy, presets};

use super::foreign::is_active;

pub struct Table {
    inner: Comfy,
    empty: String,
}

/// Escapes all active characters: messages and file names are untrusted text.
pub fn printable(text: &str) -> String {
    if !text.contains(is_active) {
        return text.to_owned();
    }
    text.chars()
        .map(|letter| if is_active(letter) { letter.escape_default().to_string() } else { letter.to_string() })
        .collect()
}

impl Table {
    pub fn new<const N: usize>(headers: [&str; N], empty: &str) -> Self {
        let mut inner = Comfy::new();
        inner.load_style(presets::NOTHING);
        inner.set_content_arrangement(ContentArrangement::Disabled);
        inner.set_header(headers);
        Self { inner, empty: empty.to_owned() }
    }

    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.inner.add_row(cells.map(|cell| printable(&cell)));
    }

    pub fn render(self) -> String {
        if self.inner.is_empty() {
            return self.empty;
        }
        self.inner.lines().map(|line| line.trim_end().trim_start_matches(' ').to_owned()).collect::<Vec<_>>().join("\n")
    }
}
