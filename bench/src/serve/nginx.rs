//! nginx as configured by Debian, with one setting changed at a time.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::client::Target;
use super::place::{self, Place};
use super::process::{Running, command};

/// Debian's own file, which defines "with its defaults".
const DEBIAN: &str = "/etc/nginx/nginx.conf";

pub struct Nginx {
    pub server: Running,
    port: u16,
}

impl Nginx {
    /// Serves `files`. `more` is added to the `http` section. It may contain `access_log off` to
    /// replace Debian's setting.
    pub fn start(place: &Place, name: &str, files: &Path, more: &str, probe: (&str, &[u8])) -> Result<Self> {
        let folder = place.folder(name)?;
        let port = place::free_port()?;
        let debian = fs::read_to_string(DEBIAN).with_context(|| format!("could not read {DEBIAN}"))?;
        let config = folder.join("nginx.conf");
        fs::write(&config, configuration(&debian, &folder, port, files, more))?;
        let mut line = command(place::program("nginx")?);
        line.arg("-c").arg(&config).args(["-g", "daemon off;"]);
        let log = folder.join("output.log");
        let mut server = Running::start(line, &log)?;
        let nginx_port = port;
        place::wait_for(&Target::local(port, probe.0), probe.1, &mut server, &log)?;
        Ok(Self { server, port: nginx_port })
    }

    pub fn target(&self, path: &str) -> Target {
        Target::local(self.port, path)
    }
}

/// Debian's file with our own paths for the pid and the logs, and Debian's default site with our
/// directory.
fn configuration(debian: &str, folder: &Path, port: u16, files: &Path, more: &str) -> String {
    let folder = folder.display();
    let mut site = Some(format!(
        "    {more}\n    server {{\n        listen 127.0.0.1:{port};\n        root {};\n        server_name _;\n        \
         location / {{ try_files $uri $uri/ =404; }}\n    }}\n",
        files.display()
    ));
    let mut text = String::new();
    for line in debian.lines() {
        let own = match line.split_whitespace().next() {
            Some("pid") => format!("pid {folder}/nginx.pid;"),
            Some("error_log") => format!("error_log {folder}/error.log;"),
            Some("access_log") if more.contains("access_log") => String::new(),
            Some("access_log") => format!("    access_log {folder}/access.log;"),
            Some("include") if line.contains("/conf.d/") || line.contains("/sites-enabled/") => {
                site.take().unwrap_or_default()
            }
            _ => line.to_owned(),
        };
        text.push_str(&own);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_debians_settings_and_replaces_its_paths() {
        let debian = "worker_processes auto;\npid /run/nginx.pid;\nerror_log /var/log/e;\nhttp {\n\tsendfile on;\n\
                      \taccess_log /var/log/a;\n\tinclude /etc/nginx/mime.types;\n\tinclude /etc/nginx/conf.d/*.conf;\n\
                      \tinclude /etc/nginx/sites-enabled/*;\n}\n";
        let text = configuration(debian, Path::new("/f"), 81, Path::new("/w"), "");
        assert!(text.contains("\tsendfile on;") && text.contains("include /etc/nginx/mime.types;"));
        assert!(text.contains("pid /f/nginx.pid;") && text.contains("access_log /f/access.log;"));
        assert_eq!(text.matches("listen 127.0.0.1:81;").count(), 1);
        assert!(!text.contains("/var/log") && !text.contains("sites-enabled"));
        let silent = configuration(debian, Path::new("/f"), 81, Path::new("/w"), "access_log off;");
        assert_eq!(silent.matches("access_log").count(), 1);
    }
}
