//! Serving over standard input and output, or any pair of streams.

use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::protocol::connection::Connection;
use crate::protocol::handler::Handler;
use crate::protocol::line::{LINE_LIMIT, LineTransport};
use crate::server::Server;

/// Why serving ended before its time.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The streams broke.
    #[error("The connection broke: {0}.")]
    Broken(String),
    /// A setting makes no sense.
    #[error("Cannot serve with these settings: {0}.")]
    Settings(String),
    /// The address cannot be listened on.
    #[error("Cannot listen on {address}: {reason}.")]
    Address {
        /// The address.
        address: String,
        /// Why not.
        reason: String,
    },
}

impl Server {
    /// Serves one client over standard input and output until it goes away. Standard output belongs to
    /// the protocol from here on.
    ///
    /// # Errors
    /// When the streams break.
    pub async fn serve_stdio(&self) -> Result<(), ServeError> {
        let (reader, writer) = rmcp::transport::io::stdio_pipes();
        self.serve_stream(reader, writer).await
    }

    /// Serves one client over a pair of streams until it goes away.
    ///
    /// # Errors
    /// When the streams break.
    pub async fn serve_stream<R, W>(&self, reader: R, writer: W) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let connection = Arc::new(Connection::over_streams());
        let transport = LineTransport::new(reader, writer, LINE_LIMIT, self.clone(), Arc::clone(&connection));
        let ended = CancellationToken::new();
        // When the server stops, the connection ends: after the calls in flight, which `stop` waits for.
        let watch = {
            let (stopping, ended) = (self.stopping().clone(), ended.clone());
            // Whoever drops this future drops the watch as well.
            AbortOnDropHandle::new(tokio::spawn(async move {
                stopping.cancelled().await;
                // Let the interrupted calls say so.
                tokio::time::sleep(Duration::from_millis(50)).await;
                ended.cancel();
            }))
        };
        let served = match Handler::new(self.clone(), connection, true).serve_with_ct(transport, ended).await
        {
            Ok(running) => {
                running.waiting().await.map(|_| ()).map_err(|error| ServeError::Broken(error.to_string()))
            }
            // A client that leaves before it said hello or heard it, or that is told to, is no fault.
            Err(
                ServerInitializeError::ConnectionClosed(_)
                | ServerInitializeError::TransportError { .. }
                | ServerInitializeError::Cancelled,
            ) => Ok(()),
            Err(error) => Err(ServeError::Broken(plain(&error))),
        };
        drop(watch);
        served
    }
}

/// What rmcp says of a failed handshake, without the message that it quotes.
fn plain(error: &ServerInitializeError) -> String {
    match error {
        ServerInitializeError::ExpectedInitializeRequest(_) => {
            "the client's first message was not a request that opens a connection".to_owned()
        }
        ServerInitializeError::InitializeFailed(error) => error.message.to_string(),
        _ => "the handshake failed".to_owned(),
    }
}
