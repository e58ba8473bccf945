//! What a caller can do about a refusal: steps with their names, which each front end phrases in
//! its own words.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::sampled::sampled;
use crate::UnitKind;

sampled! {
    /// A step. A front end phrases every one of them, in a `match` without a wildcard.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    #[serde(tag = "step", rename_all = "camelCase", rename_all_fields = "camelCase")]
    pub enum Next {
        /// Existing names that are close to the unknown one.
        DidYouMean { names: Vec<String> },
        /// Change the request as this sentence says. It names no command, option or address, so
        /// that it holds for every front end: a valid form, a bound, a name that is free.
        Correct { how: String },
        /// Send the same request again.
        Retry,
        /// Send it again when what is in the way has ended.
        Wait,
        /// Look at something first.
        See { view: View },
        Give { field: Field },
        LeaveOut { field: Field },
        /// Send the change again, based on this app version.
        Expect { app_version: String },
        ReadServerLog,
        CreateApp { app: String },
        LargerPlan { app: String },
        Deploy,
        /// Build the packages first.
        Build,
        SetConfig,
        SetSecret { name: String },
        CreateEnvironment,
        /// Make a new version of an existing unit.
        UpdateUnit { kind: UnitKind, name: String },
        DeleteJobsAndWebhooks,
        MoveAlias { function: String, alias: String },
        /// Release an app version; without one, the newest.
        CreateRelease { of: Option<String> },
        /// Put a release live; without one, any.
        MakeLive { release: Option<String>, force: bool },
        FollowLatest,
        /// Pin live to what it is at.
        KeepLive,
        RollBackTo { target: String },
        Untag,
        CancelExecution { id: String },
        CreateJob,
        RotateWebhook,
        CreateSignedWebhook,
        /// Create a token with this role or a higher one.
        CreateToken { role: Option<String> },
        CheckToken,
        /// Install from the author's channel.
        InstallFromChannel,
        /// Install one version of a package.
        InstallVersion,
        InstallBundle,
        Upgrade,
        UpgradeTo,
        UpgradeFromBundle,
        /// Install under another name.
        InstallAs { app: Option<String> },
        /// Lift a hold; with a version, only that it is skipped.
        LiftHold { app: String, version: Option<String> },
        /// Upgrade this step by hand only.
        UpgradeByHand { app: String, update: String },
        Publish,
        AllowHost { host: String },
        /// A step of a newer server.
        #[serde(other)]
        Unknown,
    }
}

sampled! {
    /// A field of a request. The command line has an option for it, the API a member.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "camelCase")]
    pub enum Field {
        Expect,
        OnLive,
        NoRelease,
        NoCheck,
        AllowConflicts,
        /// The code of a function: a file, a folder, an archive or a package.
        Code,
        Source,
        BuildCommand,
        Environment,
        /// The values of secrets.
        Secrets,
        /// The author's public key.
        Key,
        Health,
        /// Queue an execution.
        Async,
        /// The pattern of a job.
        Cron,
        FirstAt,
        Count,
        /// Delete an app even if it has versions.
        Unused,
        /// The name of the app.
        App,
        /// Outside of the windows, and in spite of denies.
        Now,
        /// The address of a channel.
        Channel,
        #[serde(other)]
        Unknown,
    }
}

sampled! {
    /// What a front end can show.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    #[serde(tag = "show", rename_all = "camelCase", rename_all_fields = "camelCase")]
    pub enum View {
        Apps,
        AppVersions,
        AppHistory,
        Releases,
        Release { name: String },
        ReleaseHistory,
        Versions { kind: UnitKind, name: String },
        /// The aliases of a function, or of all.
        Aliases { function: Option<String> },
        AliasHistory { function: String, alias: String },
        Differences { from: String, to: String },
        Units { kind: UnitKind },
        Groups,
        Executions,
        QueuedExecutions,
        Execution { id: String },
        Jobs,
        Webhooks,
        Tokens,
        Installs,
        InstallStatus,
        /// How to write what is to be installed.
        InstallForms,
        /// How to write upgrade policies.
        PolicyForms,
        /// The public key of an author.
        ChannelKey,
        /// The channels of this server.
        Channels,
        /// Log lines of one request.
        RequestLog { id: String },
        /// The reference of the API.
        Reference,
        #[serde(other)]
        Unknown,
    }
}
