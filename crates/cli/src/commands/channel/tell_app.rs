//! A line in the app's own log about what happened in a channel, which may be where the server never looks.

use milepost_client::ClientError;
use milepost_model::Code;
use milepost_model::channel::{Publication, PublicationKind};

use crate::context::Context;
use crate::failure::Failure;

/// What is published is published: that it could not be told is no failure.
pub async fn tell_app(context: &Context<'_>, told: &Publication) {
    if let Err(error) = context.client.publication_tell(&context.app, told).await {
        // Whoever takes a version back may do it from anywhere.
        let no_app = matches!(&error, ClientError::Refused(problem) if problem.code == Code::AppNotFound.as_str());
        if no_app && told.done == PublicationKind::Unpublished {
            return;
        }
        let done = match told.done {
            PublicationKind::Published => "published",
            PublicationKind::Unpublished => "unpublished",
        };
        let failure = Failure::from(error);
        context.ui.warn(&format!(
            "{} is {done}, but the history of app {} does not have it: {}",
            told.version,
            context.app,
            failure.message()
        ));
    }
}
