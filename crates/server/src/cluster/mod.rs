//! Nodes on one database: heartbeats, which nodes are dead, and leases.

pub(crate) mod beat;
pub(crate) mod install_lease;
pub(crate) mod watch;
