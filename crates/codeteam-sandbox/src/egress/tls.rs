//! Verifies the identity of hosts over TLS.

use std::io;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::stream::StoppableStream;

/// The trusted root certificates. Cheap to clone; create it once.
#[derive(Debug, Clone)]
pub struct TrustRoots(Arc<ClientConfig>);

impl TrustRoots {
    /// Loads the certificates that this host trusts.
    pub fn from_system() -> io::Result<Self> {
        let found = rustls_native_certs::load_native_certs();
        let roots = Self::from_der(found.certs)?;
        match found.errors.into_iter().next() {
            Some(error) if roots.1 == 0 => Err(io::Error::other(error)),
            None if roots.1 == 0 => Err(io::Error::other("this host trusts no certificates")),
            _ => Ok(roots.0),
        }
    }

    /// Trusts only these certificates, each in DER.
    pub fn from_certificates(certificates: impl IntoIterator<Item = Vec<u8>>) -> io::Result<Self> {
        let certificates = certificates.into_iter().map(CertificateDer::from);
        Ok(Self::from_der(certificates)?.0)
    }

    /// Also returns how many of the certificates can be used: some hosts have unusual ones.
    fn from_der(
        certificates: impl IntoIterator<Item = CertificateDer<'static>>,
    ) -> io::Result<(Self, usize)> {
        let mut store = RootCertStore::empty();
        let (usable, _) = store.add_parsable_certificates(certificates);
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(store)
            .with_no_client_auth();
        Ok((Self(Arc::new(config)), usable))
    }

    /// Starts TLS with a host over an existing connection.
    pub(super) fn connect<'a>(
        &self,
        host: &str,
        wire: StoppableStream<'a>,
    ) -> io::Result<StreamOwned<ClientConnection, StoppableStream<'a>>> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let session = ClientConnection::new(Arc::clone(&self.0), name).map_err(io::Error::other)?;
        Ok(StreamOwned::new(session, wire))
    }
}
