//! The TLS certificate, which can be renewed while connections are open.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// The TLS configuration. Clones share it.
#[derive(Clone)]
pub struct Tls {
    current: Arc<ArcSwap<ServerConfig>>,
    files: Option<Arc<Files>>,
}

struct Files {
    certificate: PathBuf,
    key: PathBuf,
    /// The contents read last.
    seen: ArcSwap<(Vec<u8>, Vec<u8>)>,
}

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{} cannot be read", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the certificate is not in PEM form: it begins with `-----BEGIN CERTIFICATE-----`")]
    Certificate(#[source] rustls::pki_types::pem::Error),
    #[error("the private key is not in PEM form, or is encrypted: give an unencrypted one")]
    Key(#[source] rustls::pki_types::pem::Error),
    #[error("the certificate and the key cannot be used together")]
    Pair(#[source] rustls::Error),
}

impl Tls {
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        Ok(Self { current: Arc::new(ArcSwap::new(configure(certificate, key)?)), files: None })
    }

    /// [`Tls::reload`] reads the files again, and so does the gateway periodically while it serves.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let seen = (read(certificate)?, read(key)?);
        let mut tls = Self::from_pem(&seen.0, &seen.1)?;
        let (certificate, key, seen) = (certificate.to_owned(), key.to_owned(), ArcSwap::from_pointee(seen));
        tls.files = Some(Arc::new(Files { certificate, key, seen }));
        Ok(tls)
    }

    /// Reloads the files for new connections. Returns whether they changed. Invalid files change
    /// nothing.
    pub fn reload(&self) -> Result<bool, TlsError> {
        let Some(files) = &self.files else { return Ok(false) };
        let now = (read(&files.certificate)?, read(&files.key)?);
        if now == **files.seen.load() {
            return Ok(false);
        }
        self.current.store(configure(&now.0, &now.1)?);
        files.seen.store(Arc::new(now));
        Ok(true)
    }

    pub(crate) fn has_files(&self) -> bool {
        self.files.is_some()
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.current.load_full())
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::Read { path: path.to_owned(), source })
}

fn configure(certificate: &[u8], key: &[u8]) -> Result<Arc<ServerConfig>, TlsError> {
    let chain: Vec<_> =
        CertificateDer::pem_slice_iter(certificate).collect::<Result<_, _>>().map_err(TlsError::Certificate)?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(TlsError::Key)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(TlsError::Pair)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str) -> (String, String) {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    #[test]
    fn reloads_valid_files_and_keeps_the_old_pair_otherwise() {
        let folder = tempfile::tempdir().expect("a folder");
        let (at_certificate, at_key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
        let write = |(certificate, key): &(String, String)| {
            std::fs::write(&at_certificate, certificate).expect("it is written");
            std::fs::write(&at_key, key).expect("it is written");
        };
        let first = pair("one.example");
        write(&first);
        let tls = Tls::from_files(&at_certificate, &at_key).expect("it is taken");
        assert!(!tls.reload().expect("nothing is wrong"));
        let before = tls.current.load_full();

        write(&pair("two.example"));
        assert!(tls.reload().expect("it is taken"));
        let after = tls.current.load_full();
        assert!(!Arc::ptr_eq(&before, &after));

        write(&(first.0.clone(), pair("three.example").1));
        assert!(matches!(tls.reload(), Err(TlsError::Pair(_))));
        write(&("nonsense".to_owned(), first.1.clone()));
        tls.reload().expect_err("there is no certificate in it");
        assert!(Arc::ptr_eq(&after, &tls.current.load_full()));
    }
}
