//! Channels hosted by this server, named by package alone.

use std::collections::BTreeSet;

use milepost_model::channel::PackageName;
use milepost_model::refusal::{Field, View};
use milepost_model::{Code, Next, Permission, Refusal};

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
    let message = format!("this server has no `{place}`, the channel of `{package}`");
    let otherwise = [
        Next::Give { field: Field::Channel },
        Next::Correct { how: "write its registry in front of the name".to_owned() },
        Next::See { view: View::Channels },
    ];
    Refusal::not_found(Code::VersionNotFound, message, package.as_str(), &names, otherwise)
}
