//! The pool over an executor that runs nothing: time is virtual, faults happen when a test says so.

mod fake;
mod promises;
mod rules;
mod unready;
