//! Writes of the OpenStack interface that the ledger does not model. A project there is an app.

pub(crate) mod alias;
pub(crate) mod change;
pub(crate) mod delete;
pub(crate) mod held;
pub(crate) mod job;
pub(crate) mod units;
