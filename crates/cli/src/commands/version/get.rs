use milepost_model::UnitKind;
use milepost_model::snapshot::Version;

use crate::args::slots::VersionArgs;
use crate::context::Context;
use crate::failure::Result;
use crate::output::local;

pub async fn run(context: &Context<'_>, kind: UnitKind, args: VersionArgs) -> Result<()> {
    let version = context.client.version_get(&context.app, &args.key(kind)?, args.version()).await?;
    show(context, &version, |version| version.number.to_string())
}

/// `name` is the output of `-o name`: a name that other commands accept.
pub fn show(context: &Context<'_>, version: &Version, name: impl FnOnce(&Version) -> String) -> Result<()> {
    context.ui.show(version, |version| vec![name(version)], text)
}

pub fn text(version: &Version) -> String {
    let mut lines = vec![
        format!("{:<12} {}", format!("{}:", capital(version.kind.as_str())), version.name),
        format!("Number:      {}{}", version.number, if version.latest { " (latest)" } else { "" }),
        format!("Uid:         {}", version.uid),
    ];
    if let Some(label) = &version.label {
        lines.push(format!("Label:       {label}"));
    }
    lines.push(format!("Digest:      {}", version.digest));
    if !version.description.is_empty() {
        lines.push(format!("Description: {}", version.description));
    }
    lines.push(format!("Created:     {} by {}", local(version.created_at), version.created_by));
    let joined = |names: Vec<String>| names.join(", ");
    if !version.aliases.is_empty() {
        lines.push(format!("Aliases:     {}", joined(version.aliases.iter().map(ToString::to_string).collect())));
    }
    if !version.releases.is_empty() {
        lines.push(format!("Releases:    {}", version.releases.join(", ")));
    }
    if !version.groups.is_empty() {
        lines.push(format!("Groups:      {}", joined(version.groups.iter().map(ToString::to_string).collect())));
    }
    lines.push("Spec:".to_owned());
    let spec = serde_json::to_string_pretty(&version.spec).unwrap_or_default();
    lines.extend(spec.lines().map(|line| format!("  {line}")));
    lines.join("\n")
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
