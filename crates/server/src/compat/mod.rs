//! Interfaces of other systems, on the same catalog as the API. Each has a folder of its own.

pub(crate) mod qinling;
