//! A sandbox in a directory of its own, and helpers for workers in it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::ExitStatus;

use milepost_model::spec::Runtime;
use milepost_runtime::sandbox::{ClosedPorts, Jail, JailLimits, JailSettings, JailSpec, Jailed, interpreters};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;

use crate::support;

pub struct Place {
    pub jail: Jail,
    pub folder: TempDir,
}

pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    pub fn new() -> Self {
        Self::with(true)
    }

    pub fn with(sandbox: bool) -> Self {
        Self::expecting(sandbox, sandbox)
    }

    pub fn expecting(sandbox: bool, namespaces: bool) -> Self {
        let place = Self::make(sandbox, Vec::new());
        let walls = place.jail.abilities().iter().any(|ability| ability.name == "namespaces" && ability.in_force);
        assert_eq!(walls, namespaces, "{:#?}", place.jail.abilities());
        place
    }

    /// Hides these files from workers.
    pub fn hiding(hidden: Vec<PathBuf>) -> Self {
        Self::make(true, hidden)
    }

    fn make(sandbox: bool, hidden: Vec<PathBuf>) -> Self {
        let folder = tempfile::Builder::new().prefix("jail of a test ").tempdir().expect("a folder");
        // Accessible to all users, so that only the sandbox keeps others out.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("open the folder");
        let run = folder.path().join("run");
        fs::create_dir(&run).expect("a run folder");
        fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).expect("open the folder");
        let jail = Jail::detect(JailSettings {
            program: support::stages(),
            run,
            sandbox,
            hidden,
            closed_ports: ClosedPorts::default(),
        });
        Self { jail, folder }
    }

    pub fn spec(&self, instance: u64, code: &str) -> JailSpec {
        let python = interpreters::find(Runtime::Python, "").expect("python3");
        let app_folder = self.folder.path().join(format!("run/app-{instance}"));
        fs::create_dir_all(&app_folder).expect("an app folder");
        JailSpec {
            program: python.program,
            args: ["-I", "-S", "-u", "-c", code].map(str::to_owned).into(),
            env: Vec::new(),
            app_folder,
            readable: python.readable,
            writable: None,
            limits: JailLimits { processes: 32, open_files: 64, file_size: 1 << 20, scratch: 4 << 20 },
            instance,
        }
    }

    pub fn start(&self, spec: &JailSpec) -> Jailed {
        let socket = self.folder.path().join(format!("run/{}.sock", spec.instance));
        let _ = fs::remove_file(&socket);
        self.jail.start(spec, UnixListener::bind(socket).expect("a socket")).expect("start the worker")
    }

    pub async fn run(&self, code: &str) -> Ended {
        end(self.start(&self.spec(1, code))).await
    }

    /// The output of a program that is expected to succeed.
    pub async fn says(&self, code: &str) -> String {
        let ended = self.run(code).await;
        assert!(ended.status.success(), "{}: {}", ended.status, ended.stderr);
        ended.stdout.trim().to_owned()
    }
}

pub async fn end(mut jailed: Jailed) -> Ended {
    let (mut stdout, mut stderr) = (String::new(), String::new());
    let (status, out, err) = tokio::join!(
        jailed.child.wait(),
        jailed.stdout.read_to_string(&mut stdout),
        jailed.stderr.read_to_string(&mut stderr),
    );
    out.and(err).expect("read what it said");
    Ended { status: status.expect("wait for its end"), stdout, stderr }
}

/// Reads byte by byte, so that everything after the line is left for the next reader.
pub async fn first_line(jailed: &mut Jailed) -> String {
    let mut line = Vec::new();
    loop {
        match jailed.stdout.read_u8().await {
            Ok(b'\n') | Err(_) => return String::from_utf8(line).expect("text"),
            Ok(byte) => line.push(byte),
        }
    }
}

/// The number of processes on the machine with this text in their command line.
pub fn processes_with(mark: &str) -> usize {
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    all.filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .filter(|line| line.windows(mark.len()).any(|part| part == mark.as_bytes()))
        .count()
}

pub fn mark(name: &str) -> String {
    format!("mark-{name}-{}", std::process::id())
}
