//! Which hosts somebody may have the server ask. Who may only deploy must not reach the server's network through it.

use std::net::IpAddr;

use milepost_channels::reach::{host_of, is_public};
use milepost_model::{Code, Permission, Refusal};

use super::source::OWN;
use crate::auth::Caller;
use crate::error::ApiResult;
use crate::state::State;

/// Refuses an address that is not of the internet, unless an administrator asks, or allowed the host with `--install-from`. With
/// hosts allowed, there are no others.
pub(super) async fn check(state: &State, caller: &Caller, place: &str) -> ApiResult<()> {
    if place.starts_with(OWN) || caller.may_everywhere(Permission::Administer).is_ok() {
        return Ok(());
    }
    let Some((host, port)) = host_of(place) else { return Ok(()) };
    let allowed = &state.installs.hosts;
    let is_named = |named: &String| *named == host || *named == format!("{host}:{port}");
    let may = if allowed.is_empty() { is_of_the_internet(&host, port).await } else { allowed.iter().any(is_named) };
    if may {
        return Ok(());
    }
    let message = format!("The token `{}` may not install from `{host}`.", caller.name());
    Err(Refusal::new(Code::Forbidden, message)
        .hint(format!("an administrator may, or may allow the host with `milepost serve --install-from {host}`"))
        .into())
}

/// A name that cannot be looked up is told by the request itself, with the reason.
async fn is_of_the_internet(host: &str, port: u16) -> bool {
    if let Ok(address) = host.parse::<IpAddr>() {
        return is_public(address);
    }
    match tokio::net::lookup_host((host, port)).await {
        Ok(mut found) => found.all(|found| is_public(found.ip())),
        Err(_) => true,
    }
}
