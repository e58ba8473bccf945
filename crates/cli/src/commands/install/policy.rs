use clap::Args;
use milepost_model::install::{Install, InstallChange};
use serde_json::{Value, json};

use super::settings::SettingsArgs;
use super::{show, which};
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::phrase;

/// Change when upgrades are installed, and other settings
///
/// Settings that are not given stay as they are. An empty value removes a setting: `--window ''`,
/// `--deny ''`, `--health ''` or `--key ''`. `--unset KEY` removes an override of `--set`. Changed
/// overrides take effect at once. Without options the command shows the current settings.
#[derive(Debug, Args)]
pub struct PolicyArgs {
    /// The installed app [default: the only one]
    #[arg(value_name = "APP")]
    name: Option<String>,
    #[command(flatten)]
    settings: SettingsArgs,
    /// Remove an override; the author's value takes effect at once (can be repeated)
    #[arg(long, value_name = "KEY", help_heading = "Upgrade options")]
    unset: Vec<String>,
}

pub async fn run(context: &Context<'_>, app: Option<&str>, args: PolicyArgs) -> Result<()> {
    let app = which(context, args.name.clone(), app).await?;
    let install = context.client.install_get(&app).await?;
    if args.settings.is_empty() && args.unset.is_empty() {
        return show::one(context, &install);
    }
    let overrides = changed_overrides(&args, &install)?;
    let settings = args.settings.over(install.settings)?;
    let change = InstallChange {
        policy: Some(settings.policy),
        windows: Some(settings.windows),
        rollback_holds: Some(settings.rollback_holds),
        health: Some(settings.health.map_or_else(String::new, |health| health.to_string())),
        health_deadline_s: Some(settings.health_deadline_s),
        poll_s: Some(settings.poll_s),
        key: args.settings.key()?,
        overrides,
    };
    let changed = context.client.install_change(&app, &change).await?;
    show::one(context, &changed.install)?;
    for warning in phrase::warnings(app.as_str(), &changed.notices, &changed.warnings) {
        context.ui.warn(&warning);
    }
    Ok(())
}

/// The overrides to merge: a value for each `--set`, and null for each `--unset`.
fn changed_overrides(args: &PolicyArgs, install: &Install) -> Result<Option<Value>> {
    let mut patch = args.settings.overrides()?;
    for key in &args.unset {
        let names: Vec<&str> = key.split('.').collect();
        let pointer: String =
            names.iter().map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect();
        if install.settings.overrides.pointer(&pointer).is_none() {
            return Err(Failure::usage(format!("app `{}` does not override `{key}`", install.app))
                .hint(format!("run `milepost install status {}` to see its overrides", install.app)));
        }
        let gone = names.iter().rev().fold(Value::Null, |inner, name| json!({ *name: inner }));
        let patch = patch.get_or_insert_with(|| json!({}));
        if !set_null(patch, &gone) {
            return Err(Failure::usage(format!("`{key}` is both set and unset")).hint("give only one of the two"));
        }
    }
    Ok(patch)
}

/// Merges the nulls of `gone` into the patch. Returns false if the patch sets one of these keys.
fn set_null(patch: &mut Value, gone: &Value) -> bool {
    let (Value::Object(patch), Value::Object(gone)) = (patch, gone) else { return false };
    gone.iter().all(|(name, value)| match patch.get_mut(name) {
        None => patch.insert(name.clone(), value.clone()).is_none(),
        Some(Value::Null) => true,
        Some(there) => set_null(there, value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_and_unset_keys_merge_into_one_patch() {
        let mut patch = json!({ "mail": { "from": "me" } });
        assert!(set_null(&mut patch, &json!({ "mail": { "to": null } })));
        assert!(set_null(&mut patch, &json!({ "limit": null })));
        assert_eq!(patch, json!({ "mail": { "from": "me", "to": null }, "limit": null }));
        assert!(!set_null(&mut patch, &json!({ "mail": { "from": null } })), "it is set");
        assert!(!set_null(&mut patch, &json!({ "mail": null })), "a part of it is set");
    }
}
