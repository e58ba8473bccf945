//! Accepted archives can be unpacked.

use std::io::{Cursor, Write};

use crate::common::World;

fn zip(name: &str) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    zip.start_file("main.py", options).unwrap();
    zip.write_all(b"def main():\n    return 'hi'\n").unwrap();
    zip.start_file(name, options).unwrap();
    zip.finish().unwrap().into_inner()
}

#[test]
fn a_zip_with_names_that_no_disk_takes_is_refused() {
    let world = World::new();
    let long = "x".repeat(256);
    for name in [long.clone(), format!("{long}/a.py"), format!("a/{long}/b.py"), "ü".repeat(128)] {
        world.env.write_file("code.zip", zip(&name));
        let said = world.run("function create --name f --env python --code code.zip").stderr;
        assert!(said.contains("longer than 255 bytes"), "{said}");
    }
    world.env.write_file("code.zip", zip(&"x".repeat(255)));
    world.ok("function create --name f --env python --code code.zip");
    world.ok("function test f");
}
