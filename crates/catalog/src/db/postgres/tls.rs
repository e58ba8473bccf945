//! TLS to PostgreSQL, with the checks of `sslmode`.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};

use super::address::{Check, TlsSettings};

#[derive(Debug, thiserror::Error)]
pub(super) enum TlsError {
    #[error("could not read `{}`, which `{parameter}` names", path.display())]
    File { parameter: &'static str, path: PathBuf, source: pem::Error },
    #[error("`{}`, which `sslrootcert` names, holds no certificate that can be used", .0.display())]
    NoRoots(PathBuf),
    #[error("the system has no root certificates; name a file with `sslrootcert`")]
    NoSystemRoots,
    #[error("could not use the certificate of `sslcert` with the key of `sslkey`")]
    Identity(#[source] rustls::Error),
    #[error("could not set up TLS")]
    Setup(#[source] rustls::Error),
}

/// Makes TLS connections. Clones share the configuration.
#[derive(Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

impl Tls {
    pub(super) fn new(settings: &TlsSettings) -> Result<Self, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = Verifier { check: settings.check, trusted: trusted(settings)?, provider: Arc::clone(&provider) };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match &settings.identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = certificates("sslcert", certificate)?;
                let key = PrivateKeyDer::from_pem_file(key).map_err(|source| TlsError::File {
                    parameter: "sslkey",
                    path: key.clone(),
                    source,
                })?;
                builder.with_client_auth_cert(chain, key).map_err(TlsError::Identity)?
            }
        };
        // Needed for `sslnegotiation=direct`, ignored otherwise.
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Self(Arc::new(config)))
    }
}

fn certificates(parameter: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = || CertificateDer::pem_file_iter(path)?.collect::<Result<Vec<_>, _>>();
    read().map_err(|source| TlsError::File { parameter, path: path.to_owned(), source })
}

/// The certificates that are trusted, and those of them that can sign others.
#[derive(Debug)]
struct Trusted {
    exact: Vec<CertificateDer<'static>>,
    roots: RootCertStore,
}

fn trusted(settings: &TlsSettings) -> Result<Trusted, TlsError> {
    let mut roots = RootCertStore::empty();
    if settings.check == Check::Nothing {
        return Ok(Trusted { exact: Vec::new(), roots });
    }
    let Some(path) = &settings.roots else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return if roots.is_empty() { Err(TlsError::NoSystemRoots) } else { Ok(Trusted { exact: Vec::new(), roots }) };
    };
    let exact = certificates("sslrootcert", path)?;
    roots.add_parsable_certificates(exact.iter().cloned());
    if exact.is_empty() { Err(TlsError::NoRoots(path.clone())) } else { Ok(Trusted { exact, roots }) }
}

#[derive(Debug)]
struct Verifier {
    check: Check,
    trusted: Trusted,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.check == Check::Nothing {
            return Ok(ServerCertVerified::assertion());
        }
        let certificate = ParsedCertificate::try_from(end_entity)?;
        // The server's own self-signed certificate as the root is common with PostgreSQL. A chain
        // cannot be built from it, because it is marked as an authority.
        if !self.trusted.exact.contains(&end_entity.clone().into_owned()) {
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(
                &certificate,
                &self.trusted.roots,
                intermediates,
                now,
                algorithms,
            )?;
        }
        if self.check == Check::ChainAndName {
            verify_server_name(&certificate, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        // Without a check of the certificate, its signature proves nothing; and old certificates
        // cannot be parsed.
        if self.check == Check::Nothing {
            return Ok(HandshakeSignatureValid::assertion());
        }
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if self.check == Check::Nothing {
            return Ok(HandshakeSignatureValid::assertion());
        }
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Stream;
    type TlsConnect = Handshake;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, InvalidDnsNameError> {
        // A socket has no name and is never encrypted, but the driver asks in any case.
        let host = if host.is_empty() { "localhost" } else { host };
        Ok(Handshake { config: Arc::clone(&self.0), host: ServerName::try_from(host)?.to_owned() })
    }
}

pub(super) struct Handshake {
    config: Arc<ClientConfig>,
    host: ServerName<'static>,
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let connector = tokio_rustls::TlsConnector::from(self.config);
            Ok(Stream(Box::new(connector.connect(self.host, socket).await?)))
        })
    }
}

/// Boxed, because it is much larger than a plain socket.
pub(in crate::db) struct Stream(Box<tokio_rustls::client::TlsStream<Socket>>);

impl TlsStream for Stream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(context, to)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(context, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(context)
    }
}
