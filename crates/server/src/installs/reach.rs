//! Which hosts a caller may have the server contact. A caller with the role deployer must not reach
//! the server's network through it.
//!
//! The [`Reach`](milepost_channels::reach::Reach) of an install's connections enforces this for
//! every contacted address, also for later upgrades and redirects. This module refuses the named
//! place early, with a hint.

use std::net::IpAddr;

use milepost_channels::reach::{Url, is_public, url_of};
use milepost_model::{Code, Next, Permission, Refusal};

use super::source::OWN;
use crate::auth::Caller;
use crate::error::ApiResult;
use crate::state::State;

/// Whether the install may fetch only from public hosts, or from those in `--install-from`. It is
/// stored with the install and applies to its upgrades.
pub(super) fn is_confined(caller: &Caller) -> bool {
    caller.may_everywhere(Permission::Administer).is_err()
}

/// Refuses an address that is not public, unless the caller is an administrator or `--install-from`
/// lists the host. If `--install-from` is set, other hosts are refused.
pub(super) async fn check(state: &State, caller: &Caller, place: &str) -> ApiResult<()> {
    if place.starts_with(OWN) || !is_confined(caller) {
        return Ok(());
    }
    let Some(url) = url_of(place) else { return Ok(()) };
    let reach = &state.installs.reach;
    if reach.refuses_place(&url).is_none() && (reach.lists(&url) || is_of_the_internet(&url).await) {
        return Ok(());
    }
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let message = format!("token `{}` may not install from `{host}`", caller.name());
    Err(Refusal::new(Code::Forbidden, message).next(Next::AllowHost { host: host.to_owned() }).into())
}

/// A name that does not resolve passes: the request itself reports the reason.
async fn is_of_the_internet(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = host.parse::<IpAddr>() {
        return is_public(address);
    }
    match tokio::net::lookup_host((host, 443)).await {
        Ok(mut found) => found.any(|found| is_public(found.ip())),
        Err(_) => true,
    }
}
