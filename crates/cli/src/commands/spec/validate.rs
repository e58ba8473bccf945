use std::collections::BTreeSet;

use clap::Args;
use milepost_model::UnitKind;
use milepost_model::change::UnitKey;
use milepost_model::unit_put::UnitPut;
use serde_json::json;

use super::FolderArgs;
use crate::args::Global;
use crate::commands::deploy::with_app;
use crate::commands::shared;
use crate::context::Context;
use crate::declared::apply::tell;
use crate::declared::{self, Declared, DeclaredUnit, Problem, fission};
use crate::failure::Result;
use crate::output::Ui;

/// Find the mistakes of a folder of specs
///
/// All of them in one run, each with its file, its line and what would be right. When a server can be reached, what the
/// folder names and does not declare is looked up in the app; nothing is changed.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    #[command(flatten)]
    folder: FolderArgs,
}

pub async fn run(ui: &Ui, global: &Global, args: &ValidateArgs) -> Result<()> {
    let (mut declared, mut errors) = fission::look_at_folder(&args.folder.specdir)?;
    let (unknown, secrets) = missing(ui, global, &declared).await;
    // What is wrong with the folder alone was told already.
    errors.extend(
        unknown.into_iter().filter(|new| errors.iter().all(|known| known.place != new.place)).collect::<Vec<_>>(),
    );
    errors.sort_by(|one, other| one.place.cmp(&other.place));
    declared.warnings.extend(secrets);
    if !errors.is_empty() {
        return Err(declared::failure(errors, declared.warnings));
    }
    tell::warnings(ui, &declared);
    let place = args.folder.specdir.display();
    let warnings = declared.warnings.iter().map(|warning| format!("{}: {}", warning.place, warning.message));
    let report = json!({
        "deployment": declared.deployment,
        "units": declared.keys().collect::<Vec<UnitKey>>(),
        "warnings": warnings.collect::<Vec<_>>(),
    });
    ui.show(
        &report,
        |_| declared.keys().map(|key| format!("{}/{}", key.kind, key.name)).collect(),
        |_| match declared.units.len() {
            1 => format!("{place}: 1 unit, no mistakes."),
            count => format!("{place}: {count} units, no mistakes."),
        },
    )
}

/// What is named and neither the folder nor the app has; and the secrets that the app does not have yet. That nobody can be
/// asked is told.
async fn missing(ui: &Ui, global: &Global, declared: &Declared) -> (Vec<Problem>, Vec<Problem>) {
    let unresolved = declared.unresolved();
    if unresolved.is_empty() && declared.claims.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let app_has = match Context::new(ui, &with_app(global, declared)) {
        Ok(context) => shared::all_units(&context).await,
        Err(failure) => Err(failure),
    };
    let app_has = match app_has {
        Ok(units) => units,
        Err(failure) => {
            let keys = unresolved.iter().map(|reference| &reference.key).chain(&declared.claims);
            let names: BTreeSet<String> = keys.map(ToString::to_string).collect();
            let names = names.into_iter().collect::<Vec<_>>().join(", ");
            ui.say(&format!("No server was asked ({}); not checked: {names}", failure.message()));
            return (Vec::new(), Vec::new());
        }
    };
    let names_of = |kind: UnitKind| -> Vec<&str> {
        app_has.iter().filter(|unit| unit.kind == kind).map(|unit| unit.name.as_str()).collect()
    };
    let mut errors = Vec::new();
    for reference in unresolved {
        let names = names_of(reference.key.kind);
        if !names.contains(&reference.key.name.as_str()) {
            errors.push(declared.unknown(reference, &names));
        }
    }
    let secrets = names_of(UnitKind::Secret);
    let missing = declared.claims.iter().filter(|key| !secrets.contains(&key.name.as_str()));
    (errors, missing.filter_map(|key| no_secret(declared, key)).collect())
}

/// Only a warning: its value is not in the folder, and may be set later.
fn no_secret(declared: &Declared, key: &UnitKey) -> Option<Problem> {
    let names = |unit: &&DeclaredUnit| match &unit.put.unit {
        UnitPut::Function(function) => function.secrets.contains(&key.name),
        _ => false,
    };
    let place = declared.units.iter().find(names)?.place.clone();
    let hint = Some(format!("set it with `milepost secret set {}`", key.name));
    Some(Problem { place, message: format!("the app has no secret `{}`", key.name), hint })
}
