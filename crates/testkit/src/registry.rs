//! An OCI registry: Debian's `docker-registry`, in its own process, and `skopeo` to inspect it.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::free_port;

const START_DEADLINE: Duration = Duration::from_secs(30);

/// A running, empty registry. Dropping it ends the process and removes its storage.
pub struct OciRegistry {
    child: Child,
    port: u16,
    _home: TempDir,
}

impl OciRegistry {
    /// The user of a registry made by [`OciRegistry::with_password`].
    pub const USER: &'static str = "author";
    pub const PASSWORD: &'static str = "correct horse";
    /// User and password as a bcrypt hash, the only format that the registry supports.
    const HTPASSWD: &'static str = "author:$2b$04$uMfD9/bbzqJa7jtvFnwbk.zhuWkKrpluF4AbCgF4CjppjbjWkuwu6\n";

    /// A registry with full anonymous access, including deletion.
    pub fn start() -> Self {
        Self::start_as(false, true)
    }

    /// A registry that requires a user name and a password.
    pub fn with_password() -> Self {
        Self::start_as(true, true)
    }

    /// A registry without deletion, which is the default configuration.
    pub fn without_delete() -> Self {
        Self::start_as(false, false)
    }

    fn start_as(password: bool, delete: bool) -> Self {
        let deadline = Instant::now() + START_DEADLINE;
        loop {
            // If another process takes the free port first, the registry exits and the next try
            // uses a new one.
            let port = free_port();
            let home = tempfile::Builder::new().prefix("milepost-registry-").tempdir().unwrap();
            let config = configuration(&home, port, password, delete);
            let mut command = Command::new("docker-registry");
            command.arg("serve").arg(&config).env_remove("OTEL_TRACES_EXPORTER");
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let child = command.spawn().expect("start `docker-registry`; `cargo xtask setup` installs it");
            let mut registry = Self { child, port, _home: home };
            while matches!(registry.child.try_wait(), Ok(None)) {
                if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                    return registry;
                }
                assert!(Instant::now() < deadline, "the registry did not answer within {START_DEADLINE:?}");
                thread::sleep(Duration::from_millis(10));
            }
            assert!(Instant::now() < deadline, "the registry does not start");
        }
    }

    /// Returns `127.0.0.1:PORT`.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Runs `skopeo ARGS` without TLS. Returns its output, or its error message.
    pub fn skopeo(&self, args: &[&str]) -> Result<String, String> {
        let (verb, rest) = args.split_first().expect("a verb");
        let mut command = Command::new("skopeo");
        // `copy` has one such option per side.
        let tls = if *verb == "copy" { "--src-tls-verify=false" } else { "--tls-verify=false" };
        command.arg("--insecure-policy").arg(verb).arg(tls).args(rest).stdin(Stdio::null());
        let output = command.output().expect("run `skopeo`; `cargo xtask setup` installs it");
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }
}

impl Drop for OciRegistry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configuration(home: &TempDir, port: u16, password: bool, delete: bool) -> std::path::PathBuf {
    let root = home.path().join("storage");
    let mut text = format!(
        "version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: {}\n  delete:\n    enabled: \
         {delete}\nhttp:\n  addr: 127.0.0.1:{port}\n",
        root.display()
    );
    if password {
        let file = home.path().join("htpasswd");
        fs::write(&file, OciRegistry::HTPASSWD).unwrap();
        text.push_str(&format!("auth:\n  htpasswd:\n    realm: test\n    path: {}\n", file.display()));
    }
    let config = home.path().join("config.yml");
    fs::write(&config, text).unwrap();
    config
}
