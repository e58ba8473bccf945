//! `milepost.yaml`: what an app is made of, read into the puts of one change.
//!
//! Reading is done by hand from a tree that knows its lines ([`node`]), because an error should name the line, the closest
//! known key and what would be right. Reading touches the disk only to see that what is named is there; [`Manifest::puts`]
//! sends the files.

mod advice;
mod error;
mod fields;
mod function;
mod node;
mod puts;
mod static_item;
#[cfg(test)]
mod tests;
mod trigger;

use std::path::{Path, PathBuf};

use milepost_model::change::UnitKey;
use milepost_model::unit_put::{Put, UnitPut};
use milepost_model::{AppName, UnitKind, UnitName, suggest};

use crate::failure::{Failure, Result};
use error::ManifestError;
use fields::Fields;
use function::FunctionItem;
use node::{Content, Node};
use static_item::StaticItem;

pub use advice::{advice, starter};
pub use puts::LITTER;

pub const FILE_NAME: &str = "milepost.yaml";

/// How errors call the outermost map.
const TOP: &str = "the manifest";
const KEYS: [&str; 7] = ["app", "version", "functions", "config", "static", "routes", "timers"];

/// Where the manifest is, and where the paths in it start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub file: PathBuf,
    pub folder: PathBuf,
}

#[derive(Debug)]
pub struct Manifest {
    pub place: Place,
    pub app: Option<AppName>,
    config: Option<serde_json::Value>,
    functions: Vec<FunctionItem>,
    statics: Vec<StaticItem>,
    /// Routes and timers, which have no files, each with its line.
    triggers: Vec<(Put, u64)>,
}

impl Place {
    /// A folder with a manifest in it, or the manifest itself.
    pub fn find(path: &Path) -> Option<Self> {
        if path.is_file() {
            let folder = path.parent().map(Path::to_owned).unwrap_or_default();
            return Some(Self { file: path.to_owned(), folder });
        }
        // The current folder is not worth a `./` in every message.
        let folder = if path == Path::new(".") { PathBuf::new() } else { path.to_owned() };
        let file = folder.join(FILE_NAME);
        file.is_file().then_some(Self { file, folder })
    }
}

impl Manifest {
    pub fn read(place: Place) -> Result<Self> {
        let text = std::fs::read_to_string(&place.file)
            .map_err(|error| Failure::new(format!("could not read `{}`", place.file.display())).caused_by(&error))?;
        let file = place.file.clone();
        Self::parse(&text, place).map_err(|error| error.into_failure(&file))
    }

    fn parse(text: &str, place: Place) -> Result<Self, ManifestError> {
        let node = Node::parse(text)?;
        if node.content == Content::Null {
            return Err(
                ManifestError::new(1, "the manifest is empty").hint(format!("its keys are `{}`", KEYS.join("`, `")))
            );
        }
        let mut fields = Fields::read(node, 1, TOP, &KEYS)?;
        let app = fields.parsed("app", |name| name.parse::<AppName>().map_err(|error| error.to_string()))?;
        // The version is for `publish`, which this Milepost does not have yet.
        fields.text("version")?;
        let config = match fields.take("config") {
            None | Some(Node { content: Content::Null, .. }) => None,
            Some(node @ Node { content: Content::Map(_), .. }) => Some(node.to_json()),
            Some(node) => {
                let message = format!("`config` must be a map of keys, not {}", node.kind());
                return Err(ManifestError::new(node.line, message));
            }
        };
        let functions = fields.map("functions")?;
        let functions = functions
            .into_iter()
            .map(|(key, node)| function::read(key, node, &place))
            .collect::<Result<Vec<_>, _>>()?;
        let hint = "write `- src: public` and `path: /` below it";
        let statics = fields.list("static", hint)?;
        let statics = statics.into_iter().map(|node| static_item::read(node, &place)).collect::<Result<Vec<_>, _>>()?;
        let mut triggers = trigger::routes(fields.list("routes", "write each as `- GET /hello: hello`")?)?;
        triggers.extend(trigger::timers(fields.map("timers")?)?);
        let manifest = Self { place, app, config, functions, statics, triggers };
        manifest.check_for_doubles()?;
        Ok(manifest)
    }

