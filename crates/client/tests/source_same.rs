//! The same files have the same digest from a folder, through the cache, and from a zip.
#![expect(clippy::expect_used, reason = "a test that cannot set its stage must fail")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use milepost_client::source::{Source, SourceOptions, StatCache};
use milepost_model::clock::{Clock as _, SystemClock, from_millis};
use milepost_model::tree::Leaf;
use proptest::prelude::*;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

#[derive(Debug, Clone)]
enum Thing {
    File { bytes: Vec<u8>, executable: bool },
    Link,
}

fn things() -> impl Strategy<Value = BTreeMap<String, Thing>> {
    // Directory and file names are disjoint, so that no path is both.
    let folder = prop::sample::select(vec!["d", "d-1", "ordner ü", "日本", ".hidden"]);
    let name = prop::sample::select(vec!["f", "f.py", "f-1", "ß.txt", " f ", "f#", "F"]);
    let path = (prop::collection::vec(folder, 0..4), name);
    let path = path.prop_map(|(mut parts, name)| {
        parts.push(name);
        parts.join("/")
    });
    let file = (prop::collection::vec(any::<u8>(), 0..300), any::<bool>());
    let file = file.prop_map(|(bytes, executable)| Thing::File { bytes, executable });
    prop::collection::btree_map(path, prop_oneof![6 => file, 1 => Just(Thing::Link)], 0..20)
}

fn write_folder(base: &Path, things: &BTreeMap<String, Thing>) {
    for (path, thing) in things {
        let place = base.join(path);
        fs::create_dir_all(place.parent().expect("below the base")).expect("folders");
        match thing {
            Thing::File { bytes, executable } => {
                fs::write(&place, bytes).expect("file");
                let mode = if *executable { 0o755 } else { 0o644 };
                fs::set_permissions(&place, fs::Permissions::from_mode(mode)).expect("chmod");
            }
            Thing::Link => symlink("f", &place).expect("link"),
        }
    }
}

fn write_zip(place: &Path, things: &BTreeMap<String, Thing>) {
    let mut zip = ZipWriter::new(fs::File::create(place).expect("file"));
    for (path, thing) in things.iter().rev() {
        match thing {
            Thing::File { bytes, executable } => {
                let mode = if *executable { 0o755 } else { 0o644 };
                zip.start_file(path, SimpleFileOptions::default().unix_permissions(mode)).expect("an entry");
                zip.write_all(bytes).expect("its bytes");
            }
            Thing::Link => zip.add_symlink(path, "f", SimpleFileOptions::default()).expect("an entry"),
        }
    }
    zip.finish().expect("a zip");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_folder_its_zip_and_its_cached_scan_are_equal(things in things()) {
        let stage = tempfile::tempdir().expect("folder");
        let (folder, zip) = (stage.path().join("app"), stage.path().join("app.zip"));
        fs::create_dir(&folder).expect("folder");
        write_folder(&folder, &things);
        write_zip(&zip, &things);

        let options = SourceOptions::default();
        let plain = Source::open(&folder, &options, None).expect("the folder");
        let packed = Source::open(&zip, &options, None).expect("the zip");
        prop_assert_eq!(plain.tree().expect("a tree"), packed.tree().expect("a tree"));
        prop_assert_eq!(plain.root().expect("root"), packed.root().expect("root"));
        prop_assert_eq!(plain.tree().expect("a tree").len(), things.len());

        let later = from_millis(SystemClock.now().as_millisecond() + 3_600_000);
        for round in 0..2 {
            let mut cache = StatCache::load(stage.path().join("cache"), later);
            let cached = Source::open(&folder, &options, Some(&mut cache)).expect("the folder");
            prop_assert_eq!(cached.root().expect("root"), plain.root().expect("root"));
            prop_assert_eq!(cached.summary().files_hashed == 0, round == 1 || plain.summary().files_hashed == 0);
        }

        for (path, leaf) in plain.tree().expect("a tree").iter() {
            let (Leaf::File(file), Some(Thing::File { bytes, .. })) = (leaf, things.get(path)) else { continue };
            prop_assert_eq!(&plain.read_blob(&file.digest).expect("from the folder"), bytes);
            prop_assert_eq!(&packed.read_blob(&file.digest).expect("from the zip"), bytes);
        }
    }
}
