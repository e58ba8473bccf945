//! Values as users write them: amounts of memory, durations, permissions. Written amounts parse back
//! to exactly the same number.

use milepost_model::spec::FunctionPermission;

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

/// `128Mi`, `1Gi`, `500M` or plain bytes; a bare number up to 65536 means MiB, as Fission's flags
/// do.
pub fn parse_memory(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u64 =
        digits.parse().map_err(|_| format!("`{text}` is not an amount of memory; write it like `128Mi`"))?;
    let factor = match &text[digits.len()..] {
        "" if number <= 65_536 => 1 << 20,
        "" | "B" => 1,
        "K" | "k" => 1000,
        "Ki" => 1 << 10,
        "M" => 1_000_000,
        "Mi" => 1 << 20,
        "G" => 1_000_000_000,
        "Gi" => 1 << 30,
        other => return Err(format!("`{other}` is not a unit of memory; use Ki, Mi or Gi")),
    };
    number.checked_mul(factor).ok_or_else(|| format!("`{text}` is too large"))
}

/// `10s`, `500ms`, `5m`; a bare number means seconds.
pub fn parse_duration_ms(text: &str) -> Result<u64, String> {
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(seconds.saturating_mul(1000));
    }
    let length: jiff::SignedDuration =
        text.parse().map_err(|_| format!("`{text}` is not a duration; write it like `10s`"))?;
    u64::try_from(length.as_millis()).map_err(|_| format!("`{text}` is negative"))
}

pub fn parse_permission(text: &str) -> Result<FunctionPermission, String> {
    match text {
        "public" => Ok(FunctionPermission::Public),
        "token" => Ok(FunctionPermission::Token),
        "internal" => Ok(FunctionPermission::Internal),
        _ => Err(format!("`{text}` is not a permission; use public, token or internal")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
