//! The channels that this server keeps itself, named by a package alone.

use std::collections::BTreeSet;

use milepost_model::channel::PackageName;
use milepost_model::{Code, Permission, Refusal};

use crate::auth::Caller;
use crate::state::State;

/// As many files are looked through for a name that is like it.
const LOOKED_THROUGH: usize = 10_000;

/// A package without its channel here. Names of others are for those who may list them.
pub(super) async fn not_published(state: &State, caller: &Caller, package: &PackageName, place: &str) -> Refusal {
    let mut names = BTreeSet::new();
    if caller.may_everywhere(Permission::Read).is_ok() {
        let files = state.channels.list(LOOKED_THROUGH).await.unwrap_or_default();
        let folders = files.iter().filter_map(|file| file.strip_suffix("/all")?.rsplit_once('/'));
        names.extend(folders.map(|(package, _)| package.to_owned()).filter(|name| name != package.as_str()));
    }
    let names: Vec<String> = names.into_iter().collect();
    let message = format!("This server has no `{place}`, where `{package}` would be.");
    let otherwise = "give the address of the channel that has it with `--channel URL`, or its registry in front of the name; \
                     `milepost channel list` shows the channels of this server";
    Refusal::unknown(Code::VersionNotFound, message, package.as_str(), &names, otherwise)
}
