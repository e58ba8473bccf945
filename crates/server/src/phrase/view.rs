use milepost_model::refusal::View;

pub(super) fn phrase(view: &View) -> Option<String> {
    Some(match view {
        View::Apps => "see the apps on this server".to_owned(),
        View::AppVersions => "see the versions of the app".to_owned(),
        View::AppHistory => "see the history of the app".to_owned(),
        View::Releases => "see the releases of the app".to_owned(),
        View::Release { name } => format!("see the state of release `{name}`"),
        View::ReleaseHistory => "see the history of live".to_owned(),
        View::Versions { kind, name } => format!("see the versions of {kind} `{name}`"),
        View::Aliases { function: Some(function) } => format!("see the aliases of function `{function}`"),
        View::Aliases { function: None } => "see the aliases of the function".to_owned(),
        View::AliasHistory { function, alias } => {
            format!("see the history of alias `{alias}` of function `{function}`")
        }
        View::Differences { from, to } => format!("compare `{from}` with `{to}` to see what changed"),
        View::Units { kind } => format!("see the units of kind {kind}"),
        View::Groups => "see the groups of the app".to_owned(),
        View::Executions => "see the executions that are kept".to_owned(),
        View::QueuedExecutions => "see the queued executions".to_owned(),
        View::Execution { id } => format!("see execution `{id}`"),
        View::Jobs => "see the jobs of the app".to_owned(),
        View::Webhooks => "see the webhooks of the app".to_owned(),
        View::Tokens => "see the tokens".to_owned(),
        View::Installs => "see the installed apps".to_owned(),
        View::InstallStatus => "see the state of the install".to_owned(),
        View::InstallForms | View::PolicyForms | View::Reference => {
            "see the reference at /api/v1/docs for the valid forms".to_owned()
        }
        View::ChannelKey => "ask the author for the public key".to_owned(),
        View::Channels => "see the channels of this server".to_owned(),
        View::RequestLog { id } => format!("see the log lines of request `{id}`"),
        View::Unknown => return None,
    })
}
