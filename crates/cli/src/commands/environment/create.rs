use std::str::FromStr;

use clap::Args;
use milepost_declared::fission;
use milepost_declared::write::Archives;
use milepost_model::UnitKind;
use milepost_model::spec::{EnvironmentSpec, Runtime, STDIO, UnknownRuntime};
use milepost_model::unit_put::{Put, PutOnly, UnitPut};

use crate::commands::shared::{self, ChangeArgs, NameArgs, parse_pair};
use crate::commands::spec_file::{self, SpecFileArgs};
use crate::context::Context;
use crate::failure;
use crate::output::Ui;

/// Create an environment
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    pub environment: EnvironmentArgs,
    #[command(flatten)]
    pub spec: SpecFileArgs,
}

/// Create a new version of an environment
///
/// Functions stay on the version that they are pinned to until they are updated.
#[derive(Debug, Args)]
pub struct UpdateArgs {
    #[command(flatten)]
    pub environment: EnvironmentArgs,
}

#[derive(Debug, Args)]
pub struct EnvironmentArgs {
    #[command(flatten)]
    name: NameArgs,
    /// Runtime: python, node, binary, or an image name that maps to one of them
    #[arg(long, visible_alias = "image", value_name = "RUNTIME")]
    runtime: RuntimeArg,
    /// Interpreter version to require
    #[arg(long, value_name = "VERSION", default_value = "", hide_default_value = true)]
    interpreter: String,
    /// Build command of packages that have none
    ///
    /// A Fission builder image selects the default command.
    #[arg(long, value_name = "COMMAND", default_value = "", hide_default_value = true)]
    builder: String,
    /// Environment variable of every function that runs in it (can be repeated)
    #[arg(long = "var", value_name = "KEY=VALUE", value_parser = parse_pair)]
    variables: Vec<(String, String)>,
    /// Fission's environment interface version; accepted for compatibility, no effect
    #[arg(long, value_name = "1|2|3", value_parser = clap::value_parser!(u8).range(1..=3))]
    version: Option<u8>,
    /// Fission's pool size; accepted for compatibility, no effect
    #[arg(long, value_name = "COUNT")]
    poolsize: Option<u32>,
    #[command(flatten)]
    change: ChangeArgs,
}

/// A runtime, or an image that maps to one.
#[derive(Debug, Clone, Copy)]
struct RuntimeArg {
    runtime: Runtime,
    /// The image is `fission/binary-env`, which starts the program for every request.
    is_stdio: bool,
}

impl FromStr for RuntimeArg {
    type Err = UnknownRuntime;

    fn from_str(text: &str) -> Result<Self, UnknownRuntime> {
        Ok(Self { runtime: text.parse()?, is_stdio: fission::runs_once_per_request(text) })
    }
}

impl EnvironmentArgs {
    fn put(&self) -> failure::Result<Put> {
        let RuntimeArg { runtime, is_stdio } = self.runtime;
        let is_stdio = is_stdio && self.interpreter.is_empty();
        let spec = EnvironmentSpec {
            runtime,
            interpreter: if is_stdio { STDIO.to_owned() } else { self.interpreter.clone() },
            builder: fission::builder_command(&self.builder).unwrap_or_default(),
            variables: self.variables.iter().cloned().collect(),
        };
        Ok(shared::put(self.name.key(UnitKind::Environment)?.name, UnitPut::Environment(spec)))
    }

    /// Warns about Fission options that have no effect here.
    fn warn_without_effect(&self, ui: &Ui) {
        if self.poolsize.is_some() {
            ui.warn("`--poolsize` has no effect: every environment has prestarted instances");
        }
    }
}

pub async fn run(context: &Context<'_>, args: EnvironmentArgs, only: PutOnly) -> failure::Result<()> {
    let mut put = args.put()?;
    put.only = Some(only);
    args.warn_without_effect(context.ui);
    shared::send(context, &args.change.change(vec![put], Vec::new())).await
}

/// `--spec`: writes the environment as a Fission document instead of changing the app.
pub fn write(ui: &Ui, args: &CreateArgs) -> failure::Result<()> {
    args.environment.warn_without_effect(ui);
    spec_file::write(ui, &args.spec, &[args.environment.put()?], &Archives::default())
}
