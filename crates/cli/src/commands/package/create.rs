use clap::Args;
use milepost_declared::write::object_name;
use milepost_model::UnitName;
use milepost_model::unit_put::PutOnly;

use super::KIND;
use super::put::PackageArgs;
use crate::commands::shared::{ChangeArgs, MaybeNameArgs};
use crate::commands::spec_file::{self, SpecFileArgs};
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::folders;
use crate::output::Ui;

/// Create a package
///
/// The package must not exist yet. Its name defaults to the name of the code's file or folder.
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    name: MaybeNameArgs,
    #[command(flatten)]
    package: PackageArgs,
    #[command(flatten)]
    change: ChangeArgs,
    #[command(flatten)]
    pub spec: SpecFileArgs,
}

impl CreateArgs {
    fn name(&self) -> Result<UnitName> {
        if let Some(name) = self.name.find("name") {
            return Ok(UnitName::for_kind(KIND, name)?);
        }
        let code = &self.package.code;
        let path = code.src.as_ref().or(code.deploy.as_ref()).or(code.code.as_ref());
        let stem = path.and_then(|path| path.file_stem()).and_then(|stem| stem.to_str()).map(object_name);
        match stem.filter(|stem| !stem.is_empty()) {
            Some(stem) => Ok(UnitName::for_kind(KIND, &stem)?),
            None => Err(Failure::usage("the package has no name").hint("give it as an argument or with `--name`")),
        }
    }
}

pub async fn run(context: &Context<'_>, args: CreateArgs) -> Result<()> {
    let (mut put, files) = args.package.put(args.name()?, false).await?;
    put.only = Some(PutOnly::New);
    folders::send(context, args.change.change(vec![put], Vec::new()), files).await
}

/// `--spec`: writes the package as Fission documents.
pub async fn write(ui: &Ui, args: &CreateArgs) -> Result<()> {
    let (put, _) = args.package.put(args.name()?, false).await?;
    let archives = args.spec.archives(&args.package.code)?;
    if args.package.env.is_none() {
        return Err(Failure::usage("a spec needs the environment of the package")
            .hint("give it with `--env`, like `--env python`"));
    }
    spec_file::write(ui, &args.spec, &[put], &archives)
}
