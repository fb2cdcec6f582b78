//! Whom to believe that it is the host it says it is.

use std::io;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::wire::StoppableStream;

/// The certificates that vouch for hosts. Cheap to clone; to be made once.
#[derive(Debug, Clone)]
pub struct TrustRoots(Arc<ClientConfig>);

impl TrustRoots {
    /// Those that this host trusts.
    pub fn system() -> io::Result<Self> {
        let found = rustls_native_certs::load_native_certs();
        let roots = Self::of(found.certs)?;
        match found.errors.into_iter().next() {
            Some(error) if roots.1 == 0 => Err(io::Error::other(error)),
            None if roots.1 == 0 => Err(io::Error::other("this host trusts no certificates")),
            _ => Ok(roots.0),
        }
    }

    /// These alone, each in DER.
    pub fn only(certificates: impl IntoIterator<Item = Vec<u8>>) -> io::Result<Self> {
        let certificates = certificates.into_iter().map(CertificateDer::from);
        Ok(Self::of(certificates)?.0)
    }

    /// And how many of them can be used: hosts have some odd ones.
    fn of(
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

    /// Speaks to a host over a connection to it.
    pub(super) fn secure<'a>(
        &self,
        host: &str,
        wire: StoppableStream<'a>,
    ) -> io::Result<StreamOwned<ClientConnection, StoppableStream<'a>>> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let session = ClientConnection::new(Arc::clone(&self.0), name).map_err(io::Error::other)?;
        Ok(StreamOwned::new(session, wire))
    }
}
