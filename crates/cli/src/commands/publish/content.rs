//! Selects the app version to publish. The folder determines the app. Unless an app version is
//! named, the folder must match what is live.

use std::path::Path;

use milepost_client::ClientError;
use milepost_declared::apply::differs::{self, Compared};
use milepost_declared::files::shown;
use milepost_declared::{Declared, look_at_manifest};
use milepost_model::Code;

use crate::args::Global;
use crate::commands::deploy::with_app;
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::folders::{Terminal, mistakes};

/// Reads the manifest. With a named app version only the app's name is used, so mistakes elsewhere
/// in the manifest are ignored.
pub fn read(dir: &Path, names_version: bool) -> Result<Declared> {
    let (declared, errors) = look_at_manifest(dir)?;
    if errors.is_empty() || (names_version && !declared.unread.app) {
        return Ok(declared);
    }
    Err(mistakes(errors, declared.warnings))
}

/// Selects the app of the folder. Publishing cannot be undone, so an option that names another app
/// is an error.
pub fn app(global: &Global, declared: &Declared) -> Result<Global> {
    if let (Some(given), Some(own)) = (&global.app, &declared.app)
        && given != own.as_str()
    {
        let origin = declared.origin.display();
        let (option, hint) = if global.app_is_from_environment {
            ("MILEPOST_APP", format!("unset MILEPOST_APP to publish app `{own}`"))
        } else {
            ("`--app`", format!("remove `--app` to publish app `{own}`"))
        };
        let message = format!("{option} names app `{given}`, but `{origin}` describes app `{own}`");
        return Err(Failure::usage(message).hint(format!("{hint}, or give the folder of app `{given}`")));
    }
    Ok(with_app(global, declared))
}

/// Returns the app version that is live, or an inner error that lists how the folder differs from
/// it.
pub async fn live(context: &Context<'_>, declared: &Declared) -> Result<Result<String>> {
    let (app, folder) = (&context.app, shown(&declared.folder));
    let live = match context.client.app_version_get(app, "live").await {
        Err(ClientError::Refused(problem)) if problem.code == Code::AppVersionNotFound.as_str() => {
            return Err(Failure::new(format!("app `{app}` has no live release"))
                .hint(format!("run `milepost deploy {folder}` first, or name an app version with `--app-version`")));
        }
        found => found?,
    };
    let Compared { differences, is_head } = match differs::compare(&Terminal::new(context).session(), declared, &live)
        .await
    {
        Err(error) if error.code() == Some(Code::Forbidden) => {
            return Err(Failure::from(error).hint(
                "comparing the folder with what is live needs the role `deployer`; to publish what is live without comparing, use \
                 `--app-version live`",
            ));
        }
        compared => compared?,
    };
    if differences.is_empty() {
        return Ok(Ok(live.id));
    }
    let hint = if is_head {
        "the folder matches the newest app version, which is not live; publish it with `--app-version head`, or publish what is \
         live with `--app-version live`"
            .to_owned()
    } else {
        format!("run `milepost deploy {folder}` first, or publish what is live with `--app-version live`")
    };
    let message = format!("folder `{folder}` differs from the live release of app `{app}`; nothing was published");
    Ok(Err(Failure::new(message).blockers(differences).hint(hint)))
}
