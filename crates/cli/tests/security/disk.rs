//! Whatever is uploaded, the disk of the server keeps room for what others write.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use milepost_testkit::cli::CliEnv;

use crate::common::World;

/// A mount namespace with a small disk in it, as long as a process of it lives.
struct SmallDisk(Child);

impl SmallDisk {
    /// `None` if this machine has not the means.
    fn at(folder: &Path, size: &str) -> Option<Self> {
        fs::create_dir_all(folder).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
        let mount = format!("mount -t tmpfs -o mode=700,size={size} none '{}'", folder.display());
        let script = format!("mount --make-rprivate / && {mount} && echo ready && exec sleep 600");
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut disk = Self(command.spawn().ok()?);
        let mut line = String::new();
        BufReader::new(disk.0.stdout.take()?).read_line(&mut line).ok()?;
        (line == "ready\n").then_some(disk)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn an_upload_cannot_fill_the_disk() {
    let mut env = CliEnv::new();
    let blobs = env.home().join("blobs");
    let Some(disk) = SmallDisk::at(&blobs, "400m") else {
        println!("skipped: root and unshare (of util-linux) are needed");
        return;
    };
    let (id, enter) = (disk.0.id().to_string(), format!("cd '{}' && exec \"$@\"", env.work_dir().display()));
    env.wrap(&["nsenter", "--mount", "--target", &id, "sh", "-c", &enter, "sh"]);
    env.write_file("large/page.html", "large");
    // Far below what the plan allows, and more than leaves room on this disk.
    File::options().write(true).open(env.work_dir().join("large/page.html")).unwrap().set_len(300 << 20).unwrap();
    env.write_file("small/page.html", "small");
    let world = World::in_env(env, &["--blobs", blobs.to_str().unwrap()]);
    world.ok("static add small --path /small");
    let refused = world.run("static add large --path /large -o json");
    assert_eq!(refused.status, Some(1), "{}", refused.snapshot());
    assert!(refused.stderr.contains("no_disk_space"), "{}", refused.stderr);
    assert!(refused.stderr.contains("too little room"), "{}", refused.stderr);
    assert!(!world.server.stderr().contains("No space left"), "{}", world.server.stderr());
    // What it had sent is gone.
    world.env.write_file("small/page.html", "another");
    world.ok("static add small --path /small");
}
