//! The browser viewer: a server on loopback that shows recorded runs and simulates while somebody watches.
//!
//! Everything goes over plain requests: the page asks for what it wants to show when it has time for it. So a slow or
//! closed browser holds nobody up, and a run never waits for those who look at it.

mod assets;
mod command;
mod connection;
mod folder;
mod http;
mod live;
mod packet;
mod shape;
mod source;

pub use folder::RecordedRun;
pub use live::LiveRun;
pub use source::{Described, Extent, Source, SourceError, State};

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

/// Connections that are served at the same time; a browser opens up to six.
const MOST_CONNECTIONS: usize = 128;

/// Why the viewer could not be started.
#[derive(Debug, thiserror::Error)]
#[error(
    "the viewer cannot listen on 127.0.0.1:{port}: {reason}; choose another port with --port, or 0 for any"
)]
pub struct StartError {
    port: u16,
    reason: String,
}

/// A viewer that is being served.
pub struct Viewer {
    port: u16,
    ended: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

impl Viewer {
    /// Serves runs on a port of the loopback interface; 0 takes any that is free.
    pub fn start(sources: Vec<Arc<dyn Source>>, port: u16) -> Result<Self, StartError> {
        let failed = |e: std::io::Error| StartError {
            port,
            reason: e.to_string(),
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let site = Arc::new(http::Site::new(sources, port));
        let ended = Arc::new(AtomicBool::new(false));
        let watched = ended.clone();
        Ok(Self {
            port,
            ended,
            listener: Some(std::thread::spawn(move || {
                listen(&listener, &site, &watched);
            })),
        })
    }

    /// Where the page is.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Port in use.
    pub fn port(&self) -> u16 {
        self.port
    }
}

fn listen(listener: &TcpListener, site: &Arc<http::Site>, ended: &Arc<AtomicBool>) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        if ended.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else { continue };
        if open.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
            // Dropping the stream hangs up.
            open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (site, ended, open) = (site.clone(), ended.clone(), open.clone());
        std::thread::spawn(move || {
            connection::serve(&stream, &site, &ended);
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Wakes the listener, so that it sees that it has ended.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        if let Some(listener) = self.listener.take() {
            // One that panicked has ended too.
            let _ = listener.join();
        }
    }
}
