//! Nodes on one database: heartbeats, which nodes are dead, leases, and clocks.

pub(crate) mod beat;
pub(crate) mod clock;
pub(crate) mod install_lease;
