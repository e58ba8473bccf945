//! Publishing and unpublishing in a directory and in S3. The tests of the command line run the same
//! cases on a Milepost server.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod common;

use std::sync::Arc;

use common::{Author, channel, latest_version, options, package, version};
use milepost_channels::{SecretKey, Source, StoreOptions, Unpublish, WriteError};
use milepost_model::channel::{PublishRefusal, UnpublishRefusal};
use milepost_testkit::s3::S3Server;

/// A place for channels, with access to one of its sources.
struct Place {
    url: String,
    aws: Option<Vec<(String, String)>>,
}

impl Place {
    fn author(&self, key: Option<SecretKey>) -> Author {
        Author::at(&self.url, StoreOptions { key, aws: self.aws.clone(), ..StoreOptions::default() })
    }

    fn source(&self, channel: &str) -> Source {
        let options = milepost_channels::SourceOptions { aws: self.aws.clone(), ..options() };
        Source::open(&format!("{}/{}/{channel}", self.url, package()), options).unwrap()
    }
}

fn folder(home: &tempfile::TempDir) -> Place {
    Place { url: home.path().join("channels").to_str().unwrap().to_owned(), aws: None }
}

fn bucket(server: &S3Server, prefix: &str) -> Place {
    let aws = server.variables().map(|(name, value)| (name.to_owned(), value)).to_vec();
    Place { url: format!("s3://{}/{prefix}", S3Server::BUCKET), aws: Some(aws) }
}

async fn a_life_of_a_channel(place: &Place) {
    let author = place.author(None);
    let first = author.publish("1.0.0").await.unwrap();
    assert!(first.is_latest);
    author.publish("1.2.0").await.unwrap();
    let patch = author.publish("1.0.1").await.unwrap();
    assert!(!patch.is_latest, "an older line does not take latest");
    assert_eq!(author.versions("stable").await, ["1.2.0", "1.0.1", "1.0.0"]);

    let source = place.source("stable");
    let all = source.all().await.unwrap().all;
    for entry in all.versions() {
        let bytes = common::collect(source.artifact(entry).await.unwrap()).await.unwrap();
        assert_eq!(bytes, format!("the artifact of {}", entry.version).into_bytes());
    }
    let read = common::latest(&source).await.unwrap();
    let again = source.latest(read.tag.as_deref()).await.unwrap();
    assert!(matches!(again, milepost_channels::LatestAnswer::NotModified), "{again:?}");

    let beta = author.publish("1.3.0-beta.1+7").await.unwrap();
    assert_eq!(beta.all.name().as_str(), "beta");
    assert_eq!(latest_version(&place.source("beta")).await.as_deref(), Some("1.3.0-beta.1+7"));
    let listed = author.store.list().await.unwrap();
    let listed: Vec<String> = listed.into_iter().map(|(package, channel)| format!("{package} {channel}")).collect();
    assert_eq!(listed, ["team/shop beta", "team/shop stable"]);

    refusals(&author).await;
    unpublishing(place, &author).await;
}

