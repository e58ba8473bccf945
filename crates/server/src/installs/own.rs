//! Channels hosted by this server, named by package alone.

use std::collections::BTreeSet;

use milepost_model::channel::PackageName;
use milepost_model::{Code, Permission, Refusal};

use crate::auth::Caller;
use crate::state::State;

/// Maximum files searched for a similar name.
const LOOKED_THROUGH: usize = 10_000;

/// The error for a package without a channel here. Suggests other packages only to callers that may
/// list them.
pub(super) async fn not_published(state: &State, caller: &Caller, package: &PackageName, place: &str) -> Refusal {
    let mut names = BTreeSet::new();
    if caller.may_everywhere(Permission::Read).is_ok() {
        let files = state.content.channels.list(LOOKED_THROUGH).await.unwrap_or_default();
        let folders = files.iter().filter_map(|file| file.strip_suffix("/all")?.rsplit_once('/'));
        names.extend(folders.map(|(package, _)| package.to_owned()).filter(|name| name != package.as_str()));
    }
    let names: Vec<String> = names.into_iter().collect();
    let message = format!("This server has no `{place}`, where `{package}` would be.");
    let otherwise = "give the address of the channel that has it with `--channel URL`, or its registry in front of the name; \
                     `milepost channel list` shows the channels of this server";
    Refusal::unknown(Code::VersionNotFound, message, package.as_str(), &names, otherwise)
}
