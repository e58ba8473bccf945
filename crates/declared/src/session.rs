//! The app on a server that a folder is compared with, and the requests that need more than one
//! call.

use std::sync::Arc;

use milepost_client::source::Source;
use milepost_client::{Client, ClientError, UploadSummary};
use milepost_model::base::Base;
use milepost_model::change::{Change, UnitKey};
use milepost_model::snapshot::Unit;
use milepost_model::{ChangeOutcome, Code, IdSource, OsIds, UnitKind};

use super::bounds::Private;
use super::error::{Error, Result};
use super::in_flight::InFlight;
use super::reporter::{Activity, Reporter};
use super::scanner::Scanner;

/// Units in one page of a list.
const PAGE: i64 = 1000;

pub struct Session<'a> {
    pub client: &'a Client,
    /// A valid app name.
    pub app: &'a str,
    pub scanner: &'a Scanner,
    pub reporter: &'a dyn Reporter,
    pub in_flight: InFlight,
    pub private: &'a Private,
}

impl Session<'_> {
    /// Sends a change. If the connection breaks before the response, retries once with the same
    /// idempotency key, so that the server applies the change once.
    pub async fn change(&self, change: &Change) -> Result<ChangeOutcome> {
        let mut random = [0u8; 16];
        OsIds.fill(&mut random);
        let key: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let _shown = self.reporter.begin(Activity::Change(change));
        match self.client.change(self.app, change, Some(&key)).await {
            Err(ClientError::Broken(_)) => match self.client.change(self.app, change, Some(&key)).await {
                // The key ends with this call, so a second apply sends a new change. If the first
                // one was applied, the second is empty, unless the command always creates a
                // version.
                Err(error @ (ClientError::Broken(_) | ClientError::Unreachable { .. })) if !change.dry_run => {
                    Err(Error::OutcomeUnknown(error))
                }
                answer => Ok(answer?),
            },
            answer => Ok(answer?),
        }
    }

    /// Uploads what the server is missing of several trees.
    pub async fn upload(&self, sources: Vec<Arc<Source>>) -> Result<UploadSummary> {
        let shown = self.reporter.begin(Activity::Upload);
        let moving = Arc::clone(&shown);
        let progress = Arc::new(move |bytes| moving.advance(bytes));
        Ok(self.client.upload_many(self.app, sources, |total| shown.set_total(total), progress).await?)
    }

    /// Returns all units of a kind.
    pub async fn units(&self, kind: UnitKind) -> Result<Vec<Unit>, ClientError> {
        units(self.client, self.app, Some(kind)).await
    }

    /// Returns all units of the app, or none if the app does not exist.
    pub async fn all_units(&self) -> Result<Vec<Unit>, ClientError> {
        match units(self.client, self.app, None).await {
            Err(ClientError::Refused(problem)) if problem.code == Code::AppNotFound.as_str() => Ok(Vec::new()),
            found => found,
        }
    }

    /// Returns the version of a unit that a change on this base starts from, or none if the base
    /// does not have the unit.
    pub async fn version_on(&self, key: &UnitKey, on: Base) -> Result<Option<String>, ClientError> {
        if on == Base::Head {
            return Ok(Some("latest".to_owned()));
        }
        let live = self.client.app_version_get(self.app, "live").await?;
        let held = live.objects.iter().find(|object| object.kind == key.kind && object.name == key.name);
        Ok(held.map(|object| object.number.to_string()))
    }
}

async fn units(client: &Client, app: &str, kind: Option<UnitKind>) -> Result<Vec<Unit>, ClientError> {
    let mut found = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = client.unit_list(app, kind, PAGE, cursor.as_deref()).await?;
        found.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            return Ok(found);
        }
    }
}
