//! What a command can see, and what it cannot.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::ground::Ground;

#[tokio::test]
async fn hides_the_servers_files_and_environment() {
    let ground = Ground::new().await;
    let secret = ground.folder.path().join("secret.key");
    fs::write(&secret, "secret").expect("write");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o666)).expect("open it");
    let run = ground.folder.path().join("run");
    let command = format!(
        "cat '{}' 2>/dev/null && echo read; ls '{}' 2>/dev/null && echo listed; ls /root 2>/dev/null && echo root; \
         touch /app/x 2>/dev/null && echo tools; touch /usr/x 2>/dev/null && echo system; cat /proc/1/environ 2>/dev/null; \
         env | cut -d= -f1 | sort | tr '\\n' ' '; touch $DEPLOY_PKG",
        secret.display(),
        run.display()
    );
    let built = ground.build(&[], &command).await;
    assert_eq!(built.lines(), ["DEPLOY_PKG HOME LANG PATH PWD SOURCE_DATE_EPOCH SRC_PKG TMPDIR "]);
}

#[tokio::test]
async fn two_builds_do_not_see_each_other() {
    let ground = Ground::new().await;
    let other = ground.room(&[("private.txt", "private")]).await;
    let command = format!("cat '{}' || echo no; touch $DEPLOY_PKG", other.source().join("private.txt").display());
    let built = ground.build(&[], &command).await;
    assert_eq!(built.lines().last(), Some(&"no"));
}

#[tokio::test]
async fn passes_package_manager_variables_and_the_files_they_name() {
    let places = tempfile::tempdir().expect("a folder");
    fs::set_permissions(places.path(), fs::Permissions::from_mode(0o755)).expect("open it");
    let place = |name: &str| places.path().join(name);
    fs::create_dir(place("wheels")).expect("a folder");
    for (name, mode) in [("wheels/a.whl", 0o644), ("ca.pem", 0o644), ("npmrc", 0o600)] {
        fs::write(place(name), name).expect("write");
        fs::set_permissions(place(name), fs::Permissions::from_mode(mode)).expect("set its mode");
    }
    let ground = Ground::with(|settings| {
        settings.build_environment = [
            ("PIP_FIND_LINKS", place("wheels")),
            ("SSL_CERT_FILE", place("ca.pem")),
            ("NPM_CONFIG_USERCONFIG", place("npmrc")),
        ]
        .map(|(name, path)| (name.to_owned(), path.to_string_lossy().into_owned()))
        .into();
    })
    .await;
    let command = "ls $PIP_FIND_LINKS && cat $SSL_CERT_FILE && echo && cat $NPM_CONFIG_USERCONFIG && touch $DEPLOY_PKG";
    let built = ground.build(&[], command).await;
    assert_eq!(built.lines(), ["a.whl", "ca.pem", "npmrc"]);
}

#[tokio::test]
async fn reaches_the_host_over_the_network() {
    let ground = Ground::new().await;
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("an address").port();
    let command = format!(
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port})); print(\"connected\")' && touch $DEPLOY_PKG"
    );
    let built = ground.build_order(&[], crate::ground::order(milepost_model::spec::Runtime::Python, &command)).await;
    assert_eq!(built.lines(), ["connected"]);
}
