//! Next steps in the words of the v1 interface. A step that its clients cannot take has none.

use milepost_model::refusal::{Field, Refusal, View};
use milepost_model::suggest::or_list;
use milepost_model::{Code, Next};

/// The steps as sentences, after the message.
pub(super) fn sentences(refusal: &Refusal) -> Vec<String> {
    let steps = match refusal.code {
        Code::TooManyRunning => {
            vec!["send it with sync=false, and it waits for its turn, or try again later".to_owned()]
        }
        Code::ExecutionNotEnded => {
            vec!["cancel it by setting its status to cancelled, or delete it once it has ended".to_owned()]
        }
        _ => refusal.next.iter().filter_map(step).collect(),
    };
    steps.iter().map(|step| sentence(step)).collect()
}

/// A capital and a full stop: the interface shows sentences.
pub(super) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

/// Names what uses something, with a bound for long lists.
pub(super) fn used_by(blockers: &[String]) -> String {
    const MOST: usize = 5;
    let shown = &blockers[..blockers.len().min(MOST)];
    let rest = blockers.len() - shown.len();
    let more = if rest > 0 { format!(", and {rest} more") } else { String::new() };
    format!("Used by: {}{more}.", shown.join(", "))
}

fn step(next: &Next) -> Option<String> {
    Some(match next {
        Next::DidYouMean { names } => format!("did you mean {}?", or_list(names)),
        Next::Correct { how } => how.clone(),
        Next::Retry => "send the request again".to_owned(),
        Next::Wait => "try again later".to_owned(),
        Next::See { view } => return look(view),
        Next::Give { field } => return give(*field),
        Next::LeaveOut { .. } | Next::Expect { .. } => return None,
        Next::ReadServerLog => "see the server's log for the cause".to_owned(),
        Next::LargerPlan { .. } => "ask an administrator to move the project to a larger plan".to_owned(),
        Next::DeleteJobsAndWebhooks => "delete the jobs and webhooks".to_owned(),
        Next::MoveAlias { .. } => "update the alias instead".to_owned(),
        Next::CancelExecution { .. } => "cancel it by setting its status to cancelled".to_owned(),
        Next::CreateJob => "create a new job".to_owned(),
        Next::CreateToken { .. } => "send a token with the role that is needed".to_owned(),
        Next::CheckToken => "check the token: it may have been deleted, or belong to another server".to_owned(),
        Next::CreateEnvironment => "create a runtime first".to_owned(),
        Next::CreateApp { .. }
        | Next::Deploy
        | Next::Build
        | Next::SetConfig
        | Next::SetSecret { .. }
        | Next::UpdateUnit { .. }
        | Next::CreateRelease { .. }
        | Next::MakeLive { .. }
        | Next::FollowLatest
        | Next::KeepLive
        | Next::RollBackTo { .. }
        | Next::Untag
        | Next::RotateWebhook
        | Next::CreateSignedWebhook
        | Next::InstallFromChannel
        | Next::InstallVersion
        | Next::InstallBundle
        | Next::Upgrade
        | Next::UpgradeTo
        | Next::UpgradeFromBundle
        | Next::InstallAs { .. }
        | Next::LiftHold { .. }
        | Next::UpgradeByHand { .. }
        | Next::Publish
        | Next::AllowHost { .. }
        | Next::Unknown => return None,
    })
}

fn look(view: &View) -> Option<String> {
    let what = match view {
        View::Versions { .. } => "function versions",
        View::Aliases { .. } => "function aliases",
        View::Executions | View::QueuedExecutions | View::Execution { .. } => "executions",
        View::Jobs => "jobs",
        View::Webhooks => "webhooks",
        View::Units { .. } => "functions and runtimes",
        View::Apps
        | View::AppVersions
        | View::AppHistory
        | View::Releases
        | View::Release { .. }
        | View::ReleaseHistory
        | View::AliasHistory { .. }
        | View::Differences { .. }
        | View::Groups
        | View::Tokens
        | View::Installs
        | View::InstallStatus
        | View::InstallForms
        | View::PolicyForms
        | View::ChannelKey
        | View::Channels
        | View::RequestLog { .. }
        | View::Reference
        | View::Unknown => return None,
    };
    Some(format!("list the {what} to see what exists"))
}

fn give(field: Field) -> Option<String> {
    let what = match field {
        Field::Code | Field::Source => "the code of the function",
        Field::Environment => "the runtime",
        Field::Cron => "a pattern",
        Field::FirstAt => "first_execution_time",
        Field::Count => "count",
        Field::Async => "sync=false",
        Field::Expect
        | Field::OnLive
        | Field::NoRelease
        | Field::NoCheck
        | Field::AllowConflicts
        | Field::BuildCommand
        | Field::Secrets
        | Field::Key
        | Field::Health
        | Field::Unused
        | Field::App
        | Field::Now
        | Field::Channel
        | Field::Unknown => return None,
    };
    Some(format!("give {what}"))
}
