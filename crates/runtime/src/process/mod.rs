//! The process executor: a function runs in a sandboxed worker process, and a slot is a connection
//! to it.
//!
//! `executor` makes instances, from `spares` where it can. `launcher` starts processes on the `machine`, `worker` is
//! one process, `output` reads what it writes. A slot speaks frames (`frame_slot`, `running`,
//! `frame_body`, `upload`, `frames`) or, for `binary`, HTTP (`http_slot`).

mod accepts;
#[cfg(test)]
mod answers_test;
mod executor;
mod frame_body;
mod frame_slot;
mod frames;
mod handshake;
mod http_slot;
mod instance;
mod launcher;
mod link;
mod output;
mod running;
mod spares;
mod upload;
mod worker;

pub(crate) use executor::ProcessExecutor;
pub(crate) use instance::{ProcessInstance, ProcessSlot};
