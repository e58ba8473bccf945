//! Files of 1 KB and 100 KB, compared with nginx.

use std::fs;

use anyhow::{Context, Result};

use super::compare::{Bar, Case, Contender, compare};
use super::milepost::Milepost;
use super::nginx::Nginx;
use super::options::Options;
use super::place::Place;
use super::report::Report;

const CONNECTIONS: usize = 64;
const CACHED: &str = "open_file_cache max=1000;";
const CACHED_AND_SILENT: &str = "open_file_cache max=1000; access_log off;";

pub fn run(place: &Place, options: &Options, report: &mut Report) -> Result<()> {
    let files = place.folder("files")?;
    let (small, large) = (text_of(1024), text_of(100 * 1024));
    fs::write(files.join("1k.txt"), &small)?;
    fs::write(files.join("100k.txt"), &large)?;
    let probe = ("/1k.txt", small.as_slice());
    let defaults = Nginx::start(place, "nginx-defaults", &files, "", probe)?;
    let cached = Nginx::start(place, "nginx-cached", &files, CACHED, probe)?;
    let silent = Nginx::start(place, "nginx-silent", &files, CACHED_AND_SILENT, probe)?;
    let milepost = if options.peers_only { None } else { Some(start(place, &files, &small)?) };
    let cases = [
        ("static 1 KB", "/1k.txt", small.as_slice(), [1.2, 1.0]),
        ("static 100 KB", "/100k.txt", large.as_slice(), [0.9, 0.9]),
    ];
    for (what, path, body, [against_defaults, against_cached]) in cases {
        let bar = |throughput| Some(Bar { throughput, p99: true });
        let ours = milepost.iter().map(|milepost| Contender {
            name: "milepost",
            target: milepost.target(path),
            pid: milepost.server.pid(),
            bar: None,
        });
        let peers = [
            ("nginx, Debian's defaults", &defaults, bar(against_defaults)),
            ("nginx, open_file_cache on", &cached, bar(against_cached)),
            // Not required, but Milepost does not log file requests either.
            ("nginx, open_file_cache on, access_log off", &silent, None),
        ];
        let peers = peers.into_iter().map(|(name, nginx, bar)| Contender {
            name,
            target: nginx.target(path),
            pid: nginx.server.pid(),
            bar,
        });
        let contenders: Vec<Contender<'_>> = ours.chain(peers).collect();
        compare(&Case { part: "static", what, body, connections: CONNECTIONS }, &contenders, options, report)?;
    }
    Ok(())
}

fn start(place: &Place, files: &std::path::Path, small: &[u8]) -> Result<Milepost> {
    let mut milepost = Milepost::start(place, "milepost-static", &[])?;
    let folder = files.to_str().context("the temporary folder's name is not UTF-8")?;
    milepost.run(&["static", "add", folder, "--path", "/"])?;
    milepost.wait_for("/1k.txt", small)?;
    Ok(milepost)
}

/// Text that does not repeat.
fn text_of(size: usize) -> Vec<u8> {
    (0..size / 8).flat_map(|word| format!("{:07x}\n", (word * 0x9E37_79B1) & 0xFFF_FFFF).into_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makes_text_of_the_requested_size() {
        assert_eq!(text_of(1024).len(), 1024);
        assert_eq!(text_of(100 * 1024).len(), 100 * 1024);
    }
}
