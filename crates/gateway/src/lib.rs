//! The data plane: host and path → release → file or function, without the database.
//!
//! A request reads one immutable [`view::AppView`] and takes everything from it. This crate does
//! not know the catalog, the blob store or the runtime: the server builds views and implements
//! [`Backend`]. `docs/decisions/006-gateway.md` has the rules and the reasons.
//!
//! The path of a request: `listener` accepts the connection, `http_connection` speaks HTTP on it,
//! `gateway` and `resolve` find the release for the host, `decide` chooses what serves the path, and
//! `files` or `call` respond. `directory` holds the views.

mod activity;
mod backend;
mod body;
mod call;
mod connection_limit;
mod cookies;
mod decide;
mod directory;
mod files;
mod gateway;
mod head_check;
mod headers;
mod http_connection;
mod line_ends;
mod listener;
mod log_limit;
mod name_map;
mod preface;
mod problem;
mod request_id;
mod resolve;
mod response_check;
mod response_future;
mod rewrite;
mod routes;
mod settings;
mod stats;
mod tls;
mod tree;
pub mod view;
mod write_timeout;

pub use activity::{Busy, Pulse, Resting};
pub use backend::{Backend, CallContext, CallFailure, CallScope, FileRef, LoadFailure};
pub use body::{AnswerBody, BodyFailure, RequestBody};
pub use connection_limit::{Seat, SeatLimits, Seats};
pub use directory::Directory;
pub use gateway::{Gateway, GatewayError, Peer};
pub use headers::is_forbidden_to_strangers;
pub use listener::{Listener, is_about_one};
pub use log_limit::Seldom;
pub use response_check::is_sendable;
pub use response_future::Answering;
pub use routes::{Lookup, Params, Passed, Passing, Route, RouteError, RouteTable};
pub use settings::{Limits, Network, NetworkError, Settings};
pub use stats::{AnswerCounts, Stats};
pub use tls::{Tls, TlsError};
pub use tree::FileTree;
pub use write_timeout::Patient;
