//! TLS 1.3 (RFC 8446) between processes, by `rustls`.
//!
//! The end that connects checks the certificate of the other end. It must come from the authority that all hosts trust,
//! and be for the expected name. The other end checks no certificate. The token proves the end that connects (see
//! [`crate::handshake`]), and is shown inside of the connection.
//!
//! timely needs connections that can be copied, and processes of a node get theirs as standard streams. So the plain
//! bytes go through a pair of Unix sockets. Two threads between the pair and the network seal and open them.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::TLS13;
use rustls::{
    ClientConfig, ClientConnection, Connection, ConnectionCommon, RootCertStore, ServerConfig,
    ServerConnection, SideData,
};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::handshake::Channel;
use crate::locked;
use crate::socket::{Hasty, Socket};

/// The most bytes that are sealed at once: four records of TLS.
const BLOCK: usize = 64 << 10;

/// The files of a host, `[tls]` in the file of a node or of hosts.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// The certificate of the host, and those between it and the authority's, in PEM.
    certificate: PathBuf,
    /// Its private key, in PEM.
    key: PathBuf,
    /// The certificates that the host trusts, in PEM.
    authority: PathBuf,
    /// The name that all certificates are for. Without it a certificate must be for the address that is connected to.
    pub(crate) name: Option<String>,
}

/// Both ends of connections with TLS, as a host needs them.
#[derive(Clone)]
pub struct Tls {
    /// The end that connects.
    pub client: Client,
    /// The end that accepts.
    pub server: Server,
}

impl Tls {
    /// Reads the certificates and the key from their files.
    ///
    /// # Errors
    /// A file can't be read, or holds something else.
    pub fn read(files: &Files) -> Result<Tls> {
        Ok(Tls {
            client: Client::read(&files.authority, files.name.as_deref())?,
            server: Server::read(files)?,
        })
    }
}

/// The end that connects.
#[derive(Clone)]
pub struct Client {
    config: Arc<ClientConfig>,
    name: Option<ServerName<'static>>,
}

impl Client {
    /// A client that trusts the certificates in a file. It expects certificates for `name`, or without one for the
    /// address to which it connects.
    ///
    /// # Errors
    /// The file can't be read or holds no certificate, or `name` can't be in a certificate.
    pub fn read(authority: &Path, name: Option<&str>) -> Result<Client> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(authority)? {
            roots.add(certificate).map_err(|e| wrong(authority, &e.to_string()))?;
        }
        let named = |name: &str| ServerName::try_from(name.to_string());
        let name = name.map(named).transpose().map_err(|e| {
            wrong(
                authority,
                &format!("the name '{}' can't be in a certificate: {e}", name.unwrap_or_default()),
            )
        })?;
        let config = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]);
        let config = config.map_err(|e| Error::System(e.to_string()))?;
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.resumption = Resumption::disabled();
        Ok(Client { config: Arc::new(config), name })
    }

    /// Does the handshake of TLS over a connection to `host`, until `deadline`.
    ///
    /// # Errors
    /// Errors of the connection. The kind is `InvalidData` where the other end speaks no TLS, or its certificate is not
    /// trusted.
    pub fn connect(&self, socket: TcpStream, host: &str, deadline: Instant) -> io::Result<(Socket, Channel)> {
        let invalid = |e: String| io::Error::new(io::ErrorKind::InvalidData, e);
        let name = match &self.name {
            Some(name) => name.clone(),
            None => ServerName::try_from(host.to_string()).map_err(|e| invalid(e.to_string()))?,
        };
        let client = ClientConnection::new(self.config.clone(), name).map_err(|e| invalid(e.to_string()))?;
        shake_hands(client, socket, deadline)
    }
}

/// The end that accepts.
#[derive(Clone)]
pub struct Server(Arc<ServerConfig>);

