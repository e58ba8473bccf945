//! Writing a `milepost.yaml`: the way back from units to the manifest that declares them.
//!
//! The manifest is read again after it was written, and what came of it is compared with what was meant: nothing is lost
//! without a word.

mod compare;
mod disk;
mod documents;
mod download;
mod functions;
mod of_app;
mod of_specs;
mod outline;
mod paths;
mod triggers;
mod yaml;

pub use compare::{differences, roots, scan};
pub use disk::{failed, write_new, write_told};
pub use documents::{Archives, Documents, file_name as spec_file_name, object_name};
pub use download::{Download, all as download_all};
pub use of_app::{Fetched, Held, downloads, outline as of_app, owners};
pub use of_specs::{COPIES, of_specs};
pub use outline::Unsaid;
pub use paths::{absolute, relative};
