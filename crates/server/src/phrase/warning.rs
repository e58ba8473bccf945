use milepost_model::Warning;
use milepost_model::refusal::{OwnedUnit, ServedBy};

/// How many names a warning lists.
const NAMED: usize = 5;

/// A warning. None for one that this server does not know.
pub(super) fn phrase(warning: &Warning) -> Option<String> {
    Some(match warning {
        Warning::LiveStaysPinned { live, planned: true, .. } => format!(
            "live stays pinned to {}, so users would not get this change; make it on live to add it to what is live",
            release(live.as_ref())
        ),
        Warning::LiveStaysPinned { live, planned: false, .. } => format!(
            "live stays pinned to {0}, so users do not get this change; make it on live to add it to what is live; the new \
             release would also bring back everything else that is newer than {0}, such as code that was rolled back",
            release(live.as_ref())
        ),
        Warning::NewReleaseNotLive { live, planned: true, .. } => {
            format!("live stays pinned to {}; the new release would not be live", release(live.as_ref()))
        }
        Warning::NewReleaseNotLive { live, release: new, planned: false } => {
            format!("live stays pinned to {}; release {new} is not live", release(live.as_ref()))
        }
        Warning::LiveIsOlder { live } => format!(
            "live is pinned to release {live}, which is older than the app; make the change on live to add it to what is live"
        ),
        Warning::LiveMovedMeanwhile { release } => format!(
            "live was moved while this change was checked, so users do not get it; make it on live to add it to what is \
             live, or put release {release} live as it is"
        ),
        Warning::StillServed { function, without_token, releases } => {
            let (count, serve) = match releases.len() {
                1 => ("1 older release".to_owned(), "serves"),
                count => (format!("{count} older releases"), "serve"),
            };
            let how = if *without_token { "without a token" } else { "to callers with a token" };
            let names = releases.iter().map(|ServedBy { release, live }| match live {
                true => format!("{release} (live)"),
                false => release.clone(),
            });
            format!(
                "function {function} is less open now, but {count} still {serve} it {how}: {}; expire each of them",
                list(names)
            )
        }
        Warning::TakesOver { deployment, units } => {
            let units = units.iter().map(|OwnedUnit { unit, owner }| format!("{unit} (of {owner})"));
            format!("deployment {deployment} takes over units of others: {}", list(units))
        }
        Warning::Adopts { deployment, units } => format!(
            "deployment {deployment} takes over units that belong to no deployment: {}",
            list(units.iter().cloned())
        ),
        Warning::SecretKept { name } => {
            format!("secret {name} is no longer declared and was kept; `\"pruneSecrets\": true` removes it")
        }
        Warning::UnitKept { unit, needed_by } => {
            let needs = if needed_by.len() == 1 { "needs" } else { "need" };
            let by = list(needed_by.iter().cloned());
            format!("{unit} is no longer declared and was kept, because {by} {needs} it")
        }
        Warning::DescriptionUnused { kind, name, version } => format!(
            "no version was created, so the description was not used; change the description of {kind} {name} version \
             {version} instead"
        ),
        Warning::UidTaken { unit, uid, new } => {
            format!("{unit} already has a version with uid {uid}; the new one has uid {new}")
        }
        Warning::LowerLabel { label, highest, unit } => format!(
            "`{label}` is lower than `{highest}`, but is now the latest version of {unit}: latest is the newest version"
        ),
        Warning::RoutesOverlap { route, other } => format!(
            "{route} matches requests that {other} matches too, and only one of them gets each; remove one, or give one \
             another path, method or host"
        ),
        Warning::SecretNotSet { function, secret } => {
            format!("function {function} uses the secret {secret}, which is not set")
        }
        Warning::HasUnreleasedChanges => {
            "the new release also has earlier changes that were kept without a release".to_owned()
        }
        Warning::OverridesEnd { keys } => format!(
            "no longer overridden: {}; the author's values return with the next upgrade, and until then the configuration \
             does not have these keys",
            keys.join(", ")
        ),
        Warning::MoreReleasesThanPlan { bound } => format!(
            "the app has more than the {bound} active releases of this plan; with the next release the oldest unprotected \
             ones expire"
        ),
        Warning::InstalledNotLive => {
            "live is pinned to another release, so users do not get this version yet; let live follow new releases to \
             change that"
                .to_owned()
        }
        Warning::InstallWaits { why } => format!("{why}; `\"now\": true` installs it anyway, which is recorded"),
        Warning::Downgrade { from, to } => format!(
            "{to} is below {from}: data that the newer version wrote may not be readable; upgrades are held afterwards"
        ),
        Warning::MajorUpdate { version } => {
            format!("{version} is a major update: it may change or remove what others rely on")
        }
        Warning::OverwritesHandEdits { units } => format!("changed by hand and overwritten: {}", units.join(", ")),
        Warning::Unknown => return None,
    })
}

fn release(live: Option<&String>) -> String {
    live.map_or_else(|| "nothing".to_owned(), |live| format!("release {live}"))
}

fn list(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    let names = names.take(NAMED).collect::<Vec<_>>().join(", ");
    if more == 0 { names } else { format!("{names} and {more} more") }
}
