//! Changes from command-line options, and files that commands write.

use std::path::Path;
use std::sync::Arc;

use milepost_client::source::Source;
use milepost_declared::{apply, write};
use milepost_model::change::Change;

use super::Terminal;
use super::interrupt::stoppable;
use crate::commands::shared;
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::output::Ui;
use crate::phrase;

/// Sends a change with packages made of these files, runs the necessary builds, and prints the
/// result.
pub async fn send(context: &Context<'_>, change: Change, sources: Vec<Arc<Source>>) -> Result<()> {
    let terminal = Terminal::new(context);
    let session = terminal.session();
    let work = async { apply::land_change(&session, change, sources).await.map_err(Failure::from) };
    let outcome = stoppable(context.ui, &session.in_flight, work).await?;
    shared::show(context, &phrase::outcome(&context.app, outcome)).await
}

/// Writes a new file, and prints its path.
pub fn write_told(ui: &Ui, path: &Path, text: &str) -> Result<()> {
    write::write_new(path, text)?;
    ui.say(&format!("Wrote {}", path.display()));
    Ok(())
}
