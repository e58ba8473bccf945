//! The addresses of a server.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use milepost_gateway::{Listener, Tls};
use tokio::net::TcpListener;

use super::StartError;
use crate::settings::Settings;

pub(super) async fn listen(addr: SocketAddr, flag: &'static str) -> Result<TcpListener, StartError> {
    TcpListener::bind(addr).await.map_err(|source| StartError::Listen { addr, flag, source })
}

/// Always plain HTTP, even if the gateway serves TLS, because only this machine can connect. See
/// 006, "Calls inside".
pub(super) async fn listen_inside() -> Result<TcpListener, StartError> {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await {
        Ok(listener) => Ok(listener),
        Err(_) => TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await.map_err(StartError::Inside),
    }
}

pub(super) fn secured(door: TcpListener, settings: &Settings) -> Result<Listener, StartError> {
    match &settings.tls {
        Some((certificate, key)) => Ok(Listener::tls(door, Tls::from_files(certificate, key)?)),
        None => Ok(Listener::plain(door)),
    }
}
