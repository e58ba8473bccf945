//! Plain tables: columns by spaces, no frames, so that they can be cut and grepped.

use comfy_table::{ContentArrangement, Table as Comfy, presets};

pub struct Table {
    inner: Comfy,
    empty: String,
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
        self.inner.add_row(cells);
    }

    pub fn render(self) -> String {
        if self.inner.is_empty() {
            return self.empty;
        }
        self.inner.lines().map(|line| line.trim_end().trim_start_matches(' ').to_owned()).collect::<Vec<_>>().join("\n")
    }
}
