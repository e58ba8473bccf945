use clap::Args;
use milepost_model::unit_put::{Put, PutOnly, RoutePut, TargetPut, UnitPut};
use milepost_model::{Selector, UnitKind, UnitName};

use super::put::{FunctionArgs, Mode};
use crate::commands::shared::{self, ChangeArgs};
use crate::commands::spec_file::{self, SpecFileArgs};
use crate::context::Context;
use crate::failure::Result;
use crate::folders;
use crate::output::Ui;

/// Create a function
///
/// The function must not exist yet. Its code becomes a package of its own, in the same change and
/// with the same uid.
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    function: FunctionArgs,
    /// Also create a route to the function, at this path
    #[arg(long, value_name = "PATH")]
    url: Option<String>,
    /// HTTP methods of the route, separated by commas
    #[arg(long, value_name = "METHOD", value_delimiter = ',', requires = "url", default_value = "GET")]
    method: Vec<String>,
    #[command(flatten)]
    change: ChangeArgs,
    #[command(flatten)]
    pub spec: SpecFileArgs,
}

impl CreateArgs {
    fn route(&self) -> Result<Option<Put>> {
        let Some(path) = &self.url else { return Ok(None) };
        let function = UnitName::for_kind(UnitKind::Function, self.function.name.name())?;
        let methods: std::collections::BTreeSet<String> = self.method.iter().map(|name| name.to_uppercase()).collect();
        let names: Vec<&str> = methods.iter().map(String::as_str).collect();
        let name = UnitName::for_kind(UnitKind::Route, &format!("{} {path}", names.join(",")))?;
        let target = TargetPut { function, version: Selector::Latest };
        let route = RoutePut {
            methods,
            path: path.clone(),
            prefix: false,
            strip: false,
            fission: false,
            host: String::new(),
            target,
        };
        route.resolve(None)?;
        let mut put = shared::put(name, UnitPut::Route(route));
        put.only = Some(PutOnly::New);
        Ok(Some(put))
    }
}

pub async fn run(context: &Context<'_>, args: CreateArgs) -> Result<()> {
    args.function.fission.warn_without_effect(context.ui);
    let (mut puts, files) = args.function.puts(Mode::Create).await?;
    puts.extend(args.route()?);
    folders::send(context, args.change.change(puts, Vec::new()), files).await?;
    args.function.tell_group(context, &args.change);
    Ok(())
}

/// `--spec`: writes Fission documents instead of changing the app.
pub async fn write(ui: &Ui, args: &CreateArgs) -> Result<()> {
    args.function.fission.warn_without_effect(ui);
    let mut function = args.function.clone();
    // As in Fission, a function is in the environment of its package.
    if let (None, Some(package)) = (&function.env, &function.pkg) {
        function.env = Some(args.spec.environment_of(package)?);
    }
    let (mut puts, _) = function.puts(Mode::Create).await?;
    if let Some(route) = args.route()? {
        spec_file::say_what_a_trigger_passes(ui, false);
        // The file is named after the last unit, which is the function.
        puts.insert(0, route);
    }
    let archives = args.spec.archives(&args.function.code)?;
    function.needs_environment()?;
    spec_file::write(ui, &args.spec, &puts, &archives)
}
