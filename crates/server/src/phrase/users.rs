use milepost_model::refusal::{Use, User, UserKind};

/// One line for one user.
pub(crate) fn line(user: &User) -> String {
    let User { kind, name, how, of, release, because, more } = user;
    if *more > 0 {
        return format!("{more} more {} of {of}", plural(*kind));
    }
    let who = who(*kind, name);
    let who = if release.is_empty() { who } else { format!("{who} in release {release}") };
    let of = if of.is_empty() { "it" } else { of };
    let why = if because.is_empty() { String::new() } else { format!(" ({})", because.join(", ")) };
    match how {
        Use::PointsAt => format!("{who} points at {of}"),
        Use::PinnedTo => format!("{who} is pinned to {of}"),
        Use::Follows => format!("{who} follows {of}"),
        Use::Needs => format!("{who} needs {of}"),
        Use::Holds => format!("{who}{why} holds {of}"),
        Use::Owns => format!("{of} belongs to {who}"),
        Use::Runs => format!("{who} of {of} has not ended"),
        Use::TakesLive => format!("{who} becomes live when its check passes"),
        Use::Names => format!("{of} is {who}"),
        Use::Protects | Use::Unknown => match because.as_slice() {
            [] => who,
            because => format!("{who}: {}", because.join(", ")),
        },
    }
}

fn who(kind: UserKind, name: &str) -> String {
    match kind {
        UserKind::Alias => format!("alias {name}"),
        UserKind::Tag => format!("tag {name}"),
        UserKind::Release => format!("release {name}"),
        UserKind::Job => format!("job {name}"),
        UserKind::Webhook => format!("webhook {name}"),
        UserKind::Rollout => format!("rollout {name}"),
        UserKind::Execution => format!("execution {name}"),
        UserKind::Deployment => format!("deployment {name}"),
        UserKind::Qinling => format!("{name} in the v1 API"),
        UserKind::Live => "live".to_owned(),
        UserKind::Unit | UserKind::Unknown => name.to_owned(),
    }
}

fn plural(kind: UserKind) -> &'static str {
    match kind {
        UserKind::Alias => "aliases",
        UserKind::Tag => "tags",
        UserKind::Live | UserKind::Release => "releases",
        UserKind::Job => "jobs",
        UserKind::Webhook => "webhooks",
        UserKind::Rollout => "rollouts",
        UserKind::Execution => "executions",
        UserKind::Deployment => "deployments",
        UserKind::Unit | UserKind::Qinling | UserKind::Unknown => "users",
    }
}
