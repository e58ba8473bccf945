//! Helpers shared by the tests of both readers.

use std::fs;
use std::path::Path;

use milepost_model::unit_put::{FunctionPut, PackagePut, UnitPut};

use super::{Declared, DeclaredUnit, FileSet, TreeSlot};

/// A temporary directory that is deleted with the test.
pub struct Folder(pub tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
}

pub fn keys(declared: &Declared) -> Vec<String> {
    declared.keys().map(|key| key.to_string()).collect()
}

pub fn claims(declared: &Declared) -> Vec<String> {
    declared.claims.iter().map(|claim| claim.key.to_string()).collect()
}

fn unit<'a>(declared: &'a Declared, key: &str) -> &'a DeclaredUnit {
    let found = declared.units.iter().find(|unit| unit.key().to_string() == key);
    found.unwrap_or_else(|| panic!("no {key}"))
}

pub fn function<'a>(declared: &'a Declared, name: &str) -> &'a FunctionPut {
    let UnitPut::Function(put) = &unit(declared, &format!("function {name}")).put.unit else { panic!("a function") };
    put
}

pub fn package<'a>(declared: &'a Declared, name: &str) -> (&'a PackagePut, &'a [(TreeSlot, FileSet)]) {
    let unit = unit(declared, &format!("package {name}"));
    let UnitPut::Package(put) = &unit.put.unit else { panic!("a package") };
    (put, &unit.trees)
}
