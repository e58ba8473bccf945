//! Finds PostgreSQL's programs, and the user to run them as.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory with `initdb` and `postgres`. Debian keeps them off the `PATH`, in one directory
/// per version, so the newest of those takes precedence over the `PATH`.
fn folder() -> PathBuf {
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin")))
        })
        .collect();
    versions.sort();
    let on_path = env::var_os("PATH").unwrap_or_default();
    versions
        .into_iter()
        .rev()
        .map(|(_, bin)| bin)
        .chain(env::split_paths(&on_path))
        .find(|bin| bin.join("initdb").is_file() && bin.join("postgres").is_file())
        .expect("PostgreSQL's server programs are not on this machine; `cargo xtask setup` installs them")
}

/// The user that a server runs as.
#[derive(Clone, Copy)]
pub(crate) struct ServerUser {
    ids: Option<(u32, u32)>,
}

impl ServerUser {
    /// PostgreSQL refuses to run as root, so root runs it as another user. `probe` is a file
    /// created by this process.
    pub(crate) fn for_owner_of(probe: &Path) -> Self {
        if fs::metadata(probe).unwrap().uid() != 0 {
            return Self { ids: None };
        }
        let passwd = fs::read_to_string("/etc/passwd").expect("read /etc/passwd");
        let ids = ["postgres", "nobody"].iter().find_map(|name| user_ids(&passwd, name));
        Self { ids: Some(ids.expect("root cannot run PostgreSQL, and there is no user `postgres` or `nobody`")) }
    }

    pub(crate) fn give(self, path: &Path) {
        if let Some((user, group)) = self.ids {
            std::os::unix::fs::chown(path, Some(user), Some(group)).unwrap();
        }
    }

    /// A PostgreSQL program run as this user, without the caller's `PG…` and locale variables. It
    /// gets its own process group, out of reach of a Ctrl-C and of nextest killing a test's group.
    pub(super) fn command(self, program: &str) -> Command {
        let bin = folder();
        let mut command = Command::new(bin.join(program));
        command.env_clear().env("PATH", &bin).env("LC_ALL", "C").current_dir("/").process_group(0);
        self.apply(&mut command);
        command
    }

    /// Makes a program run as this user.
    pub(crate) fn apply(self, command: &mut Command) {
        if let Some((user, group)) = self.ids {
            command.uid(user).gid(group);
        }
    }
}

fn user_ids(passwd: &str, name: &str) -> Option<(u32, u32)> {
    let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_ids_of_a_user() {
        let passwd = "root:x:0:0::/:/bin/sh\npostgres:x:101:104:,,,:/var/lib:/bin/bash\n";
        assert_eq!(user_ids(passwd, "postgres"), Some((101, 104)));
        assert_eq!(user_ids(passwd, "nobody"), None);
    }
}
