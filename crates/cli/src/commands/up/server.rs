//! Finds the server of this machine, or starts one.

use milepost_client::ClientError;
use milepost_server::Server;

use crate::args::Global;
use crate::context::Context;
use crate::failure::Result;
use crate::output::Ui;
use crate::serve::{self, ServeArgs};

pub enum Found {
    /// A server that was already running. It keeps running when this command ends.
    Running,
    /// A server started by this command, and the options to connect to it.
    Started { global: Global, server: Box<Server> },
}

pub async fn find_or_start(ui: &Ui, global: &Global, args: ServeArgs) -> Result<Found> {
    // Never starts a server in place of a named one.
    if global.server.is_some() {
        return Ok(Found::Running);
    }
    if let Ok(context) = Context::new(ui, global) {
        match context.client.whoami().await {
            Ok(_) => {
                let at = context.client.server().origin().ascii_serialization();
                ui.say(&format!("Using the server at {at}."));
                return Ok(Found::Running);
            }
            // The data folder has the address of a server that was killed.
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
