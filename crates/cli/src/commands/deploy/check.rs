//! Collects all errors of a folder at once: from reading it, from its files, and from the app.

use std::collections::BTreeSet;

use milepost_declared::apply::unreadable_files;
use milepost_declared::lookup::{LookedUp, look_up};
use milepost_declared::{Declared, Problem};
use milepost_model::{UnitKind, UnitPut};

use super::agreed_app;
use crate::args::Global;
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::folders::{Terminal, scanner};
use crate::output::Ui;

/// Adds the errors that only the files and the app reveal to `errors`, and the secrets that are not
/// set to the folder's warnings. Reports when no server could be reached. Returns the conflicts:
/// units that belong to another deployment.
pub async fn complete(ui: &Ui, global: &Global, declared: &mut Declared, errors: &mut Vec<Problem>) -> Vec<Problem> {
    let scanner = scanner();
    let (files, LookedUp { errors: unknown, secrets, conflicts }) =
        tokio::join!(unreadable_files(&scanner, declared), ask(ui, global, declared));
    errors.extend(files);
    errors.extend(unknown);
    errors.sort_by(|one, other| one.place.cmp(&other.place));
    declared.warnings.extend(secrets);
    declared.warnings.sort_by(|one, other| one.place.cmp(&other.place));
    conflicts
}

async fn ask(ui: &Ui, global: &Global, declared: &Declared) -> LookedUp {
    let unresolved = declared.unresolved();
    let names_nothing = unresolved.is_empty() && declared.claims.is_empty() && declared.pointers.is_empty();
    if names_nothing && declared.keys().all(|key| key.kind != UnitKind::Function) {
        return LookedUp::default();
    }
    let requests_much = declared.units.iter().any(|unit| match &unit.put.unit {
        UnitPut::Function(put) => put.memory.is_some() || put.scale.as_ref().is_some_and(|scale| scale.max.is_some()),
        _ => false,
    });
    match look_up_in_app(ui, global, declared).await {
        Ok(found) => found,
        // Only the number of functions would have been checked.
        Err(_) if names_nothing && !requests_much => LookedUp::default(),
        Err(failure) => {
            let keys = unresolved.iter().map(|reference| &reference.key);
            let keys = keys.chain(declared.claims.iter().map(|claim| &claim.key)).map(ToString::to_string);
            let pointers =
                declared.pointers.iter().map(|pointer| format!("function {} {}", pointer.function, pointer.version));
            let plan = requests_much.then(|| "limits of the plan".to_owned());
            let names: BTreeSet<String> = keys.chain(pointers).chain(plan).collect();
            let names = names.into_iter().collect::<Vec<_>>().join(", ");
            ui.say(&format!("No server available ({}); not checked: {names}", failure.message()));
            LookedUp::default()
        }
    }
}

async fn look_up_in_app(ui: &Ui, global: &Global, declared: &Declared) -> Result<LookedUp> {
    if declared.unread.app && global.app.is_none() {
        return Err(Failure::usage("the app has no name yet"));
    }
    let context = Context::new(ui, &agreed_app(global, declared)?)?;
    Ok(look_up(&Terminal::new(&context).session(), declared).await?)
}
