use milepost_model::suggest::or_list;
use milepost_model::{Next, Role};

use super::{field, view};

/// One step. None for one that this server does not know.
pub(crate) fn step(next: &Next) -> Option<String> {
    Some(match next {
        Next::DidYouMean { names } => format!("did you mean {}?", or_list(names)),
        Next::Correct { how } => how.clone(),
        Next::Retry => "send the request again".to_owned(),
        Next::Wait => "send the request again later".to_owned(),
        Next::See { view } => view::phrase(view)?,
        Next::Give { field } => format!("give {}", field::name(*field)?),
        Next::LeaveOut { field } => format!("leave out {}", field::name(*field)?),
        Next::Expect { app_version } => format!("send the change again with `\"expect\": \"{app_version}\"`"),
        Next::ReadServerLog => "see the server's log for the cause".to_owned(),
        Next::CreateApp { app } => format!("create the app `{app}` first"),
        Next::LargerPlan { app } => format!("move app `{app}` to a larger plan"),
        Next::Deploy => "deploy code first".to_owned(),
        Next::Build => "build the packages first".to_owned(),
        Next::SetConfig => "set a key of the configuration first".to_owned(),
        Next::SetSecret { name } => format!("set the secret `{name}` first"),
        Next::CreateEnvironment => "create an environment first".to_owned(),
        Next::UpdateUnit { kind, name } => format!("create a new version of {kind} `{name}`"),
        Next::DeleteJobsAndWebhooks => "delete the jobs and webhooks".to_owned(),
        Next::MoveAlias { function, alias } => format!("move the alias `{alias}` of function `{function}`"),
        Next::CreateRelease { of: Some(of) } => format!("release `{of}`"),
        Next::CreateRelease { of: None } => "release the app".to_owned(),
        Next::MakeLive { release: Some(release), force: false } => format!("put release `{release}` live"),
        Next::MakeLive { release: None, force: false } => "put a release live".to_owned(),
        Next::MakeLive { release: Some(release), force: true } => {
            format!("put release `{release}` live with `\"force\": true`")
        }
        Next::MakeLive { release: None, force: true } => "put a release live with `\"force\": true`".to_owned(),
        Next::FollowLatest => "let live follow new releases".to_owned(),
        Next::KeepLive => "pin live to the release that is live".to_owned(),
        Next::RollBackTo { target } => format!("roll back to `{target}`"),
        Next::Untag => "remove a tag".to_owned(),
        Next::CancelExecution { id } => format!("cancel execution `{id}`"),
        Next::CreateJob => "create a new job".to_owned(),
        Next::RotateWebhook => "give the webhook a new secret".to_owned(),
        Next::CreateSignedWebhook => {
            "generate a secret with `openssl rand -hex 32`, or let the server generate one".to_owned()
        }
        Next::CreateToken { role: Some(role) } if role == Role::Admin.as_str() => {
            "use a token with the role admin".to_owned()
        }
        Next::CreateToken { role: Some(role) } => format!("use a token with the role {role} or higher"),
        Next::CreateToken { role: None } => "send a token as `authorization: Bearer TOKEN`".to_owned(),
        Next::CheckToken => "check the token: it may have been deleted, or belong to another server".to_owned(),
        Next::InstallFromChannel => "install the app from its author's channel".to_owned(),
        Next::InstallVersion => "name a version to install".to_owned(),
        Next::InstallBundle => "send the bundle to `/installs/bundle`".to_owned(),
        Next::Upgrade => "upgrade the installed app instead".to_owned(),
        Next::UpgradeTo => "name the version to upgrade to".to_owned(),
        Next::UpgradeFromBundle => "upgrade from a bundle".to_owned(),
        Next::InstallAs { app: Some(app) } => format!("install it as app `{app}`"),
        Next::InstallAs { app: None } => "install it under another name".to_owned(),
        Next::LiftHold { version: Some(version), .. } => format!("allow version `{version}` again"),
        Next::LiftHold { version: None, .. } => "lift the hold".to_owned(),
        Next::UpgradeByHand { update, .. } => format!("set the policy of {update} updates to `manual`"),
        Next::Publish => "publish with a client".to_owned(),
        Next::AllowHost { host } => format!("ask an administrator to allow the host `{host}`"),
        Next::Unknown => return None,
    })
}
