use milepost_model::Next;
use milepost_model::suggest::or_list;

use super::{field, view};

/// All steps on one line. None if there is none, or one of a newer server. `app` is the option that
/// names the app.
pub fn hint(next: &[Next], app: &str) -> Option<String> {
    let steps: Vec<String> = next.iter().map(|next| step(next, app)).collect::<Option<_>>()?;
    (!steps.is_empty()).then(|| steps.join("; "))
}

pub fn step(next: &Next, app: &str) -> Option<String> {
    Some(match next {
        Next::DidYouMean { names } => format!("did you mean {}?", or_list(names)),
        Next::Correct { how } => how.clone(),
        Next::Retry => "run the command again".to_owned(),
        Next::Wait => "run the command again later".to_owned(),
        Next::See { view } => view::phrase(view, app)?,
        Next::Give { field } => format!("pass {}", field::option(*field)?),
        Next::LeaveOut { field } => format!("leave out {}", field::name(*field)?),
        Next::Expect { app_version } => format!("send the change again with `--expect {app_version}`"),
        Next::ReadServerLog => "see the server's log for the cause".to_owned(),
        Next::CreateApp { app } => format!("create it with `milepost app create {app}`"),
        Next::LargerPlan { app } => {
            format!("move the app to a larger plan with `milepost plan set{} PLAN`", crate::folders::app_option(app))
        }
        Next::Deploy => format!("deploy code with `milepost deploy{app}`"),
        Next::Build => format!("build it first: `milepost deploy{app}` and `milepost package version create{app}` do"),
        Next::SetConfig => format!("set a key with `milepost config set KEY=VALUE{app}`"),
        Next::SetSecret { name } => format!("set it with `milepost secret set {name}{app}`"),
        Next::CreateEnvironment => format!("create one with `milepost environment create{app}`"),
        Next::UpdateUnit { kind, name } => match kind {
            milepost_model::UnitKind::Function | milepost_model::UnitKind::Package => {
                format!("create a new version with `milepost {kind} version update {name}{app}`")
            }
            _ => format!("create a new version with `milepost {kind} update{app}`"),
        },
        Next::DeleteJobsAndWebhooks => {
            format!("delete them with `milepost job delete{app}` and `milepost webhook delete{app}`")
        }
        Next::MoveAlias { function, alias } => {
            format!("move it with `milepost function alias update {function} {alias} VERSION{app}`")
        }
        Next::CreateRelease { of: Some(of) } => format!("release it with `milepost release create {of}{app}`"),
        Next::CreateRelease { of: None } => format!("release the app with `milepost release create{app}`"),
        Next::MakeLive { release, force } => {
            let release = release.as_deref().unwrap_or("RELEASE");
            let (force, anyway) = if *force { (" --force", " anyway") } else { ("", "") };
            format!("put it live{anyway} with `milepost release live {release}{force}{app}`")
        }
        Next::FollowLatest => format!("let live follow new releases with `milepost release live --follow{app}`"),
        Next::KeepLive => format!("keep what is live with `milepost release live live{app}`"),
        Next::RollBackTo { target } => {
            format!("go back to what was live before that with `milepost rollback {target}{app}`")
        }
        Next::Untag => format!("remove a tag with `milepost release untag TAG{app}`"),
        Next::CancelExecution { id } => format!("end it with `milepost execution cancel {id}{app}`"),
        Next::CreateJob => format!("create a new one with `milepost job create{app}`"),
        Next::RotateWebhook => format!("give it a new one with `milepost webhook rotate{app}`"),
        Next::CreateSignedWebhook => {
            format!("generate one with `openssl rand -hex 32` or `milepost webhook create --signed{app}`")
        }
        Next::CreateToken { role: Some(role) } => {
            format!("create a token with `milepost token create NAME --role {role}`")
        }
        Next::CreateToken { role: None } => "create a token with `milepost token create`".to_owned(),
        Next::CheckToken => "check `--token` or MILEPOST_TOKEN".to_owned(),
        Next::InstallFromChannel => "install an app with `milepost install --channel URL`".to_owned(),
        Next::InstallVersion => "name a version, like `milepost install NAME:1.2.3 --channel URL`".to_owned(),
        Next::InstallBundle => "run `milepost install --bundle FILE`".to_owned(),
        Next::Upgrade => format!("install another version with `milepost upgrade{app}`"),
        Next::UpgradeTo => "name a version with `--to VERSION`".to_owned(),
        Next::UpgradeFromBundle => format!("run `milepost upgrade --bundle FILE{app}`"),
        Next::InstallAs { app: Some(app) } => format!("install it under another name with `--app {app}`"),
        Next::InstallAs { app: None } => "install it under another name with `--app NAME`".to_owned(),
        Next::LiftHold { app, version: Some(version) } => {
            format!("allow it again with `milepost install lift {app} --version {version}`")
        }
        Next::LiftHold { app, version: None } => format!("lift the hold with `milepost install lift {app}`"),
        Next::UpgradeByHand { app, update } => {
            format!("change the policy with `milepost install policy {app} --policy {update}=manual`")
        }
        Next::Publish => "publish with `milepost publish`".to_owned(),
        Next::AllowHost { host } => {
            format!("ask an administrator, who can allow the host with `milepost serve --install-from {host}`")
        }
        Next::Unknown => return None,
    })
}
