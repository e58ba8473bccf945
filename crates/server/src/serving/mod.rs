//! The server behind the gateway: views of apps, files, packages, tokens, and the runtime.
//!
//! Nothing here is asked of the database while a request is on its way, but for an app that nobody has asked for yet.

mod bind;
mod file_trees;
mod package_needs;
mod package_note;
mod package_sweep;
mod packages;
mod plane;
mod refresh;
mod tokens;
mod views;

pub(crate) use bind::{bind_all, bind_alone};
pub(crate) use packages::Packages;
pub(crate) use plane::{Host, Plane};
pub(crate) use refresh::{Views, keep_fresh, refresh_after};
