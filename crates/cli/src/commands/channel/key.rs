use std::path::PathBuf;

use clap::Args;
use milepost_channels::SecretKey;
use serde_json::json;

use super::place::{default_key_file, load_key};
use crate::failure::{Failure, Result};
use crate::output::Ui;

/// Create the key that signs your channels, or show its public key
///
/// From then on `milepost publish` signs with it. Users who install with `--key PUBLIC` refuse
/// content that you did not sign. Back up the secret key file: without it you cannot publish to the
/// channel any more. Both files are in minisign format.
#[derive(Debug, Args)]
pub struct KeyArgs {
    /// Secret key file [default: ~/.config/milepost/channel.key]
    ///
    /// The public key is next to it, with the extension `.pub`.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Protect a new key with a password, from MILEPOST_KEY_PASSWORD or a prompt
    #[arg(long)]
    password: bool,
}

pub fn run(ui: &Ui, args: KeyArgs) -> Result<()> {
    let homeless = || Failure::usage("the home folder is unknown").hint("set HOME, or name a file");
    let file = args.file.or_else(default_key_file).ok_or_else(homeless)?;
    let made = !file.exists();
    let key = if made { make(ui, &file, args.password)? } else { load_key(ui, &file)? };
    if made {
        ui.say(&format!("Created a key. Back up {}: you cannot publish to the channel without it.", file.display()));
    }
    let report = json!({
        "publicKey": key.public(),
        "id": key.public().id(),
        "file": file,
        "made": made,
    });
    let public = key.public().to_string();
    ui.show(
        &report,
        |_| vec![public.clone()],
        |_| format!("Key     {}\nPublic  {public}\nSecret  {}", key.public().id(), file.display()),
    )
}

fn make(ui: &Ui, file: &std::path::Path, protected: bool) -> Result<SecretKey> {
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    let given = std::env::var("MILEPOST_KEY_PASSWORD").ok();
    let password = match (protected, given) {
        (false, _) => None,
        (true, Some(given)) => Some(given),
        (true, None) if ui.can_ask() => {
            let first = rpassword::prompt_password("Password: ")?;
            if rpassword::prompt_password("Again: ")? != first {
                return Err(Failure::usage("the passwords do not match").hint("run the command again"));
            }
            Some(first)
        }
        (true, None) => {
            return Err(Failure::usage("no terminal to prompt for the password").hint("set MILEPOST_KEY_PASSWORD"));
        }
    };
    if password.as_deref().is_some_and(str::is_empty) {
        return Err(Failure::usage("the password is empty").hint("leave out `--password` for a key without one"));
    }
    Ok(SecretKey::create(file, password.as_deref())?)
}
