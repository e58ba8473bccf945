//! The data plane: host and path → release → file or function, without the database.
//!
//! A request reads one immutable [`view::AppView`] and takes everything from it. This crate does
//! not know the catalog, the blob store or the runtime: the server builds views and implements
//! [`Backend`]. `docs/decisions/006-gateway.md` has the rules and the reasons.
//!
//! The path of a request: `listener` accepts the connection, `http_connection` speaks HTTP on it,
//! `gateway` and `resolve` find the app for the host, `choose` chooses its release, `decide` what
//! serves the path, and `files` or `call` respond. `directory` holds the views.

mod activity;
mod backend;
mod body;
mod call;
mod choose;
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
mod reader;
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
mod weights;
mod write_timeout;

pub use activity::{Activity, IdleTimer, InFlight};
pub use backend::{Backend, CallContext, CallFailure, CallScope, FileRef, LoadFailure};
pub use body::{BodyFailure, RequestBody, ResponseBody};
pub use connection_limit::{ConnectionLimiter, ConnectionLimits, ConnectionSlot};
pub use directory::Directory;
pub use gateway::{Gateway, GatewayError, Peer};
pub use headers::is_reserved_header;
pub use listener::{Listener, is_connection_error};
pub use log_limit::LogLimit;
pub use response_check::check_response_head;
pub use response_future::ResponseFuture;
pub use routes::{CompiledRewrite, Lookup, Params, Route, RouteError, RouteRewrite, RouteTable};
pub use settings::{Limits, Network, NetworkError, OperatorWords, Settings};
pub use stats::{ResponseCounts, Stats};
pub use tls::{Tls, TlsError};
pub use tree::FileTree;
pub use write_timeout::WriteTimeout;
