//! YAML that knows its lines, and readers of it that collect what is wrong instead of stopping there.
//!
//! Reading is done by hand, because an error should name the line, the closest known key and what would be right, and because
//! one mistake must not hide the next.

pub mod case;
mod fields;
mod forms;
mod node;

pub use fields::{Fields, quoted, text};
pub use forms::{Things, meant};
pub use node::{Content, Documents, Key, Node, NotYaml};
