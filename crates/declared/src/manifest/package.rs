//! `packages:`, and the own packages of functions.

use milepost_model::unit_put::{PackagePut, UnitPut, VersionRef};
use milepost_model::{Selector, UnitKind, UnitName};

use super::super::files::{Patterns, check, check_alone};
use super::super::yaml::{Fields, Key, Node, meant};
use super::super::{FileSet, Selection, TreeSlot};
use super::{Found, called, keys};

pub(super) const KEYS: [&str; keys::PACKAGE_KEYS.len()] = keys::names(&keys::PACKAGE_KEYS);

impl Found<'_> {
    pub(super) fn package(&mut self, key: &Key, node: Node) {
        let what = called(UnitKind::Package, key);
        let mut fields = Fields::read(self.sink, node, key.line, &what, &KEYS);
        let environment = self.environment_of(&mut fields);
        if environment.is_none() {
            fields.missing("env", &environment_hint());
        }
        let src = fields.text_at("src");
        let deploy = fields.text_at("deploy");
        let (include, exclude) = (fields.texts("include"), fields.texts("exclude"));
        let build = fields.text_at("build");
        let mut trees = Vec::new();
        if let Some((src, line)) = src {
            let slot = if build.is_some() || deploy.is_some() { TreeSlot::Source } else { TreeSlot::Code };
            trees.push((slot, self.files(&what, "src", &src, line, &include, &exclude)));
        } else if let Some((_, line)) = build.as_ref().filter(|_| !fields.is_unreadable("src")) {
            let message = format!("`build` of {what} has no source to build");
            self.sink.wrong_hint(*line, message, "set the source with `src`");
        }
        if let Some((deploy, line)) = deploy {
            let none = Patterns::new();
            let own = trees.is_empty();
            let (include, exclude) = if own { (&include, &exclude) } else { (&none, &none) };
            trees.push((TreeSlot::Deployment, self.files(&what, "deploy", &deploy, line, include, exclude)));
        }
        if trees.is_empty() {
            check_alone(self.sink, &what, &include, &exclude);
        }
        if trees.is_empty() && !fields.is_unreadable("deploy") {
            fields.missing("src", "set its code with `src: FOLDER`, or prebuilt code with `deploy: FOLDER`");
        }
        let Some(name) = self.own_name(UnitKind::Package, key) else { return };
        let build_command = build.map(|(command, _)| command);
        let put = PackagePut { environment, build_command, ..PackagePut::default() };
        let trees = trees.into_iter().filter_map(|(slot, files)| Some((slot, files?))).collect();
        self.add(name, UnitPut::Package(put), trees, key.line);
    }

    /// The environment, from `env`.
    pub(super) fn environment_of(&mut self, fields: &mut Fields<'_>) -> Option<VersionRef> {
        let node = fields.take("env")?;
        let line = node.line;
        // With a `name` it is a reference as in specs; otherwise it is mistaken for environment
        // variables.
        if matches!(node.content, super::Content::Map(_)) && meant(&node).is_none() {
            let message = format!("`env` of {} must be the name of an environment, like `python`", fields.what());
            self.sink.wrong_hint(line, message, "set environment variables under `vars`");
            fields.spoil("env");
            return None;
        }
        let what = fields.of("env");
        let name = super::text(self.sink, node, &what)
            .and_then(|name| self.refer(UnitKind::Environment, &name, line, fields.what(), &format!("{what}: ")));
        if name.is_none() {
            fields.spoil("env");
        }
        Some(VersionRef { name: name?, version: Selector::Latest })
    }

    /// The files at a path of the manifest. None if they are invalid, which has been reported.
    pub(super) fn files(
        &mut self,
        what: &str,
        key: &str,
        given: &str,
        line: u64,
        include: &Patterns,
        exclude: &Patterns,
    ) -> Option<FileSet> {
        let root = self.path(given, line, key, what);
        let texts = |patterns: &Patterns| patterns.iter().map(|(pattern, _)| pattern.clone()).collect();
        let (include_texts, exclude_texts) = (texts(include), texts(exclude));
        let selection = Selection {
            root,
            include: include_texts,
            exclude: exclude_texts,
            documents: Vec::new(),
            keep_archives: false,
            gitignore: true,
        };
        let right = self.check_patterns(what, &selection, include, exclude) && selection.root.exists();
        let files = FileSet::Files(selection);
        self.file_places.entry(files.clone()).or_insert_with(|| self.sink.place(line));
        right.then_some(files)
    }

    /// Reports invalid patterns, and returns whether all are valid.
    pub(super) fn check_patterns(
        &self,
        what: &str,
        selection: &Selection,
        include: &Patterns,
        exclude: &Patterns,
    ) -> bool {
        if selection.root.is_dir() {
            return check(self.sink, what, selection, &selection.root, (include, exclude));
        }
        let right = check_alone(self.sink, what, include, exclude);
        if let Some((_, line)) = include.first()
            && selection.root.is_file()
            && selection.root.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("zip"))
        {
            let message = format!("`include` of {what} has no effect: `{}` is a file", selection.root.display());
            self.sink.wrong_hint(*line, message, "use the folder that contains it");
            return false;
        }
        right
    }

    /// The name of the package of a function with its own code.
    pub(super) fn own_package(&mut self, function: &UnitName, line: u64) -> Option<UnitName> {
        let name = self.name(UnitKind::Package, &format!("{function}-pkg"), line, "")?;
        if let Some(first) = self.earlier(UnitKind::Package, &name) {
            let message = format!(
                "function `{function}` needs the package name `{name}` for its own code, but line {} already uses it",
                first.place.line
            );
            self.sink.wrong_hint(line, message, format!("use that package with `package: {name}`, or rename it"));
        }
        Some(name)
    }
}

/// The hint for a missing `env`.
pub fn environment_hint() -> String {
    let names = milepost_model::spec::BUILT_IN_ENVIRONMENTS.map(|(name, _)| name).join(", ");
    format!("set `env` to {names}, or to an environment of the app")
}
