//! Records a publish or unpublish in the app's history. The server cannot see it by itself: the
//! channel may be anywhere.

use milepost_client::ClientError;
use milepost_model::Code;
use milepost_model::channel::{Publication, PublicationKind};

use crate::context::Context;
use crate::failure::Failure;

/// Only warns on errors: the publication itself has succeeded.
pub async fn tell_app(context: &Context<'_>, publication: &Publication) {
    if let Err(error) = context.client.publication_tell(&context.app, publication).await {
        // A version can be unpublished with a server that does not have the app.
        let no_app = matches!(&error, ClientError::Refused(problem) if problem.code == Code::AppNotFound.as_str());
        if no_app && publication.done == PublicationKind::Unpublished {
            return;
        }
        let done = match publication.done {
            PublicationKind::Published => "published",
            PublicationKind::Unpublished => "unpublished",
        };
        let failure = Failure::from(error);
        context.ui.warn(&format!(
            "{} is {done}, but could not be recorded in the history of app {}: {}",
            publication.version,
            context.app,
            failure.message()
        ));
    }
}
