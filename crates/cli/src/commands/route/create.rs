use clap::Args;
use milepost_model::UnitKind;
use milepost_model::unit_put::{PutOnly, RoutePut, UnitPut};

use crate::commands::shared::{self, ChangeArgs, TargetArgs};
use crate::context::{Context, unit_key};
use crate::failure::Result;

/// Create a route, or with `update` a new version of it
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// The name [default: the methods and the path, like `GET /hello`]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// HTTP methods, separated by commas (can be repeated)
    #[arg(long, value_name = "METHOD", default_value = "GET", value_delimiter = ',')]
    method: Vec<String>,
    /// The path, like `/orders/{id}`
    #[arg(long, visible_alias = "path", value_name = "PATH")]
    url: String,
    /// Take every path that begins with it
    #[arg(long)]
    prefix: bool,
    /// With `--prefix`: give the function the path without the prefix
    #[arg(long, requires = "prefix")]
    strip: bool,
    /// Only for this host, one of those that lead to the app
    #[arg(long, value_name = "HOST", default_value = "")]
    host: String,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: CreateArgs, only: PutOnly) -> Result<()> {
    let methods: std::collections::BTreeSet<String> = args.method.iter().map(|method| method.to_uppercase()).collect();
    let name = args.name.unwrap_or_else(|| {
        let names: Vec<&str> = methods.iter().map(String::as_str).collect();
        format!("{} {}", names.join(","), args.url)
    });
    let put = RoutePut {
        methods,
        path: args.url,
        prefix: args.prefix,
        strip: args.strip,
        fission: false,
        host: args.host,
        target: args.target.target()?,
    };
    let name = unit_key(UnitKind::Route, &name)?.name;
    // What is wrong wherever it is sent is told before anything is.
    put.resolve(None)?;
    let mut put = shared::put(name, UnitPut::Route(put));
    put.only = Some(only);
    shared::send(context, &args.change.change(vec![put], Vec::new())).await
}
