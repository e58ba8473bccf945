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

/// Create a route
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    pub route: RouteArgs,
    #[command(flatten)]
    pub spec: SpecFileArgs,
}

/// Replace a route with a new version
#[derive(Debug, Args)]
pub struct UpdateArgs {
    #[command(flatten)]
    pub route: RouteArgs,
}

#[derive(Debug, Args)]
pub struct RouteArgs {
    #[command(flatten)]
    name: RouteNameArgs,
    /// HTTP methods, separated by commas (can be repeated)
    #[arg(long, value_name = "METHOD", default_value = "GET", value_delimiter = ',')]
    method: Vec<String>,
    /// The path, like `/orders/{id}`
    #[arg(long, visible_alias = "path", value_name = "PATH")]
    url: String,
    /// Also match every path below it
    #[arg(long)]
    prefix: bool,
    /// With `--prefix`: remove the prefix from the path that the function gets
    #[arg(long, requires = "prefix")]
    strip: bool,
    /// With `--prefix`: keep the prefix (default; for compatibility with Fission)
    #[arg(long, requires = "prefix", conflicts_with = "strip")]
    keepprefix: bool,
    /// Match only requests to this host, which must be a host of the app
    #[arg(long, value_name = "HOST", default_value = "", hide_default_value = true)]
    host: String,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

impl RouteArgs {
    fn put(&self) -> Result<Put> {
        let methods: std::collections::BTreeSet<String> =
            self.method.iter().map(|method| method.to_uppercase()).collect();
        let name = self.name.find("name").map(str::to_owned).unwrap_or_else(|| {
            let names: Vec<&str> = methods.iter().map(String::as_str).collect();
            format!("{} {}", names.join(","), self.url)
        });
        let put = RoutePut {
            methods,
            path: self.url.clone(),
            prefix: self.prefix,
            strip: self.strip,
            fission: false,
            host: self.host.clone(),
            target: self.target.target()?,
        };
        let name = unit_key(UnitKind::Route, &name)?.name;
        // Reports mistakes that need no server before it sends anything.
        put.resolve(None)?;
        Ok(shared::put(name, UnitPut::Route(put)))
    }
}

pub async fn run(context: &Context<'_>, args: RouteArgs, only: PutOnly) -> Result<()> {
    let mut put = args.put()?;
    put.only = Some(only);
    shared::send(context, &args.change.change(vec![put], Vec::new())).await
}

/// `--spec`: writes the route as a Fission document.
pub fn write(ui: &Ui, args: &CreateArgs) -> Result<()> {
    spec_file::say_what_a_trigger_passes(ui, args.route.prefix);
    spec_file::write(ui, &args.spec, &[args.route.put()?], &Archives::default())
}
