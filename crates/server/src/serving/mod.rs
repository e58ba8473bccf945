//! The server's side of the data plane: views of apps, files, packages, tokens, and the runtime.
//!
//! Requests do not query the database, except for the first request to an app whose view is not
//! loaded yet.

mod bind;
mod file_trees;
mod history;
mod keep_fresh;
mod package_needs;
mod package_note;
mod package_sweep;
mod packages;
mod plane;
mod refresh;
mod tokens;
pub(crate) mod urls;
mod views;

pub(crate) use bind::{bind_all, bind_alone};
pub(crate) use keep_fresh::keep_fresh;
pub(crate) use packages::Packages;
pub(crate) use plane::{Host, Plane};
pub(crate) use refresh::Views;
