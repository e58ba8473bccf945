//! Short helpers for the contents of a change.

use milepost_model::change::{Change, Declaration};
use milepost_model::spec::{EnvironmentSpec, Runtime, StaticSpec};
use milepost_model::unit_put::{
    ConfigPut, FunctionPut, PackagePut, Put, RoutePut, SecretPut, TargetPut, TimerPut, VersionRef,
};
use milepost_model::{Digest, UnitPut};

pub fn change(puts: impl IntoIterator<Item = Put>) -> Change {
    Change { puts: puts.into_iter().collect(), ..Change::default() }
}

/// A change of the deployment with this id.
pub fn declared(id: &str, puts: impl IntoIterator<Item = Put>) -> Change {
    Change { deployment: Some(declaration(id)), ..change(puts) }
}

pub fn declaration(id: &str) -> Declaration {
    let (id, name) = (id.to_owned(), format!("folder {id}"));
    Declaration { id, name, claims: Vec::new(), prune_secrets: false, allow_conflicts: false }
}

pub fn put(name: &str, unit: UnitPut) -> Put {
    let name = name.parse().unwrap();
    Put { name, label: None, description: None, group: None, force: false, only: None, unit }
}

/// Setters for the options of a put.
pub trait PutExt {
    fn labelled(self, label: &str) -> Self;
    fn forced(self) -> Self;
    fn grouped(self, group: &str) -> Self;
}

impl PutExt for Put {
    fn labelled(mut self, label: &str) -> Self {
        self.label = Some(label.parse().unwrap());
        self
    }

    fn forced(mut self) -> Self {
        self.force = true;
        self
    }

    fn grouped(mut self, group: &str) -> Self {
        self.group = Some(group.parse().unwrap());
        self
    }
}

pub fn reference(name: &str, version: &str) -> VersionRef {
    VersionRef { name: name.parse().unwrap(), version: version.parse().unwrap() }
}

pub fn environment(name: &str, interpreter: &str) -> Put {
    let interpreter = interpreter.to_owned();
    put(
        name,
        UnitPut::Environment(EnvironmentSpec {
            runtime: Runtime::Python,
            interpreter,
            builder: String::new(),
            variables: std::collections::BTreeMap::new(),
        }),
    )
}

/// A package for the built-in environment `python`.
pub fn package(name: &str, deployment: Digest) -> Put {
    let environment = Some(reference("python", "latest"));
    put(name, UnitPut::Package(PackagePut { environment, deployment: Some(deployment), ..PackagePut::default() }))
}

/// A package that must be built.
pub fn source_package(name: &str, source: Digest, command: &str) -> Put {
    let build_command = (!command.is_empty()).then(|| command.to_owned());
    let environment = Some(reference("python", "latest"));
    put(
        name,
        UnitPut::Package(PackagePut { environment, source: Some(source), build_command, ..PackagePut::default() }),
    )
}

pub fn function_on(name: &str, package: &str) -> Put {
    function_with(name, FunctionPut { package: Some(reference(package, "latest")), ..FunctionPut::default() })
}

pub fn function_with(name: &str, function: FunctionPut) -> Put {
    put(name, UnitPut::Function(function))
}

pub fn config(key: &str, value: impl Into<serde_json::Value>) -> Put {
    let set = [(key.to_owned(), value.into())].into();
    put("config", UnitPut::Config(ConfigPut { set, ..ConfigPut::default() }))
}

pub fn secret(name: &str, value: &str) -> Put {
    put(name, UnitPut::Secret(SecretPut { value: value.to_owned() }))
}

pub fn static_item(path: &str, tree: Digest) -> Put {
    let spec = StaticSpec {
        path: path.to_owned(),
        tree,
        file: false,
        index: "index.html".to_owned(),
        fallback: None,
        error_page: None,
        clean: false,
        expires_ms: None,
    };
    put(path, UnitPut::Static(spec))
}

fn target(function: &str, version: &str) -> TargetPut {
    TargetPut { function: function.parse().unwrap(), version: version.parse().unwrap() }
}

pub fn route(name: &str, function: &str, version: &str) -> Put {
    let path = name.split(' ').next_back().unwrap().to_owned();
    let route = RoutePut {
        methods: ["GET".to_owned()].into(),
        path,
        prefix: false,
        strip: false,
        fission: false,
        host: String::new(),
        target: target(function, version),
    };
    put(name, UnitPut::Route(route))
}

pub fn timer(name: &str, function: &str, version: &str) -> Put {
    let timer = TimerPut { cron: "0 3 * * *".to_owned(), zone: String::new(), target: target(function, version) };
    put(name, UnitPut::Timer(timer))
}
