use clap::Args;
use milepost_model::install::{Install, InstallChange};
use serde_json::{Value, json};

use super::settings::SettingsArgs;
use super::{show, which};
use crate::context::Context;
use crate::failure::{Failure, Result};

/// Change when upgrades come, and other settings
///
/// What is not given stays. An empty `--window ''`, `--deny ''`, `--health ''` or `--key ''` takes it away, and `--unset KEY` an
/// override of `--set`. Overrides count at once. Without options it shows what is set.
#[derive(Debug, Args)]
pub struct PolicyArgs {
    /// The app; the only one that is installed when left out
    #[arg(value_name = "APP")]
    name: Option<String>,
    #[command(flatten)]
    settings: SettingsArgs,
    /// Give an override up: what the author has there comes back at once; give it again for more
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
    for warning in &changed.warnings {
        context.ui.warn(warning);
    }
    Ok(())
}

/// What is set, and nothing where an override is given up.
fn changed_overrides(args: &PolicyArgs, install: &Install) -> Result<Option<Value>> {
    let mut patch = args.settings.overrides()?;
    for key in &args.unset {
        let names: Vec<&str> = key.split('.').collect();
        let pointer: String =
            names.iter().map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect();
        if install.settings.overrides.pointer(&pointer).is_none() {
            return Err(Failure::usage(format!("app `{}` does not override `{key}`", install.app))
                .hint(format!("`milepost install status {}` shows what it overrides", install.app)));
        }
        let gone = names.iter().rev().fold(Value::Null, |inner, name| json!({ *name: inner }));
        let patch = patch.get_or_insert_with(|| json!({}));
        if !set_null(patch, &gone) {
            return Err(Failure::usage(format!("`{key}` is set and unset at once")).hint("give it once"));
        }
    }
    Ok(patch)
}

/// Puts what `gone` has into the patch, beside what is there. False when it is in the way of something.
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
    fn what_is_unset_stands_beside_what_is_set() {
        let mut patch = json!({ "mail": { "from": "me" } });
        assert!(set_null(&mut patch, &json!({ "mail": { "to": null } })));
        assert!(set_null(&mut patch, &json!({ "limit": null })));
        assert_eq!(patch, json!({ "mail": { "from": "me", "to": null }, "limit": null }));
        assert!(!set_null(&mut patch, &json!({ "mail": { "from": null } })), "it is set");
        assert!(!set_null(&mut patch, &json!({ "mail": null })), "a part of it is set");
    }
}
