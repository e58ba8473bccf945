//! The request and response bodies shared by the server and the client. Types that are also part of
//! the model (versions, changes, releases, events) come from there.

use milepost_model::diff::UnitDiff;
use milepost_model::pointer::Alias;
use milepost_model::refusal::{Facts, Next, Warning, lenient, lenient_list};
use milepost_model::release::{Live, Release};
use milepost_model::snapshot::{AppObject, AppVersion};
use milepost_model::tree::FileEntry;
use milepost_model::{AppName, Digest, PlanName, Role, Selector, TagName, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The uid of the app version that an artifact was made from.
pub const APP_VERSION_HEADER: &str = "milepost-app-version";
/// A note for the user about a response that is not JSON; may occur several times.
pub const NOTE_HEADER: &str = "milepost-note";

/// One page of a list, with the cursor of the next page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    pub items: Vec<T>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An app in its current state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct App {
    pub name: AppName,
    pub plan: PlanName,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    pub created_by: String,
    /// The uid of the newest app version.
    pub head: Option<String>,
    pub live: Live,
    pub stored_bytes: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewApp {
    pub name: AppName,
    #[serde(default)]
    pub plan: PlanName,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetPlan {
    pub plan: PlanName,
}

/// The app and the effects of a smaller plan, which applies only from the next release on.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanChanged {
    pub app: App,
    pub warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient_list")]
    pub notices: Vec<Warning>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MissingBlobs {
    pub digests: Vec<Digest>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct MissingAnswer {
    pub missing: Vec<Digest>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Uploaded {
    pub blobs: u64,
    pub bytes: u64,
}

/// One file or link of a tree.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeItem {
    pub path: String,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Describe {
    pub description: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetAlias {
    pub version: Selector,
    #[serde(default)]
    pub why: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Why {
    #[serde(default)]
    pub why: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewRelease {
    /// A uid or number of an app version, or a release whose app version is meant; by default the
    /// newest app version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_version: Option<String>,
    #[serde(default)]
    pub why: String,
    /// Loads the functions that latest does not have before the release may become latest and live.
    #[serde(default = "yes")]
    pub check: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Released {
    pub release: Release,
    /// Releases that expired to make room.
    pub expired: Vec<String>,
    pub warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient_list")]
    pub notices: Vec<Warning>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetTag {
    pub release: String,
    #[serde(default)]
    pub why: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tag {
    pub name: TagName,
    pub release: Release,
}

/// Either a release to pin live to, or `follow`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetLive {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    #[serde(default)]
    pub follow: bool,
    /// Makes a release live even if its check is pending or failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    #[serde(default)]
    pub why: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RollBack {
    /// A release, tag or app version; by default the previous target of live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    #[serde(default)]
    pub why: String,
    #[serde(default)]
    pub dry_run: bool,
}

/// What a rollback did or would do: the preflight report.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolledBack {
    pub dry_run: bool,
    pub from: Option<Release>,
    pub to: Release,
    /// The release had expired and was released again under a new id.
    pub released_again: bool,
    pub expired: Vec<String>,
    /// The differences between the previous and the new live release.
    pub changes: Vec<UnitDiff>,
    /// What will not work as before: secrets that no longer exist.
    pub problems: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diff {
    pub from: AppVersion,
    pub to: AppVersion,
    pub changes: Vec<UnitDiff>,
    /// Units that cannot be compared because a version was deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
}

/// What was live at one moment.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AtMoment {
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    pub release: Release,
    pub app_version: AppVersion,
    #[schema(value_type = String, format = DateTime)]
    pub live_since: Timestamp,
    pub objects: Vec<AppObject>,
    /// The targets of the aliases at that time.
    pub aliases: Vec<Alias>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewToken {
    pub name: String,
    pub role: Role,
    /// Restricts the token to this app; without it, the token is valid for all apps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<AppName>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    pub name: String,
    pub role: Role,
    pub app: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    pub created_by: String,
    /// The token itself: shown only once, when it is created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhoAmI {
    pub name: String,
    pub role: Role,
    pub app: Option<String>,
    /// The version of the server.
    pub server: String,
}

/// What keeps a blob from being deleted.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeptBy {
    pub digest: Digest,
    pub kept_by: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Swept {
    /// Executions deleted because they ended longer ago than the plan keeps them.
    #[serde(default)]
    pub executions: u64,
    pub versions: u64,
    pub contents: u64,
    pub blobs: u64,
    pub bytes: u64,
    pub packs: u64,
    /// Packages that no longer run on this server and whose local copies were deleted.
    #[serde(default)]
    pub packages: u64,
}

/// The result of calling a webhook.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Invoked {
    /// The id of the queued execution.
    pub execution: String,
}

/// An API error (RFC 9457).
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    pub status: u16,
    /// A stable code; see `docs/reference/errors.md`.
    pub code: String,
    pub detail: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<String>,
    /// What the caller can do, as data; `hint` says it in neutral words.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient_list")]
    pub next: Vec<Next>,
    /// What `detail`, `hint` and `blockers` are made from.
    #[serde(default, skip_serializing_if = "Facts::is_empty", deserialize_with = "lenient")]
    pub facts: Box<Facts>,
}

/// Written by a running server to its data folder, so that the CLI on the same machine can find it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerFile {
    pub api: String,
    /// The address of the gateway, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    pub pid: u32,
}

/// One line of a function's output, or of the runtime's messages about the function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogEntry {
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    pub function: String,
    /// The number of the function version.
    pub number: i64,
    pub uid: String,
    /// The number of the instance, counted from the start of the server.
    pub instance: u64,
    /// The request that was running, if that is certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    pub source: LogSource,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogSource {
    Stdout,
    Stderr,
    /// Written by Milepost: started, crashed, timed out, output dropped.
    Runtime,
}

/// The current activity of an app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppStatus {
    pub app: String,
    pub live: Live,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest: Option<Release>,
    #[serde(default)]
    pub urls: AppUrls,
    pub functions: Vec<FunctionStatus>,
}

/// The addresses of an app, if the server has a gateway.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppUrls {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest: Option<String>,
}

/// One version of a function on this server. Counters start with the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FunctionStatus {
    pub name: String,
    pub number: i64,
    pub uid: String,
    pub instances: u64,
    pub busy: u64,
    pub queued: u64,
    pub requests: u64,
    pub errors: u64,
    #[serde(default)]
    pub recent_errors: Vec<RecentError>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecentError {
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The request id, for finding its log lines.
    pub request: String,
    pub message: String,
}

/// The server's facts about itself and its machine, for `milepost doctor`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SystemFacts {
    pub version: String,
    #[schema(value_type = String, format = DateTime)]
    pub now: Timestamp,
    /// By how many milliseconds that is ahead of the database's clock.
    #[serde(default)]
    pub clock_ahead_ms: i64,
    /// Free bytes on the disk of the data folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_free: Option<u64>,
    /// The address of the gateway, if there is one.
    pub gateway: Option<String>,
    pub domain: String,
    pub database: DatabaseFacts,
    pub blobs: BlobsFacts,
    pub runtimes: Vec<RuntimeFacts>,
    pub sandbox: Vec<SandboxFact>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatabaseFacts {
    pub engine: String,
    pub ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlobsFacts {
    pub ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// One kind of runtime on the server's machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeFacts {
    pub runtime: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The path of its interpreter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Why it cannot be used, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The package installer for builds, like `pip 24.0`; none if it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installer: Option<String>,
}

/// One sandbox protection, and whether this machine supports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxFact {
    pub name: String,
    pub in_force: bool,
    pub detail: String,
}
