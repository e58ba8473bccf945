use milepost_model::Warning;
use milepost_model::refusal::{OwnedUnit, ServedBy};

/// How many names a warning lists.
const NAMED: usize = 5;

/// A warning with the commands that settle it. `app` is the option that names the app.
pub fn phrase(warning: &Warning, app: &str) -> Option<String> {
    Some(match warning {
        Warning::LiveStaysPinned { live, planned: true, .. } => format!(
            "live stays pinned to {}, so users would not get this change; `--on live` adds it to what is live instead",
            release(live.as_ref())
        ),
        Warning::LiveStaysPinned { live, release: new, planned: false } => format!(
            "live stays pinned to {0}, so users do not get this change; run the command again with `--on live` to add it \
             to what is live; `milepost release live {new}{app}` and `milepost release live --follow{app}` would also \
             bring back everything else that is newer than {0}, such as code that was rolled back",
            release(live.as_ref())
        ),
        Warning::NewReleaseNotLive { live, planned: true, .. } => {
            format!("live stays pinned to {}; the new release would not be live", release(live.as_ref()))
        }
        Warning::NewReleaseNotLive { live, release: new, planned: false } => format!(
            "live stays pinned to {}; release {new} is not live; put it live with `milepost release live {new}{app}`, or \
             let live follow new releases with `milepost release live --follow{app}`",
            release(live.as_ref())
        ),
        Warning::LiveIsOlder { live } => format!(
            "live is pinned to release {live}, which is older than the app; run the command again with `--on live` to add \
             the change to what is live; `milepost release live --follow{app}` brings back everything that is newer than \
             release {live}"
        ),
        Warning::LiveMovedMeanwhile { release } => format!(
            "live was moved while this change was checked, so users do not get it; run the command again with `--on live` \
             to add it to what is live, or put release {release} live as it is with `milepost release live {release}{app}`"
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
                "function {function} is less open now, but {count} still {serve} it {how}: {}; expire each with `milepost \
                 release expire RELEASE{app}`",
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
            format!("secret {name} is no longer in the folder and was kept; `--prune-secrets` removes it")
        }
        Warning::UnitKept { unit, needed_by } => {
            let needs = if needed_by.len() == 1 { "needs" } else { "need" };
            let by = list(needed_by.iter().cloned());
            format!("{unit} is no longer in the folder and was kept, because {by} {needs} it")
        }
        Warning::DescriptionUnused { kind, name, version } => format!(
            "no version was created, so the description was not used; run `milepost {kind} version describe {name} \
             {version} --description TEXT{app}` to change the description of version {version}"
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
        Warning::SecretNotSet { function, secret } => format!(
            "function {function} uses the secret {secret}, which is not set; set it with `milepost secret set {secret}{app}`"
        ),
        Warning::HasUnreleasedChanges => format!(
            "the new release also has earlier changes that were kept without a release; run `milepost app \
             list-version{app}` to see them"
        ),
        Warning::OverridesEnd { keys } => format!(
            "no longer overridden: {}; the author's values return with the next upgrade, and until then the configuration \
             does not have these keys",
            keys.join(", ")
        ),
        Warning::MoreReleasesThanPlan { bound } => format!(
            "the app has more than the {bound} active releases of this plan; with the next release the oldest unprotected \
             ones expire"
        ),
        Warning::InstalledNotLive => format!(
            "live is pinned to another release, so users do not get this version yet; `milepost release live --follow{app}` \
             changes that"
        ),
        Warning::InstallWaits { why } => format!("{why}; `--now` installs it anyway, which is recorded"),
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
