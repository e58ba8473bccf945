//! The hosts that an install may contact are stored with it and apply to its upgrades.

use std::net::TcpListener;

use milepost_client::Client;
use milepost_client::api::NewToken;
use milepost_model::channel::Entry;
use milepost_model::install::{CheckResult, InstallSettings};
use milepost_model::{Digest, PlanName, Role};

use crate::author::{Author, semver};
use crate::stage::{APP, Stage, at, following};
use crate::web::Web;

async fn deployer(stage: &Stage) -> Client {
    stage.client.app_create(&APP.parse().unwrap(), PlanName::default()).await.unwrap();
    let new = NewToken { name: "dora".to_owned(), role: Role::Deployer, app: Some(APP.parse().unwrap()) };
    let token = stage.client.token_create(&new).await.unwrap().token.unwrap();
    Client::new(stage.client.server().as_str(), &token).unwrap()
}

#[tokio::test]
async fn an_upgrade_asks_no_host_that_its_installer_might_not_have_named() {
    for by_admin in [false, true] {
        let mut author = Author::new();
        author.publish("1.0.0", at("2026-11-18T11:00:00Z"));
        let web = Web::serve(author.root().to_owned()).await;
        let host = web.address().to_string();
        let stage = Stage::with(at("2026-11-18T12:00:00Z"), |settings| settings.install_from = vec![host]).await;
        let deployer = deployer(&stage).await;
        let installer = if by_admin { &stage.client } else { &deployer };
        let settings = InstallSettings { policy: "patch=immediate".parse().unwrap(), ..InstallSettings::default() };
        let mut new = following(&web.channel(), settings);
        new.app = Some(APP.parse().unwrap());
        installer.install_create(&new).await.unwrap();

        // The channel is where it was, and the next version is in a registry inside the server's
        // network.
        let inside = TcpListener::bind("127.0.0.1:0").unwrap();
        inside.set_nonblocking(true).unwrap();
        let mut entry = Entry::new(semver("1.0.1"), Digest::of(b"x"), at("2026-11-18T11:30:00Z"));
        entry.registry = Some(format!("{}/acme/shop", inside.local_addr().unwrap()));
        author.add(entry);
        let was_asked = async {
            let polling = stage.poll();
            tokio::pin!(polling);
            loop {
                if inside.accept().is_ok() {
                    return true;
                }
                let pause = tokio::time::sleep(std::time::Duration::from_millis(20));
                tokio::select! {
                    _ = &mut polling => return inside.accept().is_ok(),
                    () = pause => {}
                }
            }
        };
        assert_eq!(was_asked.await, by_admin);
        if !by_admin {
            let check = stage.last_check().await;
            assert_eq!((check.result, stage.version().await.as_str()), (CheckResult::Refused, "1.0.0"));
            assert!(check.message.contains("ask an administrator"), "{}", check.message);
        }
    }
}
