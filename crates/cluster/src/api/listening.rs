//! The API on a loopback port, for a real `kubectl`.
//!
//! Plain HTTP, and nobody is asked who they are: so no address but the machine's own is listened
//! on, and a web page that has a browser send requests here is refused, whether it gives this
//! address another name (`Host`) or speaks from another place (`Origin`).
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use roadstead_cluster::api::SharedCluster;
//! use roadstead_cluster::api::listening::{Listener, keep_ticking};
//! # async fn example(cluster: SharedCluster) -> Result<(), Box<dyn std::error::Error>> {
//! let listener = Listener::bind(([127, 0, 0, 1], 8001).into(), &cluster).await?;
//! println!("kubectl --server=http://{}", listener.address());
//! let stop = async { /* as long as wanted */ };
//! tokio::select! {
//!     () = listener.serve(stop) => {}
//!     () = keep_ticking(&cluster, Duration::from_millis(100)) => {}
//! }
//! # Ok(())
//! # }
//! ```

mod body;
mod guard;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tower_service::Service;

use self::body::UntilStopped;
use super::{ApiService, SharedCluster};

/// Why the API cannot be had on an address.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The address can be reached from elsewhere.
    #[error(
        "{0} is not a loopback address: the API of the embedded cluster lets everyone do \
         everything, so it is served to this machine only; use 127.0.0.1 or ::1"
    )]
    NotLoopback(SocketAddr),
    /// The system refused it.
    #[error("cannot listen on {address}: {source}; choose another port")]
    Refused {
        /// The address.
        address: SocketAddr,
        /// What the system said. It is in the message.
        source: io::Error,
    },
}

/// A port on which the API of a cluster is to be had.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
    service: ApiService,
}

impl Listener {
    /// Takes a port; 0 means any that is free. Connections wait until [`serve`](Self::serve).
    ///
    /// # Errors
    /// [`ListenError::NotLoopback`], and [`ListenError::Refused`] for a port that is taken.
    pub async fn bind(address: SocketAddr, cluster: &SharedCluster) -> Result<Self, ListenError> {
        if !address.ip().is_loopback() {
            return Err(ListenError::NotLoopback(address));
        }
        let refused = |source| ListenError::Refused { address, source };
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(Self { listener, address, service: cluster.service() })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until `stop` is done. Then watches end, and what else is under way may
    /// come to its end, for a moment.
    ///
    /// Somebody has to let the cluster's time pass meanwhile: see [`keep_ticking`].
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let (stopping, stopped) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut stop = pin!(stop);
        loop {
            // A full house leaves newcomers in the kernel's queue, which is bounded too.
            let accepted = async {
                let place = Arc::clone(&places).acquire_owned().await;
                (place, self.listener.accept().await)
            };
            tokio::select! {
                () = &mut stop => break,
                Some(_) = connections.join_next() => {}
                (place, accepted) = accepted => match accepted {
                    Ok((stream, _)) => {
                        let (service, stopped) = (self.service.clone(), stopped.clone());
                        connections.spawn(async move {
                            let _place = place;
                            converse(stream, service, stopped).await;
                        });
                    }
                    // Out of file descriptors, most likely: it lasts.
                    Err(_) => tokio::time::sleep(ACCEPT_AGAIN).await,
                },
            }
        }
        drop(self.listener);
        stopping.send_replace(true);
        let all = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST_ANSWERS, all).await.is_err() {
            connections.shutdown().await;
        }
    }
}

/// Lets the time of a cluster pass, for ever: controllers and kubelets do what is due, and watches
/// notice that theirs is over, with a delay of at most `every` of real time.
pub async fn keep_ticking(cluster: &SharedCluster, every: Duration) {
    loop {
        cluster.tick();
        tokio::time::sleep(every).await;
    }
}

/// Serves one connection. Its errors are its client's own.
async fn converse(stream: TcpStream, service: ApiService, stopped: watch::Receiver<bool>) {
    // Answers are written whole; waiting for more of them only makes them late.
    let _ = stream.set_nodelay(true);
    let end = stopped.clone();
    let answer = service_fn(move |request: Request<Incoming>| {
        let (mut service, end) = (service.clone(), end.clone());
        async move {
            let response = match guard::check(&request) {
                Ok(()) => service.call(request).await.unwrap_or_else(|never| match never {}),
                Err(refusal) => refusal.response(),
            };
            let response: Response<_> = response.map(|body| UntilStopped::new(body, end));
            Ok::<_, Infallible>(response)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_SIZE)
        .serve_connection(TokioIo::new(stream), answer);
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => {}
        () = until(stopped) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// A server that is gone has stopped, too.
async fn until(mut stopped: watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

const MOST_CONNECTIONS: usize = 256;
/// For the head of a request, and between two requests.
const HEAD_TIME: Duration = Duration::from_secs(60);
const HEAD_SIZE: usize = 64 * 1024;
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
/// For what is under way when the server stops.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
