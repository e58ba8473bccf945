//! Which hosts somebody may have the server ask. Who may only deploy must not reach the server's network through it.
//!
//! What holds is the [`Reach`](milepost_channels::reach::Reach) of the connections that an install uses, which looks at every address
//! that is asked, also later and wherever a channel leads. Here the place that was named is refused early, with what to do about it.

use std::net::IpAddr;

use milepost_channels::reach::{Url, is_public, url_of};
use milepost_model::{Code, Next, Permission, Refusal};

use super::source::OWN;
use crate::auth::Caller;
use crate::error::ApiResult;
use crate::state::State;

/// Whether what a caller installs fetches only from hosts of the internet, or from those that `--install-from` allows. The install
/// remembers it for its upgrades.
pub(super) fn is_confined(caller: &Caller) -> bool {
    caller.may_everywhere(Permission::Administer).is_err()
}

/// Refuses an address that is not of the internet, unless an administrator asks, or allowed the host with `--install-from`. With
/// hosts allowed, there are no others.
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

/// A name that cannot be looked up is told by the request itself, with the reason.
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
