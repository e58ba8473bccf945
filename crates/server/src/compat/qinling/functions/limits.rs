//! Resource limits of functions.

use crate::compat::qinling::fault::{Fault, V1Result};
use crate::compat::qinling::fields::Fields;

/// The limits that the request sets.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    pub cpu: Option<u32>,
    pub memory: Option<u64>,
    pub timeout_ms: Option<u64>,
}

pub(crate) fn read(fields: &Fields) -> V1Result<Limits> {
    let cpu = within(fields, "cpu", 100, 300, "millicpu")?;
    let memory = within(fields, "memory_size", 33_554_432, 134_217_728, "bytes")?;
    let timeout = within(fields, "timeout", 1, 300, "seconds")?;
    Ok(Limits {
        cpu: cpu.and_then(|cpu| u32::try_from(cpu).ok()),
        memory: memory.and_then(|memory| u64::try_from(memory).ok()),
        timeout_ms: timeout.and_then(|timeout| u64::try_from(timeout * 1000).ok()),
    })
}

fn within(fields: &Fields, name: &str, least: i64, most: i64, unit: &str) -> V1Result<Option<i64>> {
    let value = fields
        .int(name)
        .map_err(|_| Fault::bad(format!("Invalid {name} resource specified. An integer is required.")))?;
    match value {
        Some(value) if value < least || value > most => Err(Fault::bad(format!(
            "{name} resource limitation not within the allowable range: {least} ~ {most}({unit})."
        ))),
        value => Ok(value),
    }
}
