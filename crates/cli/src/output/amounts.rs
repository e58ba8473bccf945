//! Human-readable amounts that parse back to exactly the same number.

/// `128Mi`; in bytes if no unit divides it evenly.
pub fn memory(bytes: u64) -> String {
    for (unit, shift) in [("Gi", 30), ("Mi", 20), ("Ki", 10)] {
        let whole = bytes >> shift;
        if whole > 0 && whole << shift == bytes {
            return format!("{whole}{unit}");
        }
    }
    format!("{bytes}B")
}

/// `5m`, `10s`, `1500ms`
pub fn duration(ms: u64) -> String {
    match ms {
        0 => "0s".to_owned(),
        ms if ms % 60_000 == 0 => format!("{}m", ms / 60_000),
        ms if ms % 1000 == 0 => format!("{}s", ms / 1000),
        ms => format!("{ms}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::shared::{parse_duration_ms, parse_memory};

    #[test]
    fn printed_amounts_parse_back_to_the_same_number() {
        for bytes in [0, 1, 1 << 10, 16 << 20, 128 << 20, 1 << 30, 3 << 29, 500_000_000, 65_537, (1 << 40) + 1] {
            assert_eq!(parse_memory(&memory(bytes)), Ok(bytes), "{}", memory(bytes));
        }
        for ms in [0, 1, 999, 1000, 1500, 10_000, 60_000, 90_000, 300_000, 24 * 3_600_000] {
            assert_eq!(parse_duration_ms(&duration(ms)), Ok(ms), "{}", duration(ms));
        }
        assert_eq!((memory(128 << 20).as_str(), duration(300_000).as_str()), ("128Mi", "5m"));
    }
}
