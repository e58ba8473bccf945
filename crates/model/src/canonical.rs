//! The canonical form: JSON in one spelling (close to RFC 8785) with a format number. It contains
//! everything that affects behaviour and nothing else, so equal behaviour has equal digests.

use serde::Serialize;
use serde_json::{Value, json};

use crate::digest::Digest;
use crate::kind::UnitKind;

/// Incremented only when the meaning of an existing field changes. A new field does not need it:
/// fields with their default value are left out of the form, so a newer Milepost computes the same
/// digest for old content.
pub const FORMAT: u32 = 1;

/// The canonical bytes of any value: RFC 8785 with one exception. The RFC writes every number as a
/// 64-bit float, which would make 9007199254740993 equal to its neighbour; here integers are
/// written exactly.
#[expect(clippy::expect_used, reason = "turning plain data into a value has no way to fail: keys are strings")]
pub fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    let value = serde_json::to_value(value).expect("plain data is JSON");
    let mut out = String::new();
    write(&value, &mut out);
    out.into_bytes()
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => out.push_str(ryu_js::Buffer::new().format(float)),
            _ => out.push_str(&number.to_string()),
        },
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, (key, field)) in fields.into_iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                write(field, out);
            }
            out.push('}');
        }
        // Strings, booleans and null are written as serde_json writes them.
        plain => out.push_str(&plain.to_string()),
    }
}

/// The canonical bytes of a unit's content.
pub fn content_bytes(kind: UnitKind, behaviour: &Value) -> Vec<u8> {
    to_bytes(&json!({ "format": FORMAT, "kind": kind, "spec": behaviour }))
}

pub fn content_digest(kind: UnitKind, behaviour: &Value) -> Digest {
    Digest::of(&content_bytes(kind, behaviour))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: &str) {
        let value: Value = serde_json::from_str(json).expect(json);
        assert_eq!(String::from_utf8(to_bytes(&value)).expect("text"), expected);
    }

    #[test]
    fn integers_are_exact_and_floats_are_written_as_in_javascript() {
        check(
            "[9007199254740993, 18446744073709551615, -9223372036854775808]",
            "[9007199254740993,18446744073709551615,-9223372036854775808]",
        );
        check("[1.0, 0.1, 1e21, 1e-7, -0.0, 333333333.33333329]", "[1,0.1,1e+21,1e-7,0,333333333.3333333]");
    }

    /// The example of RFC 8785, section 3.2.3.
    #[test]
    fn keys_are_sorted_by_utf_16_code_units() {
        let json = "{\"€\":1,\"\\r\":2,\"\u{fb33}\":3,\"1\":4,\"\u{1f600}\":5,\"\u{80}\":6,\"\u{f6}\":7}";
        check(json, "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"€\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}");
    }

    #[test]
    fn strings_are_escaped_only_where_required() {
        check(r#""\u0061\u000f\n\"\\\/€""#, r#""a\u000f\n\"\\/€""#);
    }
}
