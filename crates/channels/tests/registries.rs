//! Debian's registry: published to by us, and read by skopeo.
#![expect(clippy::unwrap_used, reason = "test code")]

mod common;

use common::web::{Answer, Web};
use common::{Author, channel, collect, options, package, version};
use milepost_channels::reach::Reach;
use milepost_channels::registry::{Credentials, Registry, RegistryError};
use milepost_channels::{Http, Source, SourceOptions, StoreOptions, Unpublish, Unpublishing, WriteError};
use milepost_model::Digest;
use milepost_model::channel::Entry;
use milepost_testkit::registry::OciRegistry;

struct World {
    registry: OciRegistry,
    repository: String,
    home: tempfile::TempDir,
    author: Author,
    credentials: Vec<Credentials>,
}

impl World {
    fn new(registry: OciRegistry, credentials: Vec<Credentials>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let repository = format!("{}/team/shop", registry.host());
        let options = StoreOptions { registries: credentials.clone(), ..StoreOptions::default() };
        let mut author = Author::at(home.path().to_str().unwrap(), options);
        author.registry = Some(repository.clone());
        Self { registry, repository, home, author, credentials }
    }

    fn open() -> Self {
        Self::new(OciRegistry::start(), Vec::new())
    }

    fn source(&self, channel: &str) -> Source {
        let options = SourceOptions { registries: self.credentials.clone(), ..options() };
        Source::open(&format!("{}/{}/{channel}", self.home.path().display(), package()), options).unwrap()
    }

    /// The manifest as skopeo reads it, by tag or digest.
    fn raw(&self, reference: &str) -> Result<String, String> {
        self.registry.skopeo(&["inspect", "--raw", &format!("docker://{}{reference}", self.repository)])
    }

    async fn unpublish(&self, text: &str) -> Unpublishing {
        let version = version(text);
        let (package, channel) = (package(), channel(&version));
        let asked = Unpublish {
            package: &package,
            channel: &channel,
            version: &version,
            promote_previous: true,
            even_if_latest: true,
        };
        self.author.store.unpublish(&asked).await.unwrap()
    }
}

#[tokio::test]
async fn skopeo_reads_published_versions_by_tag_and_digest() {
    let world = World::open();
    let stable = world.author.publish("1.2.3").await.unwrap();
    world.author.publish("1.3.0-beta.1+build.7").await.unwrap();
    assert_eq!(stable.entry.registry.as_deref(), Some(world.repository.as_str()));

    let by_tag = world.raw(":1.2.3").unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&by_tag).unwrap();
    let artifact = stable.entry.id.digest().unwrap();
    assert_eq!(manifest["layers"][0]["digest"], artifact.to_string());
    assert_eq!(manifest["annotations"]["org.opencontainers.image.version"], "1.2.3");
    assert_eq!(manifest["artifactType"], "application/vnd.milepost.app.v1");
    let by_digest = world.raw(&format!("@{}", Digest::of(by_tag.as_bytes()))).unwrap();
    assert_eq!(by_tag, by_digest);
    let beta: serde_json::Value = serde_json::from_str(&world.raw(":1.3.0-beta.1_build.7").unwrap()).unwrap();
    assert_eq!(beta["annotations"]["org.opencontainers.image.version"], "1.3.0-beta.1+build.7");
    let tags = world.registry.skopeo(&["list-tags", &format!("docker://{}", world.repository)]).unwrap();
    assert!(tags.contains("\"1.2.3\"") && tags.contains("\"1.3.0-beta.1_build.7\""), "{tags}");

    let folder = world.home.path().join("copied");
    world
        .registry
        .skopeo(&["copy", &format!("docker://{}:1.2.3", world.repository), &format!("dir:{}", folder.display())])
        .unwrap();
    let copied = std::fs::read(folder.join(artifact.hex())).unwrap();
    assert_eq!(copied, b"the artifact of 1.2.3");
}

