//! Writes a `milepost.yaml` from units.
//!
//! The manifest is read back and compared with the units, so that no loss goes unreported.

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

pub use compare::{differences, roots};
pub use disk::{failed, write_new};
pub use documents::{Archives, Documents, file_name as spec_file_name, object_name};
pub use download::{Download, all as download_all};
pub use of_app::{Fetched, Held, downloads, outline as of_app, owners};
pub use of_specs::{COPIES, of_specs};
pub use outline::Unsaid;
pub use paths::{absolute, relative};
