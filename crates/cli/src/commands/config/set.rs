use clap::Args;
use milepost_model::UnitName;
use milepost_model::unit_put::{ConfigPut, UnitPut};
use serde_json::Value;

use crate::commands::shared::{self, ChangeArgs, parse_pair};
use crate::context::Context;
use crate::failure::Result;

/// Set keys of the configuration
///
/// A value that is valid JSON (a number, `true`, a list) is stored as JSON. Any other value is
/// stored as text.
#[derive(Debug, Args)]
pub struct SetArgs {
    /// Dotted keys with their values
    #[arg(value_name = "KEY=VALUE", required = true, value_parser = parse_setting)]
    pairs: Vec<(String, String)>,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: SetArgs) -> Result<()> {
    let value = |text: String| serde_json::from_str(&text).unwrap_or(Value::String(text));
    let set = args.pairs.into_iter().map(|(key, text)| (key, value(text))).collect();
    let put = ConfigPut { set, ..ConfigPut::default() };
    // Reports invalid keys before anything is sent.
    put.resolve(None)?;
    let put = shared::put(UnitName::config(), UnitPut::Config(put));
    shared::send(context, &args.change.change(vec![put], Vec::new())).await
}

/// `KEY=VALUE`. A key with a space is a typing error, like quotes around two pairs.
fn parse_setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = parse_pair(text)?;
    if key.contains(char::is_whitespace) {
        return Err(format!("the key `{key}` contains a space; write each pair as an argument of its own"));
    }
    Ok((key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_keys_with_spaces_and_keeps_spaces_of_values() {
        assert_eq!(parse_setting("a.b=x y"), Ok(("a.b".to_owned(), "x y".to_owned())));
        for wrong in ["x y=1", "a =1", "a\tb=1", "a", "=1"] {
            assert!(parse_setting(wrong).is_err(), "{wrong}");
        }
    }
}