#[tokio::test]
async fn artifacts_are_fetched_by_digest_not_by_tag() {
    let world = World::open();
    let first = world.author.publish("1.0.0").await.unwrap();
    let second = world.author.publish("1.1.0").await.unwrap();
    // The tag of 1.0.0 is moved to the artifact of 1.1.0.
    let (file, digest) = world.author.artifact("the artifact of 1.1.0");
    let registry = Registry::open(&world.repository, &[], None).unwrap();
    let before = first.entry.id.digest().unwrap();
    registry.delete_tag(&package(), &version("1.0.0"), before, &[]).await.unwrap();
    registry.push(&package(), &version("1.0.0"), &file, digest).await.unwrap();
    let source = world.source("stable");
    for published in [first, second] {
        let bytes = collect(source.artifact(&published.entry).await.unwrap()).await.unwrap();
        assert_eq!(bytes, format!("the artifact of {}", published.entry.version).into_bytes());
    }
}

#[tokio::test]
async fn tag_with_other_content_is_not_replaced() {
    let world = World::open();
    let (file, digest) = world.author.artifact("another author's");
    let registry = Registry::open(&world.repository, &[], None).unwrap();
    registry.push(&package(), &version("1.0.0"), &file, digest).await.unwrap();
    let before = world.raw(":1.0.0").unwrap();
    let error = world.author.publish("1.0.0").await.unwrap_err();
    assert!(matches!(error, WriteError::Registry(RegistryError::TagTaken { .. })), "{error}");
    assert_eq!(world.raw(":1.0.0").unwrap(), before);
    assert!(world.author.versions("stable").await.is_empty(), "the channel has a version whose artifact is not there");
}

#[tokio::test]
async fn unpublish_removes_only_its_own_tag() {
    let world = World::open();
    world.author.publish_as("1.0.0", "the same").await.unwrap();
    let kept = world.author.publish_as("1.0.1", "the same").await.unwrap();
    let done = world.unpublish("1.0.0").await;
    assert!(done.tag_removed && done.tag_problem.is_none(), "{:?}", done.tag_problem);
    assert!(world.raw(":1.0.0").is_err(), "the tag is still there");
    world.raw(":1.0.1").expect("the other version lost its tag");
    let bytes = collect(world.source("stable").artifact(&kept.entry).await.unwrap()).await.unwrap();
    assert_eq!(bytes, b"the same");
    world.author.publish_as("1.0.0", "the same").await.expect("the same bytes can come again");
    world.raw(":1.0.0").unwrap();
}

/// Moves a tag, as a user can do by hand.
fn move_tag(world: &World, tag: &str, to: &str) {
    let named = |tag: &str| format!("docker://{}:{tag}", world.repository);
    world.registry.skopeo(&["copy", "--dest-tls-verify=false", &named(to), &named(tag)]).unwrap();
}

#[tokio::test]
async fn unpublish_keeps_a_moved_tag() {
    let world = World::open();
    let kept = world.author.publish("1.0.0").await.unwrap();
    world.author.publish("1.1.0").await.unwrap();
    let before = world.raw(":1.0.0").unwrap();
    move_tag(&world, "1.1.0", "1.0.0");
    let done = world.unpublish("1.1.0").await;
    assert!(matches!(done.tag_problem, Some(RegistryError::TagMoved { .. })), "{:?}", done.tag_problem);
    assert!(!done.tag_removed);
    assert_eq!(world.raw(":1.0.0").unwrap(), before);
    assert_eq!(world.author.versions("stable").await, ["1.0.0"]);
    collect(world.source("stable").artifact(&kept.entry).await.unwrap()).await.unwrap();
}

#[tokio::test]
async fn unpublish_keeps_a_manifest_that_another_tag_names() {
    let world = World::open();
    world.author.publish_as("1.0.0", "the same").await.unwrap();
    world.author.publish_as("1.0.1", "the same").await.unwrap();
    move_tag(&world, "1.0.1", "1.0.0");
    let done = world.unpublish("1.0.0").await;
    assert!(matches!(done.tag_problem, Some(RegistryError::TagShared { .. })), "{:?}", done.tag_problem);
    world.raw(":1.0.1").expect("the other version lost its tag");
}

