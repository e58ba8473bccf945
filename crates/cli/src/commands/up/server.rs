//! The server of this machine, or one of our own.

use milepost_client::ClientError;
use milepost_server::Server;

use crate::args::Global;
use crate::context::Context;
use crate::failure::Result;
use crate::output::Ui;
use crate::serve::{self, ServeArgs};

pub enum Found {
    /// Somebody else's: it stays when we go.
    Running,
    /// Ours, with the options by which it is found.
    Started { global: Global, server: Box<Server> },
}

pub async fn find_or_start(ui: &Ui, global: &Global, args: ServeArgs) -> Result<Found> {
    // A server that is named must be there; nobody asked for another.
    if global.server.is_some() {
        return Ok(Found::Running);
    }
    if let Ok(context) = Context::new(ui, global) {
        match context.client.whoami().await {
            Ok(_) => {
                let at = context.client.server().origin().ascii_serialization();
                ui.say(&format!("Using the server that runs at {at}."));
                return Ok(Found::Running);
            }
            // What is left in the data folder by a server that was killed.
            Err(ClientError::Unreachable { .. } | ClientError::Broken(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    serve::start_logging("warn");
    let server = serve::start(global, args).await?;
    ui.say(&format!("Started a server at http://{}, data in {}.", server.address(), server.data().display()));
    let global = Global { data: Some(server.data().to_owned()), ..global.clone() };
    Ok(Found::Started { global, server: Box::new(server) })
}
