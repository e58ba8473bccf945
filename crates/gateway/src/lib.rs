//! The data plane: host and path → release → file or function, without the database.
//!
//! A request reads one immutable [`view::AppView`] and takes everything from it. This crate does
//! not know the catalog, the blob store or the runtime: the server builds views and implements
//! [`Backend`]. `docs/decisions/006-gateway.md` has the rules and the reasons.
//!
//! The path of a request: `server` accepts the connection, `gateway` and `resolve` find the release
//! for the host, `decide` chooses what serves the path, and `files` or `call` respond. `directory`
//! holds the views.

mod acceptable;
mod answering;
mod answers;
mod backend;
mod body;
mod call;
mod connection;
mod cookies;
mod decide;
mod directory;
mod files;
mod gateway;
mod headers;
mod line_ends;
mod names;
mod passing;
mod preface;
mod reply;
mod request_id;
mod resolve;
mod routes;
mod seats;
mod seldom;
mod server;
mod serving;
mod settings;
mod stats;
mod tls;
mod tree;
pub mod view;
mod wire;

pub use answering::Answering;
pub use backend::{Backend, CallContext, CallFailure, CallScope, FileRef, LoadFailure};
pub use body::{AnswerBody, BodyFailure, RequestBody};
pub use connection::{Busy, Pulse, Resting};
pub use directory::Directory;
pub use gateway::{Gateway, GatewayError, Peer};
pub use headers::is_forbidden_to_strangers;
pub use reply::is_sendable;
pub use routes::{Lookup, Params, Passed, Passing, Route, RouteError, RouteTable};
pub use seats::{Seat, SeatLimits, Seats};
pub use seldom::Seldom;
pub use server::{Listener, is_about_one};
pub use settings::{Limits, Network, NetworkError, Settings};
pub use stats::{AnswerCounts, Stats};
pub use tls::{Tls, TlsError};
pub use tree::FileTree;
pub use wire::Patient;
