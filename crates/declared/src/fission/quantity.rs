//! Amounts as Kubernetes writes them.

/// `128Mi`, `0.5Gi`, `1e8` or plain bytes.
pub fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not an amount of memory; write it like `128Mi`");
    let units: [(&str, f64); 10] = [
        ("Ki", 1024.0),
        ("Mi", 1024.0 * 1024.0),
        ("Gi", 1024.0 * 1024.0 * 1024.0),
        ("Ti", 1024.0 * 1024.0 * 1024.0 * 1024.0),
        ("k", 1e3),
        ("K", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("m", 1e-3),
    ];
    let unit = units.into_iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (digits, factor) = unit.unwrap_or((text, 1.0));
    let amount = number(digits).ok_or_else(wrong)? * factor;
    if amount < 1e18 { Ok(whole(amount)) } else { Err(wrong()) }
}

/// `500m`, `0.5` or `2` cores, as thousandths of a core.
pub fn millicores(text: &str) -> Result<u32, String> {
    let wrong = || format!("`{text}` is not an amount of CPU; write it like `500m` or `2`");
    let amount = match text.strip_suffix('m') {
        Some(digits) => number(digits),
        None => number(text).map(|cores| cores * 1000.0),
    };
    let amount = amount.filter(|amount| *amount < 1e9).ok_or_else(wrong)?;
    u32::try_from(whole(amount)).map_err(|_| wrong())
}

fn number(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b".eE+".contains(&byte));
    text.parse::<f64>().ok().filter(|number| plain && number.is_finite())
}

/// Rounded up, as Kubernetes does.
fn whole(amount: f64) -> u64 {
    // The callers limit it to below 1e18, and `number` allows no negative values.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded by the callers")]
    let whole = amount.ceil() as u64;
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_kubernetes_quantities() {
        for (text, expected) in [
            ("128Mi", 128 << 20),
            ("0.5Gi", 512 << 20),
            ("134217728", 128 << 20),
            ("1e8", 100_000_000),
            ("64M", 64_000_000),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for (text, expected) in [("500m", 500), ("0.5", 500), ("2", 2000), ("100m", 100), ("1.5", 1500)] {
            assert_eq!(millicores(text), Ok(expected), "{text}");
        }
        for wrong in ["", "lots", "-1", "12 Mi", "1Xi", "inf", "NaN"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
            assert!(millicores(wrong).is_err(), "{wrong}");
        }
    }
}
