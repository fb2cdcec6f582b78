//! A server of somebody else on this machine, which notes what browsers send it.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// A server that answers every request with one page; it ends when it is dropped.
pub(crate) struct ForeignServer {
    pub(crate) port: u16,
    heads: Receiver<String>,
    over: Arc<AtomicBool>,
    serving: Option<JoinHandle<()>>,
}

impl ForeignServer {
    /// Starts it on a free port.
    pub(crate) fn start(page: &str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let over = Arc::new(AtomicBool::new(false));
        let (sender, heads) = channel();
        let (is_over, page) = (Arc::clone(&over), page.to_owned());
        let serving = std::thread::spawn(move || {
            // A browser opens connections in advance, so none may keep the others waiting.
            std::thread::scope(|scope| {
                while !is_over.load(Ordering::Relaxed) {
                    let (stream, _) = listener.accept().unwrap();
                    let (page, sender) = (&page, sender.clone());
                    scope.spawn(move || answer(stream, page, &sender));
                }
            });
        });
        Self {
            port,
            heads,
            over,
            serving: Some(serving),
        }
    }

    /// Waits for the head of the next request for its page.
    pub(crate) fn next_head(&self) -> String {
        let mut heads = self.heads.iter();
        heads.find(|head| !head.contains("/favicon")).unwrap()
    }
}

impl Drop for ForeignServer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes it up. What browsers have left open ends with them.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        let _ = self.serving.take().unwrap().join();
    }
}

/// Answers one request, if there is one.
fn answer(mut stream: TcpStream, page: &str, heads: &Sender<String>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if !matches!(stream.read(&mut byte), Ok(1)) {
            return;
        }
        head.push(byte[0]);
    }
    let length = page.len();
    let reply = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{page}"
    );
    let _ = stream.write_all(reply.as_bytes());
    let _ = heads.send(String::from_utf8_lossy(&head).into_owned());
}
