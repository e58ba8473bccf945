use milepost_model::UnitKind;
use milepost_model::refusal::View;

/// The command that shows it. `app` is the option that names the app.
pub fn phrase(view: &View, app: &str) -> Option<String> {
    let (command, what) = match view {
        View::Apps => return Some("run `milepost app list` to see the apps on this server".to_owned()),
        View::AppVersions => ("app list-version".to_owned(), "the app versions"),
        View::AppHistory => ("app history".to_owned(), "what happened to the app"),
        View::Releases => ("release list".to_owned(), "the releases"),
        View::Release { name } => (format!("release show {name}"), "its state"),
        View::ReleaseHistory => ("release history".to_owned(), "how live moved"),
        View::Versions { kind: UnitKind::Config, .. } => ("config version list".to_owned(), "the versions"),
        View::Versions { kind, name } => (format!("{kind} version list {name}"), "the versions"),
        View::Aliases { function: Some(function) } => (format!("function alias list {function}"), "the aliases"),
        View::Aliases { function: None } => ("function alias list FUNCTION".to_owned(), "the aliases of a function"),
        View::AliasHistory { function, alias } => {
            (format!("function alias history {function} {alias}"), "how it moved")
        }
        View::Differences { from, to } => (format!("diff {from} {to}"), "what changed"),
        View::Units { kind } => (format!("{kind} list"), "what exists"),
        View::Groups => ("group list".to_owned(), "the groups"),
        View::Executions => ("execution list".to_owned(), "the executions that are kept"),
        View::QueuedExecutions => ("execution list --status queued".to_owned(), "the queue"),
        View::Execution { id } => (format!("execution get {id}"), "how it ended"),
        View::Jobs => ("job list".to_owned(), "the jobs"),
        View::Webhooks => ("webhook list".to_owned(), "the webhooks"),
        View::Tokens => return Some("run `milepost token list` to see the tokens".to_owned()),
        View::Installs => return Some("run `milepost install list` to see the installed apps".to_owned()),
        View::InstallStatus => ("install status".to_owned(), "its state"),
        View::InstallForms => return Some("run `milepost install --help` to see the valid forms".to_owned()),
        View::PolicyForms => return Some("run `milepost install policy --help` to see the valid forms".to_owned()),
        View::ChannelKey => {
            return Some("run `milepost channel key` to print the public key of an author".to_owned());
        }
        View::Channels => return Some("run `milepost channel list` to see the channels of this server".to_owned()),
        View::RequestLog { id } => (format!("logs --request {id}"), "its output"),
        View::Reference => return Some("see the reference of the API at /api/v1/docs".to_owned()),
        View::Unknown => return None,
    };
    Some(format!("run `milepost {command}{app}` to see {what}"))
}
