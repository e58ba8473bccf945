//! The page about `milepost.yaml`, from the keys that the reader knows.

use std::fmt::Write;

use milepost_declared::manifest::SCHEMA_PATH;
use milepost_declared::manifest::keys::schema::{modeline, type_name};
use milepost_declared::manifest::keys::{KeySpec, Rule, TABLES, Table};

pub fn page() -> String {
    let mut page = format!(
        "# milepost.yaml\n\n\
         All keys of the manifest, generated from the code that reads it by `cargo xtask docs`.\n\
         [Deploy from a folder](../deploy.md) shows how the file is used.\n\n\
         ## In your editor\n\n\
         `milepost init` writes a JSON schema to `{SCHEMA_PATH}`, and this line at the\n\
         top of `milepost.yaml`:\n\n\
         ```yaml\n{}```\n\n\
         Editors with the YAML language server (VS Code with the YAML extension, Neovim, Helix, Zed and\n\
         others) then complete keys, show what they are for, and underline mistakes, also without a\n\
         network or a server. Commit the file; it is never deployed. In an older folder, and after an\n\
         upgrade, `milepost init --schema` writes the schema again. The same file is\n\
         [milepost.schema.json](milepost.schema.json).\n\n\
         The schema checks keys and types. `milepost deploy --dry-run` checks the rest: paths, patterns,\n\
         names and references.\n",
        modeline()
    );
    TABLES.into_iter().for_each(|table| describe(&mut page, table));
    page
}

fn describe(page: &mut String, table: &Table) {
    let _ = write!(page, "\n## {}\n\n{}\n\n", table.title, table.about);
    page.push_str("| key | type | default | what it does | when to use it |\n|---|---|---|---|---|\n");
    for key in table.keys {
        let cells = [
            format!("`{}`", key.name),
            type_name(key.form),
            default(table, key).to_owned(),
            key.about.to_owned(),
            key.purpose.to_owned(),
        ];
        let _ = writeln!(page, "| {} |", cells.map(|cell| cell.replace('|', "\\|")).join(" | "));
    }
    let rules: Vec<String> = table.rules.iter().filter_map(|rule| sentence(*rule)).collect();
    if !rules.is_empty() {
        page.push('\n');
        for rule in rules {
            let _ = writeln!(page, "- {rule}");
        }
    }
    let _ = write!(page, "\n```yaml\n{}```\n", table.example);
}

fn default<'k>(table: &Table, key: &'k KeySpec) -> &'k str {
    if table.is_required(key.name) { "required" } else { key.default }
}

/// Required keys are marked in the table.
fn sentence(rule: Rule) -> Option<String> {
    match rule {
        Rule::Required(_) => None,
        Rule::OneOf(one, other) => Some(format!("`{one}` or `{other}` is required.")),
        Rule::NotBoth(one, other) => Some(format!("`{one}` and `{other}` exclude each other.")),
        Rule::Needs(key, needed) => Some(format!("`{key}` needs `{needed}`.")),
    }
}
