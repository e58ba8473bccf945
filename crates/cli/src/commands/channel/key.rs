use std::path::PathBuf;

use clap::Args;
use milepost_channels::SecretKey;
use serde_json::json;

use super::place::{default_key_file, load_key};
use crate::failure::{Failure, Result};
use crate::output::Ui;

/// Make the key that signs your channels, or show its public half
///
/// `publish` uses it by itself from then on. Whoever installs from your channel with `--key` and the public half refuses what
/// you did not sign. Keep a copy of the file: without it the channel cannot be continued. `minisign` reads both files.
#[derive(Debug, Args)]
pub struct KeyArgs {
    /// Where the secret half is; the public half is next to it, with `.pub` [default: ~/.config/milepost/channel.key]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Protect a new key with a password: `MILEPOST_KEY_PASSWORD`, or asked for
    #[arg(long)]
    password: bool,
}

pub fn run(ui: &Ui, args: KeyArgs) -> Result<()> {
    let homeless = || Failure::usage("there is no home folder").hint("name a file");
    let file = args.file.or_else(default_key_file).ok_or_else(homeless)?;
    let made = !file.exists();
    let key = if made { make(ui, &file, args.password)? } else { load_key(ui, &file)? };
    if made {
        ui.say(&format!("Made a key. Keep a copy of {}: without it nobody can continue the channel.", file.display()));
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
                return Err(Failure::usage("the two are not the same").hint("run it again"));
            }
            Some(first)
        }
        (true, None) => {
            return Err(Failure::usage("there is no terminal to ask for a password").hint("set MILEPOST_KEY_PASSWORD"));
        }
    };
    if password.as_deref().is_some_and(str::is_empty) {
        return Err(Failure::usage("the password is empty").hint("leave out `--password` for a key without one"));
    }
    Ok(SecretKey::create(file, password.as_deref())?)
}
