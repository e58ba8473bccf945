//! Compares serving with its peers: nginx, the functions frameworks, bare servers, and the
//! interpreters themselves.
//!
//! `cargo xtask bench serve` installs the peers and runs this. Peers and Milepost run at the same
//! time and are measured in turns, each time after the machine became idle. A part is a file with a
//! `run` function. To add one, list it in [`run`] and in `options.rs`.

mod client;
mod cold;
mod compare;
mod download;
mod functions;
mod large;
mod load;
mod machine;
pub mod milepost;
mod moves;
mod nginx;
mod options;
mod overhead;
mod pinning;
pub mod place;
mod process;
pub mod relay;
pub mod report;
mod resolve;
mod static_files;
mod worker;

use std::path::Path;

use anyhow::Result;
use serde_json::json;

use self::options::Options;
use self::place::Place;
use self::report::Report;

pub fn run(args: &[String]) -> Result<()> {
    let options = Options::read(args)?;
    let place = Place::new()?;
    let mut report = Report::default();
    if options.wants("static") {
        static_files::run(&place, &options, &mut report)?;
    }
    if options.wants("python") {
        functions::python(&place, &options, &mut report)?;
    }
    if options.wants("node") {
        functions::node(&place, &options, &mut report)?;
    }
    if options.wants("overhead") {
        overhead::run(&place, &options, &mut report)?;
    }
    if options.wants("cold") {
        cold::run(&place, &options, &mut report)?;
    }
    if options.wants("resolve") {
        resolve::run(&options, &mut report)?;
    }
    if options.wants("move") {
        moves::run(&place, &options, &mut report)?;
    }
    if options.wants("large") {
        large::run(&place, &options, &mut report)?;
    }
    report.print();
    let facts = json!({
        "machine": machine::describe()?,
        "versions": place.versions()?,
        "runs": options.runs,
        "seconds": options.seconds,
    });
    report.write(&Path::new(env!("CARGO_MANIFEST_DIR")).join("results"), facts)
}
