//! YAML with line numbers, and readers that collect errors instead of stopping at the first.
//!
//! The reading is hand-written, because an error should show the line, the closest known key and
//! the correct form, and because one mistake must not hide the next.

pub mod case;
mod fields;
mod forms;
mod node;

pub use fields::{Fields, quoted, text};
pub use forms::{Things, meant};
pub use node::{Content, Documents, Key, Node, NotYaml};
