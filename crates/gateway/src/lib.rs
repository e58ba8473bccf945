//! The data plane: host and path → release → file or function, without the database.
//!
//! A request reads one immutable [`view::AppView`] and everything it does comes from that. This crate does not know the
//! catalog, the blob store or the runtime: the server builds views and is the [`Backend`].
//! `docs/decisions/006-gateway.md` has the rules and the reasons.

mod backend;
mod routes;
mod tree;
pub mod view;

pub use backend::{Backend, CallContext, CallFailure, CallScope, FileRef, LoadFailure};
pub use routes::{Route, RouteTable};
pub use tree::FileTree;

/// The body of a request on its way to a function, cut when it goes over the limit.
pub type RequestBody = http_body_util::Limited<hyper::body::Incoming>;
