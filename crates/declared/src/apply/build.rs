//! Runs builds on the server, several at once.

use futures::{StreamExt, TryStreamExt};
use milepost_model::build::{BuildEvent, BuildRequest};

use crate::error::{Error, Result};
use crate::reporter::Builds;
use crate::session::Session;

/// Concurrent requests. The server decides how many of them run at once.
const AT_ONCE: usize = 4;

/// Runs all builds. If one fails, the others are dropped, which cancels them.
pub async fn all(session: &Session<'_>, requests: Vec<BuildRequest>) -> Result<()> {
    if requests.is_empty() {
        return Ok(());
    }
    let shown = session.reporter.builds(requests.len());
    let builds = futures::stream::iter(requests).map(|request| one(session, &*shown, request));
    builds.buffer_unordered(AT_ONCE).try_for_each(|()| std::future::ready(Ok(()))).await
}

async fn one(session: &Session<'_>, shown: &dyn Builds, request: BuildRequest) -> Result<()> {
    let package = request.package.clone();
    shown.begin(&package);
    let mut events = std::pin::pin!(session.client.build(session.app, &request).await?);
    let mut started = None;
    while let Some(event) = events.next().await {
        let event = event?;
        shown.event(&package, &event);
        match event {
            BuildEvent::Waiting | BuildEvent::Log { .. } => {}
            BuildEvent::Started { id, .. } => started = Some(id),
            BuildEvent::Done { .. } => return Ok(()),
            BuildEvent::Failed { id, reason } => {
                let app = session.app.to_owned();
                return Err(Error::BuildFailed { app, package, id: id.or(started), reason });
            }
        }
    }
    Err(Error::BuildUnfinished { package })
}