#[tokio::test]
async fn tag_moved_to_another_version_is_rejected() {
    let world = World::open();
    let first = world.author.publish("1.0.0").await.unwrap();
    world.author.publish("1.1.0").await.unwrap();
    let registry = Registry::open(&world.repository, &[], None).unwrap();
    move_tag(&world, "1.1.0", "1.0.0");
    let error = registry.find(&version("1.1.0")).await.unwrap_err();
    assert!(error.to_string().contains("was moved to version `1.0.0`"), "{error}");
    assert_eq!(registry.find(&version("1.0.0")).await.unwrap(), first.entry.id.digest());
}

#[tokio::test]
async fn unpublish_reports_a_registry_without_delete() {
    let world = World::new(OciRegistry::without_delete(), Vec::new());
    world.author.publish("1.0.0").await.unwrap();
    let done = world.unpublish("1.0.0").await;
    assert!(matches!(done.tag_problem, Some(RegistryError::DeleteDisabled { .. })), "{:?}", done.tag_problem);
    assert!(world.author.versions("stable").await.is_empty());
}

#[tokio::test]
async fn registry_requires_the_right_password() {
    let registry = OciRegistry::with_password();
    let credentials = |password: &str| {
        vec![Credentials { host: registry.host(), user: OciRegistry::USER.to_owned(), password: password.to_owned() }]
    };
    let (right, wrong) = (credentials(OciRegistry::PASSWORD), credentials("guessed"));
    let world = World::new(registry, right);
    let published = world.author.publish("1.0.0").await.unwrap();
    collect(world.source("stable").artifact(&published.entry).await.unwrap()).await.unwrap();

    let (file, digest) = world.author.artifact("x");
    let stranger = Registry::open(&world.repository, &wrong, None).unwrap();
    let error = stranger.push(&package(), &version("2.0.0"), &file, digest).await.unwrap_err();
    assert!(matches!(error, RegistryError::Denied(_)), "{error}");
    let anonymous = Registry::open(&world.repository, &[], None).unwrap();
    let error = anonymous.push(&package(), &version("2.0.0"), &file, digest).await.unwrap_err();
    assert!(matches!(error, RegistryError::LogIn(_)), "{error}");
}

#[tokio::test]
async fn large_artifact_is_uploaded_in_chunks() {
    let world = World::open();
    let large = "0123456789abcdef".repeat(((40 << 20) + 4096) / 16);
    let published = world.author.publish_as("1.0.0", &large).await.unwrap();
    let bytes = collect(world.source("stable").artifact(&published.entry).await.unwrap()).await.unwrap();
    assert_eq!(bytes.len(), large.len());
}

#[tokio::test]
async fn unreachable_registry_is_transient() {
    let registry = Registry::open("127.0.0.1:9/team/shop", &[], None).unwrap();
    let error = registry.delete_tag(&package(), &version("1.0.0"), Digest::of(b""), &[]).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
}

