use std::collections::BTreeSet;

use clap::Args;
use milepost_declared::write::Archives;
use milepost_model::UnitKind;
use milepost_model::unit_put::{Put, PutOnly, RoutePut, UnitPut};

use crate::args::slots::RouteNameArgs;
use crate::commands::shared::{self, ChangeArgs, TargetArgs};
use crate::commands::spec_file::{self, SpecFileArgs};
use crate::context::{Context, unit_key};
use crate::failure::Result;
use crate::output::Ui;

/// Create a route with Fission's behaviour
///
/// The function gets the path `/`, or with `--prefix` the path after the prefix. Path variables are
/// in the headers `X-Fission-Params-NAME`. With `milepost route create`, the function gets the
/// whole path.
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    pub trigger: TriggerArgs,
    #[command(flatten)]
    pub spec: SpecFileArgs,
}

/// Create a new version of a route with Fission's behaviour
#[derive(Debug, Args)]
pub struct UpdateArgs {
    #[command(flatten)]
    pub trigger: TriggerArgs,
}

#[derive(Debug, Args)]
pub struct TriggerArgs {
    #[command(flatten)]
    name: RouteNameArgs,
    /// HTTP methods, separated by commas (can be repeated)
    #[arg(long, value_name = "METHOD", default_value = "GET", value_delimiter = ',')]
    method: Vec<String>,
    /// Path, like `/orders/{id}`
    #[arg(long, value_name = "PATH", required_unless_present = "prefix", conflicts_with = "prefix")]
    url: Option<String>,
    /// Match every path that begins with this prefix
    #[arg(long, value_name = "PATH")]
    prefix: Option<String>,
    /// Keep the prefix in the path that the function gets
    #[arg(long, requires = "prefix")]
    keepprefix: bool,
    /// Match only this host, which must lead to the app
    #[arg(long, value_name = "HOST", default_value = "", hide_default_value = true)]
    host: String,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

impl TriggerArgs {
    fn put(&self) -> Result<Put> {
        let methods: BTreeSet<String> = self.method.iter().map(|method| method.to_uppercase()).collect();
        let path = self.prefix.as_ref().or(self.url.as_ref()).cloned().unwrap_or_default();
        let name = self.name.find("name").map(str::to_owned).unwrap_or_else(|| {
            let names: Vec<&str> = methods.iter().map(String::as_str).collect();
            format!("{} {path}", names.join(","))
        });
        let put = RoutePut {
            methods,
            path,
            prefix: self.prefix.is_some(),
            // Fission strips the prefix as literal text, so it never strips one with a variable.
            strip: self.prefix.as_ref().is_some_and(|prefix| !self.keepprefix && !prefix.contains('{')),
            fission: true,
            host: self.host.clone(),
            target: self.target.target()?,
        };
        let name = unit_key(UnitKind::Route, &name)?.name;
        // Reports mistakes before anything is sent.
        put.resolve(None)?;
        Ok(shared::put(name, UnitPut::Route(put)))
    }
}

pub async fn run(context: &Context<'_>, args: TriggerArgs, only: PutOnly) -> Result<()> {
    let mut put = args.put()?;
    put.only = Some(only);
    shared::send(context, &args.change.change(vec![put], Vec::new())).await
}

/// `--spec`: writes the route as a Fission document instead of changing the app.
pub fn write(ui: &Ui, args: &CreateArgs) -> Result<()> {
    spec_file::write(ui, &args.spec, &[args.trigger.put()?], &Archives::default())
}
