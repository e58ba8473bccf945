use std::fs;
use std::path::Path;

use milepost_testkit::postgres::{Cluster, Setup};
use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair};

use super::*;

struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, as PEM.
struct Pair(String, String);

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = named(&[], name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate").pem();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    fn sign(&self, params: &CertificateParams) -> Pair {
        let key = KeyPair::generate().expect("a key");
        Pair(params.signed_by(&key, &self.issuer).expect("a certificate").pem(), key.serialize_pem())
    }
}

fn named(hosts: &[&str], name: &str) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut params = CertificateParams::new(hosts).expect("names");
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// A server whose certificate is for `localhost`. The user `signed` needs a client certificate.
fn server(authority: &Authority) -> Cluster {
    let Pair(certificate, key) = authority.sign(&named(&["localhost"], "localhost"));
    let hba = "host all milepost 127.0.0.1/32 trust\n\
               hostssl all signed 127.0.0.1/32 trust clientcert=verify-full\n";
    let files = vec![
        ("server.pem", certificate),
        ("server.key", key),
        ("ca.pem", authority.certificate.clone()),
        ("pg_hba.conf", hba.to_owned()),
    ];
    let settings =
        vec![("ssl", "on"), ("ssl_cert_file", "server.pem"), ("ssl_key_file", "server.key"), ("ssl_ca_file", "ca.pem")];
    let cluster = Cluster::start_with(Setup { fsync: false, settings, files });
    cluster.execute("CREATE USER signed");
    cluster
}

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).expect("a file");
    path.display().to_string()
}

/// Whether the connection is encrypted, or why there is none.
async fn encrypted(url: &str) -> std::result::Result<bool, String> {
    let sql = "SELECT CASE WHEN ssl THEN 1 ELSE 0 END FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let postgres = open(url).map_err(|error| whole(&error))?;
    number(&postgres, sql).await.map(|ssl| ssl == 1).map_err(|error| whole(&error))
}

#[tokio::test]
async fn sslmode_encrypts_and_checks_the_server() {
    let (authority, other, folder) =
        (Authority::new("ours"), Authority::new("another"), tempfile::tempdir().expect("a folder"));
    let cluster = server(&authority);
    let roots = file(folder.path(), "roots.pem", &authority.certificate);
    let others = file(folder.path(), "others.pem", &other.certificate);
    let at = |host: &str, query: &str| format!("postgres://milepost@{host}:{}/postgres?{query}", cluster.port());
    for (host, query, expected) in [
        ("127.0.0.1", "sslmode=disable".to_owned(), false),
        ("127.0.0.1", "connect_timeout=5".to_owned(), true),
        ("127.0.0.1", "sslmode=require".to_owned(), true),
        ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={roots}"), true),
        ("127.0.0.1", format!("sslmode=require&sslrootcert={roots}"), true),
        ("localhost", format!("sslmode=verify-full&sslrootcert={roots}"), true),
    ] {
        assert_eq!(encrypted(&at(host, &query)).await, Ok(expected), "{query}");
    }
    for (host, query, expected) in [
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={roots}"), "not valid for name"),
        ("localhost", format!("sslmode=verify-full&sslrootcert={others}"), "UnknownIssuer"),
        ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={others}"), "UnknownIssuer"),
        ("127.0.0.1", format!("sslmode=require&sslrootcert={others}"), "UnknownIssuer"),
        ("localhost", "sslmode=verify-full&sslrootcert=/nowhere.pem".to_owned(), "could not read `/nowhere.pem`"),
    ] {
        let error = encrypted(&at(host, &query)).await.expect_err(&query);
        assert!(error.contains(expected), "{query}: {error}");
    }
}

#[tokio::test]
async fn a_self_signed_certificate_is_its_own_root() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut params = named(&["localhost"], "localhost");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate").pem();
    let files = vec![("server.pem", certificate.clone()), ("server.key", key.serialize_pem())];
    let settings = vec![("ssl", "on"), ("ssl_cert_file", "server.pem"), ("ssl_key_file", "server.key")];
    let cluster = Cluster::start_with(Setup { fsync: false, settings, files });
    let roots = file(folder.path(), "roots.pem", &certificate);
    let at = |host: &str| {
        format!("postgres://milepost@{host}:{}/postgres?sslmode=verify-full&sslrootcert={roots}", cluster.port())
    };
    assert_eq!(encrypted(&at("localhost")).await, Ok(true));
    let error = encrypted(&at("127.0.0.1")).await.expect_err("another name");
    assert!(error.contains("not valid for name"), "{error}");
}

#[tokio::test]
async fn a_client_certificate_is_sent() {
    let (authority, folder) = (Authority::new("ours"), tempfile::tempdir().expect("a folder"));
    let cluster = server(&authority);
    let Pair(certificate, key) = authority.sign(&named(&[], "signed"));
    let (certificate, key) = (file(folder.path(), "c.pem", &certificate), file(folder.path(), "c.key", &key));
    let plain = format!("postgres://signed@127.0.0.1:{}/postgres?sslmode=require", cluster.port());
    let error = encrypted(&plain).await.expect_err("no certificate");
    assert!(error.contains("certificate"), "{error}");
    assert_eq!(encrypted(&format!("{plain}&sslcert={certificate}&sslkey={key}")).await, Ok(true));
}

#[tokio::test]
async fn a_server_without_tls_is_refused_only_where_tls_is_required() {
    let database = milepost_testkit::postgres::database();
    assert_eq!(encrypted(&database.url).await, Ok(false));
    let error = encrypted(&format!("{}?sslmode=require", database.url)).await.expect_err("it has none");
    assert!(error.contains("server does not support TLS"), "{error}");
}