    /// The same path or route twice would be one unit with two meanings.
    fn check_for_doubles(&self) -> Result<(), ManifestError> {
        let mut seen: Vec<(&UnitName, u64)> = Vec::new();
        for item in &self.statics {
            if let Some((_, line)) = seen.iter().find(|(name, _)| **name == item.name) {
                let message = format!("`{}` is served by another static item already, on line {line}", item.name);
                return Err(ManifestError::new(item.line, message).hint("give one of them another `path`"));
            }
            seen.push((&item.name, item.line));
        }
        Ok(())
    }

    /// For an app that does not exist yet: what the manifest names must be in it. Told before the app is made.
    pub fn check_alone(&self) -> Result<()> {
        let known: Vec<&str> = self.functions.iter().map(|item| item.name.as_str()).collect();
        for (put, line) in &self.triggers {
            let (what, target) = match &put.unit {
                UnitPut::Route(route) => ("route", &route.target),
                UnitPut::Timer(timer) => ("timer", &timer.target),
                _ => continue,
            };
            let function = target.function.as_str();
            if !known.contains(&function) {
                let message =
                    format!("{what} `{}` names function `{function}`, which is not in the manifest", put.name);
                let near = suggest::closest(function, known.iter().copied());
                let error = ManifestError::new(*line, message);
                let error = if near.is_empty() {
                    error
                } else {
                    error.hint(format!("did you mean {}?", suggest::or_list(&near)))
                };
                return Err(error.into_failure(&self.place.file));
            }
        }
        Ok(())
    }

    /// Every unit that the manifest speaks of.
    pub fn keys(&self) -> Vec<UnitKey> {
        let key = |kind, name: &UnitName| UnitKey { kind, name: name.clone() };
        let config = self.config.iter().map(|_| UnitKey { kind: UnitKind::Config, name: UnitName::config() });
        let packages =
            self.functions.iter().filter_map(|item| item.own_package().map(|name| key(UnitKind::Package, name)));
        let functions = self.functions.iter().map(|item| key(UnitKind::Function, &item.name));
        let statics = self.statics.iter().map(|item| key(UnitKind::Static, &item.name));
        let triggers = self.triggers.iter().map(|(put, _)| key(put.unit.kind(), &put.name));
        config.chain(packages).chain(functions).chain(statics).chain(triggers).collect()
    }

    /// The files and folders that the app is made of, for those who watch them.
    pub fn sources(&self) -> Vec<PathBuf> {
        let functions = self.functions.iter().filter_map(FunctionItem::source);
        let mut found: Vec<PathBuf> =
            functions.chain(self.statics.iter().map(|item| item.src.as_path())).map(Path::to_owned).collect();
        found.sort();
        found.dedup();
        found
    }
}

/// The app that the manifest in this folder names, whatever else is in it: commands that are typed there are about it.
pub fn app_of_this_folder() -> Option<String> {
    let text = std::fs::read_to_string(FILE_NAME).ok()?;
    let node = Node::parse(&text).ok()?;
    let Content::Map(entries) = node.content else { return None };
    let (_, app) = entries.into_iter().find(|(key, _)| key.text == "app")?;
    let name = fields::text(app, "`app`").ok()?;
    name.parse::<AppName>().is_ok().then_some(name)
}

/// A path of the manifest, from its folder.
fn source_path(place: &Place, given: &str, line: u64, what: &str) -> Result<PathBuf, ManifestError> {
    let path = place.folder.join(given);
    if path.exists() {
        return Ok(path);
    }
    Err(ManifestError::new(line, format!("`src` of {what}: there is no `{}`", path.display()))
        .hint("paths start at the folder of the manifest"))
}
