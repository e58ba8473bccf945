//! Secrets that an artifact needs: from options, or from a prompt.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use milepost_client::ClientError;
use milepost_client::api::Problem;
use milepost_model::unit_put::SecretPut;
use milepost_model::{Code, UnitKind, UnitName};

use crate::commands::shared::parse_pair;
use crate::context::Context;
use crate::failure::{Failure, Result};

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Input options")]
pub struct SecretArgs {
    /// Set a secret of the app (can be repeated)
    ///
    /// The shell history keeps the value. Prefer `--secret-file`.
    #[arg(long = "secret", value_name = "NAME=VALUE", value_parser = parse_pair)]
    secrets: Vec<(String, String)>,
    /// Set a secret of the app from a file (can be repeated)
    #[arg(long = "secret-file", value_name = "NAME=FILE", value_parser = parse_pair)]
    secret_files: Vec<(String, String)>,
}

impl SecretArgs {
    pub fn read(&self) -> Result<BTreeMap<UnitName, SecretPut>> {
        let mut read = BTreeMap::new();
        for (name, value) in &self.secrets {
            add(&mut read, name, value.clone())?;
        }
        for (name, file) in &self.secret_files {
            let path = PathBuf::from(file);
            let text = std::fs::read_to_string(&path).map_err(|error| Failure::unreadable(&path, &error))?;
            // `echo` and editors add a newline, which is hardly ever part of the secret.
            add(&mut read, name, text.strip_suffix('\n').unwrap_or(&text).to_owned())?;
        }
        Ok(read)
    }
}

fn add(read: &mut BTreeMap<UnitName, SecretPut>, name: &str, value: String) -> Result<()> {
    let name = UnitName::for_kind(UnitKind::Secret, name)?;
    if value.is_empty() {
        return Err(Failure::usage(format!("the value of secret `{name}` is empty")).hint("give a value"));
    }
    match read.insert(name.clone(), SecretPut { value }) {
        None => Ok(()),
        Some(_) => Err(Failure::usage(format!("secret `{name}` is given twice")).hint("give it once")),
    }
}

/// Prompts for the secrets that the server reported as missing. Returns false if the error is a
/// different one, or if there is no terminal to ask on.
pub fn ask_for(
    context: &Context<'_>,
    error: &ClientError,
    secrets: &mut BTreeMap<UnitName, SecretPut>,
) -> Result<bool> {
    let ClientError::Refused(problem) = error else { return Ok(false) };
    let Problem { code, detail, blockers, .. } = &**problem;
    if *code != Code::MissingInputs.as_str() || blockers.is_empty() || !context.ui.can_ask() {
        return Ok(false);
    }
    context.ui.say(detail);
    for name in blockers {
        add(secrets, name, rpassword::prompt_password(format!("Value of {name}: "))?)?;
    }
    Ok(true)
}