#[tokio::test]
async fn fetches_a_token_from_the_registrys_token_server() {
    let web = Web::start().await;
    let bytes = b"the artifact of 1.0.0".to_vec();
    let digest = Digest::of(&bytes);
    let realm = format!("{}/token", web.url);
    web.put(&format!("/v2/team/shop/blobs/{digest}"), Answer::ForToken { realm, token: "abc".to_owned(), bytes });
    web.put("/token", Answer::Bytes(br#"{"token": "abc"}"#.to_vec()));
    let home = tempfile::tempdir().unwrap();
    let mut entry = Entry::new(version("1.0.0"), digest, common::now());
    entry.registry = Some(format!("{}/team/shop", web.url.trim_start_matches("http://")));
    let source = Source::open(home.path().to_str().unwrap(), options()).unwrap();
    let read = collect(source.artifact(&entry).await.unwrap()).await.unwrap();
    assert_eq!(read, b"the artifact of 1.0.0");
    web.put("/token", Answer::Status(403));
    let error = source.artifact(&entry).await.err().unwrap();
    assert!(error.to_string().contains("requires a login"), "{error}");
    for failing in [Answer::Status(503), Answer::Status(429), Answer::Cut(b"{".to_vec())] {
        web.put("/token", failing);
        let error = source.artifact(&entry).await.err().unwrap();
        assert!(error.is_transient(), "{error}");
        assert!(error.to_string().contains("token server"), "{error}");
    }
}

#[tokio::test]
async fn tag_taken_by_another_publisher_does_not_undo_the_publish() {
    let world = World::open();
    let before = world.author.publish("1.0.0").await.unwrap().entry.id.digest().unwrap();
    // Two publishers at once: this one has the list, the other one has the tag, and `latest` is not
    // written yet.
    std::fs::remove_file(world.home.path().join(format!("{}/stable/latest", package()))).unwrap();
    let (file, digest) = world.author.artifact("of the other publisher");
    let registry = Registry::open(&world.repository, &[], None).unwrap();
    registry.delete_tag(&package(), &version("1.0.0"), before, &[]).await.unwrap();
    registry.push(&package(), &version("1.0.0"), &file, digest).await.unwrap();
    let done = world.author.publish("1.0.0").await.unwrap();
    assert!(matches!(done.tag_problem, Some(RegistryError::TagTaken { .. })), "{:?}", done.tag_problem);
    let bytes = collect(world.source("stable").artifact(&done.entry).await.unwrap()).await.unwrap();
    assert_eq!(bytes, b"the artifact of 1.0.0");
}

/// A source of an installer who may reach only these hosts, and an entry of a registry.
async fn fetch_within(hosts: &[&str], registry: &Web, digest: Digest) -> Result<Vec<u8>, String> {
    let reach = Reach::Only(hosts.iter().map(|host| (*host).to_owned()).collect());
    let home = tempfile::tempdir().unwrap();
    let with = SourceOptions { http: Some(Http::within(reach).unwrap()), ..options() };
    let source = Source::open(home.path().to_str().unwrap(), with).unwrap();
    let mut entry = Entry::new(version("1.0.0"), digest, common::now());
    entry.registry = Some(format!("{}/team/shop", registry.url.trim_start_matches("http://")));
    match source.artifact(&entry).await {
        Ok(bytes) => Ok(collect(bytes).await.unwrap()),
        Err(error) => {
            assert!(!error.is_transient(), "{error}");
            Err(error.to_string())
        }
    }
}

#[tokio::test]
async fn a_registry_that_a_channel_names_is_asked_only_within_reach() {
    let web = Web::start().await;
    let digest = Digest::of(b"x");
    web.put(&format!("/v2/team/shop/blobs/{digest}"), Answer::Bytes(b"x".to_vec()));
    for hosts in [&[][..], &["example.com"], &["127.0.0.1:1"]] {
        let error = fetch_within(hosts, &web, digest).await.unwrap_err();
        assert!(error.contains("ask an administrator"), "{error}");
    }
    assert!(web.requests().is_empty(), "it was asked");
    let host = web.url.trim_start_matches("http://");
    assert_eq!(fetch_within(&[host], &web, digest).await.unwrap(), b"x");
}

#[tokio::test]
async fn a_registry_leads_an_installer_to_nothing_out_of_reach() {
    let (web, inside) = (Web::start().await, Web::start().await);
    let digest = Digest::of(b"x");
    let (blob, host) = (format!("/v2/team/shop/blobs/{digest}"), web.url.trim_start_matches("http://"));
    let elsewhere = inside.url.replace("http://", "https://");
    for to in [elsewhere.clone(), elsewhere.replace("127.0.0.1", "localhost"), "https://10.255.255.1/".to_owned()] {
        let sent_on = [
            Answer::Redirect(format!("{to}/x")),
            Answer::ForToken { realm: format!("{to}/token"), token: String::new(), bytes: Vec::new() },
        ];
        for answer in sent_on {
            web.put(&blob, answer);
            let error = fetch_within(&[host], &web, digest).await.unwrap_err();
            assert!(error.contains("address that must not be contacted"), "{to}: {error}");
        }
    }
    assert!(inside.requests().is_empty(), "it was asked");
}