impl Server {
    /// A server that shows the certificate in a file.
    fn read(files: &Files) -> Result<Server> {
        let Files { certificate, key, .. } = files;
        let certificates = certificates(certificate)?;
        let private = PrivateKeyDer::from_pem_file(key).map_err(|e| wrong(key, &told(&e, "private key")))?;
        let config = ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]);
        let config = config.map_err(|e| Error::System(e.to_string()))?;
        let config = config.with_no_client_auth().with_single_cert(certificates, private);
        let mut config = config.map_err(|e| wrong(key, &format!("with {}: {e}", certificate.display())))?;
        // No client resumes a session.
        config.send_tls13_tickets = 0;
        Ok(Server(Arc::new(config)))
    }

    /// Does the handshake of TLS over a connection that was accepted, until `deadline`.
    ///
    /// # Errors
    /// Errors of the connection, and another end that speaks no TLS or does not trust this one.
    pub fn accept(&self, socket: TcpStream, deadline: Instant) -> io::Result<(Socket, Channel)> {
        let server = ServerConnection::new(self.0.clone()).map_err(io::Error::other)?;
        shake_hands(server, socket, deadline)
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn wrong(path: &Path, what: &str) -> Error {
    Error::Hosts { path: path.to_path_buf(), what: what.to_string() }
}

/// What is wrong with a file of PEM.
fn told(e: &rustls::pki_types::pem::Error, wanted: &str) -> String {
    match e {
        rustls::pki_types::pem::Error::NoItemsFound => format!("there is no {wanted} in it, in PEM"),
        rustls::pki_types::pem::Error::Io(e) => format!("the {wanted} can't be read: {e}"),
        e => format!("the {wanted} can't be read: {e}"),
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let failed = |e| wrong(path, &told(&e, "certificate"));
    let found = CertificateDer::pem_file_iter(path).map_err(failed)?;
    let found = found.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    match found.is_empty() {
        true => Err(failed(rustls::pki_types::pem::Error::NoItemsFound)),
        false => Ok(found),
    }
}

/// The label of bytes that both ends of a connection export, and no other connection has (RFC 9266).
const EXPORTED: &[u8] = b"EXPORTER-Channel-Binding";

/// Agrees with the other end on keys. Gives the end of the pair that carries the plain bytes, and the channel of this
/// connection.
fn shake_hands<Side: SideData>(
    mut connection: impl Into<Connection> + std::ops::DerefMut<Target = ConnectionCommon<Side>>,
    socket: TcpStream,
    deadline: Instant,
) -> io::Result<(Socket, Channel)> {
    let mut bare = Socket::Bare(socket.try_clone()?);
    while connection.is_handshaking() || connection.wants_write() {
        connection.complete_io(&mut Hasty::new(&mut bare, deadline))?;
    }
    let exported = connection.export_keying_material([0; 32], EXPORTED, None).map_err(io::Error::other)?;
    connection.set_buffer_limit(None);
    socket.set_read_timeout(None)?;
    socket.set_write_timeout(None)?;
    Ok((Socket::Pair(carry(connection.into(), &socket)?), Channel::Tls(exported)))
}

/// Starts the two threads of a connection, which end with it. Gives the end of the pair for plain bytes.
fn carry(connection: Connection, socket: &TcpStream) -> io::Result<UnixStream> {
    let (plain, given) = UnixStream::pair()?;
    let connection = Arc::new(Mutex::new(connection));
    let start = |name: &str, carry: fn(&UnixStream, &TcpStream, &Mutex<Connection>) -> io::Result<()>| {
        let (plain, socket, connection) = (plain.try_clone()?, socket.try_clone()?, connection.clone());
        let carry = move || {
            if carry(&plain, &socket, &connection).is_err() {
                // Both ends see that the connection is over. They need not know why: what fails here is the network.
                let _ = plain.shutdown(Shutdown::Both);
                let _ = socket.shutdown(Shutdown::Both);
            }
        };
        std::thread::Builder::new().name(name.into()).spawn(carry)
    };
    start("palais-seal", seal)?;
    if let Err(e) = start("palais-open", open) {
        // Ends the first thread.
        socket.shutdown(Shutdown::Both)?;
        return Err(e);
    }
    Ok(given)
}

/// Reads once, and again if a signal interrupts the call.
fn read_some(from: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(into) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Reads plain bytes, and sends them sealed, until there are no more.
fn seal(mut plain: &UnixStream, mut socket: &TcpStream, connection: &Mutex<Connection>) -> io::Result<()> {
    let (mut bytes, mut sealed) = (vec![0; BLOCK], Vec::with_capacity(2 * BLOCK));
    loop {
        let read = read_some(&mut plain, &mut bytes)?;
        sealed.clear();
        let mut connection = locked(connection);
        match read {
            0 => connection.send_close_notify(),
            read => connection.writer().write_all(&bytes[..read])?,
        }
        while connection.wants_write() {
            connection.write_tls(&mut sealed)?;
        }
        // The other direction need not wait for the network.
        drop(connection);
        socket.write_all(&sealed)?;
        if read == 0 {
            return socket.shutdown(Shutdown::Write);
        }
    }
}

/// Reads sealed bytes, and passes them on plain, until the other end says that there are no more.
fn open(mut plain: &UnixStream, mut socket: &TcpStream, connection: &Mutex<Connection>) -> io::Result<()> {
    let (mut bytes, mut opened) = (vec![0; BLOCK], Vec::with_capacity(2 * BLOCK));
    let mut sealed: &[u8] = &[];
    loop {
        opened.clear();
        let mut connection = locked(connection);
        let is_over = loop {
            // Bytes that came with the handshake are here before any are read.
            let state = connection.process_new_packets().map_err(io::Error::other)?;
            let (before, more) = (opened.len(), state.plaintext_bytes_to_read());
            opened.resize(before + more, 0);
            connection.reader().read_exact(&mut opened[before..])?;
            if sealed.is_empty() || state.peer_has_closed() {
                break state.peer_has_closed();
            }
            connection.read_tls(&mut sealed)?;
        };
        drop(connection);
        plain.write_all(&opened)?;
        if is_over {
            return plain.shutdown(Shutdown::Write);
        }
        match read_some(&mut socket, &mut bytes)? {
            // Without the other end's word that it has sent all, bytes may be missing.
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => sealed = &bytes[..read],
        }
    }
}
