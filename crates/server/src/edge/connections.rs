//! Connection limits of the listeners. Together they stay below the open-file limit, with room for
//! files, the database and workers.

use milepost_gateway::ConnectionLimits;

/// Default limits.
const GATEWAY: usize = 10_000;
const INSIDE: usize = 2_500;
const API: usize = 1_024;
/// Minimum for each listener.
const LEAST: usize = 16;
/// Reserves one in `KEPT_PART` descriptors, but at least `KEPT_LEAST`, for everything other than
/// connections.
const KEPT_PART: usize = 4;
const KEPT_LEAST: usize = 256;
/// One in this many API connections may be without a valid token.
const ANONYMOUS_PART: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Doors {
    pub gateway: usize,
    pub inside: usize,
    pub api: usize,
}

impl Doors {
    pub(crate) fn api_limits(&self) -> ConnectionLimits {
        ConnectionLimits { total: self.api, anonymous: (self.api / ANONYMOUS_PART).max(LEAST).min(self.api) }
    }
}

/// The configured connection limits exceed what the open-file limit has room for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{wanted} connections cannot be held: this process may open {limit} files, of which {room} may be connections")]
pub struct TooManyConnections {
    wanted: usize,
    limit: usize,
    room: usize,
}

impl TooManyConnections {
    pub(crate) const HINT: &'static str = "raise the hard limit of open files (`ulimit -Hn`, or `LimitNOFILE` of systemd), or \
                                           lower `--connections` and `--api-connections`";
}

/// Divides the open-file limit between the listeners. Configured limits are kept or rejected,
/// defaults are lowered if necessary.
pub(crate) fn share_out(
    limit: Option<u64>,
    gateway: Option<usize>,
    api: Option<usize>,
) -> Result<Doors, TooManyConnections> {
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let room = limit.saturating_sub((limit / KEPT_PART).max(KEPT_LEAST));
    let set = gateway.unwrap_or(0).saturating_add(api.unwrap_or(0));
    let open = [gateway.is_none().then_some(GATEWAY), Some(INSIDE), api.is_none().then_some(API)];
    let (wanted, least) = open.iter().flatten().fold((0, 0), |(sum, least), wanted| (sum + wanted, least + LEAST));
    let left = room.saturating_sub(set);
    if (gateway.is_some() || api.is_some()) && left < least {
        return Err(TooManyConnections { wanted: set.saturating_add(least), limit, room });
    }
    let of = |most: usize| {
        let (more, over) = (left.saturating_sub(least), wanted - least);
        if wanted <= left { most } else { LEAST + (most - LEAST) * more / over }
    };
    let doors = Doors {
        gateway: gateway.unwrap_or_else(|| of(GATEWAY)),
        inside: of(INSIDE),
        api: api.unwrap_or_else(|| of(API)),
    };
    if wanted > left {
        tracing::warn!(
            limit,
            gateway = doors.gateway,
            inside = doors.inside,
            api = doors.api,
            "fewer connections than usual: few files may be open; raise the hard limit (`ulimit -Hn`, `LimitNOFILE`)"
        );
    }
    Ok(doors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowers_the_defaults_to_fit_the_open_file_limit() {
        let usual = Doors { gateway: GATEWAY, inside: INSIDE, api: API };
        for limit in [None, Some(u64::MAX), Some(1 << 20), Some(20_000)] {
            assert_eq!(share_out(limit, None, None), Ok(usual), "{limit:?}");
        }
        let few = share_out(Some(1024), None, None).expect("defaults are lowered");
        assert!(few.gateway > 500 && few.api >= LEAST && few.gateway + few.inside + few.api <= 768, "{few:?}");
        assert_eq!(usual.api_limits(), ConnectionLimits { total: 1024, anonymous: 256 });
    }

    #[test]
    fn keeps_or_rejects_configured_limits() {
        let doors = share_out(Some(20_000), Some(14_000), Some(100)).expect("there is room");
        assert_eq!((doors.gateway, doors.api), (14_000, 100));
        let refused = share_out(Some(20_000), Some(15_000), None).expect_err("there is no room");
        assert_eq!(
            refused.to_string(),
            "15032 connections cannot be held: this process may open 20000 files, of which 15000 may be connections"
        );
        assert!(share_out(Some(1024), None, Some(usize::MAX)).is_err());
    }

    #[test]
    fn limits_leave_descriptors_for_everything_else() {
        let asked = [None, Some(1), Some(100), Some(3000), Some(50_000)];
        for limit in [512_u64, 1000, 1024, 4096, 20_000, 65_536, 1 << 20] {
            for (gateway, api) in asked.iter().flat_map(|gateway| asked.map(|api| (*gateway, api))) {
                let Ok(doors) = share_out(Some(limit), gateway, api) else { continue };
                let sum = (doors.gateway + doors.inside + doors.api) as u64;
                assert!(sum + (limit / 4).max(256) <= limit, "{limit} {gateway:?} {api:?}: {doors:?}");
                assert!(doors.api_limits().anonymous <= doors.api);
                assert!(gateway.is_none_or(|set| set == doors.gateway) && api.is_none_or(|set| set == doors.api));
            }
        }
    }
}