async fn refusals(author: &Author) {
    let refused = |result: Result<_, WriteError>| match result {
        Err(WriteError::Publish(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    };
    assert!(matches!(refused(author.publish("1.0.0").await.map(drop)), PublishRefusal::Exists(..)));
    assert!(matches!(refused(author.publish_as("1.0.0", "other").await.map(drop)), PublishRefusal::Exists(..)));
    let late = refused(author.publish("1.2.0-beta.9").await.map(drop));
    assert!(matches!(late, PublishRefusal::AlreadyStable { .. }), "{late}");
}

async fn unpublishing(place: &Place, author: &Author) {
    let (package, stable) = (package(), "stable".parse().unwrap());
    let shared = author.publish_as("1.0.2", "the artifact of 1.0.1").await.unwrap();
    let take_back = async |text: &str, promote_previous, even_if_latest| {
        let version = version(text);
        let channel = channel(&version);
        let asked =
            Unpublish { package: &package, channel: &channel, version: &version, promote_previous, even_if_latest };
        author.store.unpublish(&asked).await
    };
    let done = take_back("1.0.1", false, false).await.unwrap();
    assert!(!done.artifact_removed, "1.0.2 has the same artifact");
    let source = place.source("stable");
    assert!(source.artifact(&shared.entry).await.is_ok());

    let error = take_back("1.2.0", false, false).await.unwrap_err();
    assert!(matches!(error, WriteError::IsLatest { .. }), "{error}");
    assert_eq!(latest_version(&source).await.as_deref(), Some("1.2.0"));
    let done = take_back("1.2.0", true, true).await.unwrap();
    assert!(done.artifact_removed);
    assert_eq!(latest_version(&source).await.as_deref(), Some("1.0.2"));
    take_back("1.0.2", false, true).await.unwrap();
    assert_eq!(latest_version(&source).await, None, "the seed sets latest to nothing");

    let all = author.store.read(&package, &stable).await.unwrap().unwrap();
    assert_eq!(all.unpublished().len(), 3);
    let error = take_back("1.0.1", false, false).await.unwrap_err();
    assert!(matches!(error, WriteError::Unpublish(UnpublishRefusal::Already { .. })), "{error}");
    let error = take_back("7.0.0", false, false).await.unwrap_err();
    assert!(matches!(error, WriteError::Unpublish(UnpublishRefusal::Unknown { .. })), "{error}");
    let error = author.publish_as("1.2.0", "other bytes").await.unwrap_err();
    assert!(matches!(error, WriteError::Publish(PublishRefusal::Reused(_))), "{error}");
    author.publish("1.2.0").await.unwrap();
    assert_eq!(latest_version(&source).await.as_deref(), Some("1.2.0"));
}

/// Each publisher has its own connection, as on separate machines.
async fn many_publishers_lose_nothing(place: &Place, publishers: u32, each: u32, secret: Option<&str>) {
    let home = tempfile::tempdir().unwrap();
    let load = || {
        secret.map(|text| {
            let path = home.path().join(format!("{}.key", getrandom_name()));
            write_secret(&path, text);
            SecretKey::load(&path, None).unwrap()
        })
    };
    let mut tasks = tokio::task::JoinSet::new();
    for publisher in 0..publishers {
        let author = Arc::new(place.author(load()));
        tasks.spawn(async move {
            for number in 0..each {
                let text = format!("1.{publisher}.{number}");
                author.publish(&text).await.unwrap_or_else(|error| panic!("{text}: {error}"));
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let author = place.author(load());
    let versions = author.versions("stable").await;
    assert_eq!(versions.len() as u32, publishers * each, "entries were lost: {versions:?}");
    let mut reader = options();
    reader.aws = place.aws.clone();
    reader.key = author.store.public_key().cloned();
    let source = Source::open(&format!("{}/{}/stable", place.url, package()), reader).unwrap();
    assert_eq!(latest_version(&source).await, versions.first().cloned());
    let all = source.all().await.unwrap();
    assert_eq!(all.all.versions().len(), versions.len());
}

fn getrandom_name() -> String {
    tempfile::NamedTempFile::new().unwrap().path().file_name().unwrap().to_str().unwrap().replace('.', "k")
}

fn write_secret(path: &std::path::Path, text: &str) {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = std::fs::File::options().write(true).create_new(true).mode(0o600).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

#[tokio::test]
async fn folder_supports_the_whole_lifecycle() {
    let home = tempfile::tempdir().unwrap();
    a_life_of_a_channel(&folder(&home)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_publishes_to_a_folder_lose_no_entry() {
    let home = tempfile::tempdir().unwrap();
    many_publishers_lose_nothing(&folder(&home), 8, 5, None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_signed_publishes_leave_valid_signatures() {
    let home = tempfile::tempdir().unwrap();
    let (_, secret) = common::key();
    many_publishers_lose_nothing(&folder(&home), 5, 4, Some(&secret)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_bucket_supports_the_whole_lifecycle_and_concurrent_publishes() {
    let server = S3Server::start();
    a_life_of_a_channel(&bucket(&server, "life")).await;
    many_publishers_lose_nothing(&bucket(&server, "many"), 4, 4, None).await;
    let (_, secret) = common::key();
    many_publishers_lose_nothing(&bucket(&server, "signed"), 3, 3, Some(&secret)).await;
}
