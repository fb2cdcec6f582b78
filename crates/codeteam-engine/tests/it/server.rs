//! An API on this host, which keeps what it is asked.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

pub(crate) struct TestServer {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl TestServer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = Arc::clone(&requests);
        // It ends with the tests.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let request = answer(&stream.unwrap());
                heard.lock().unwrap().push(request);
            }
        });
        Self { url, requests }
    }

    /// Everything that was asked so far, in small letters.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn answer(mut stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    while !request.ends_with("\r\n\r\n") && reader.read_line(&mut request).unwrap() > 0 {}
    let request = request.to_ascii_lowercase();
    let length = request
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length = length.map_or(0, |length| length.trim().parse().unwrap());
    let mut body = String::new();
    reader.take(length).read_to_string(&mut body).unwrap();
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nhello\n";
    stream.write_all(answer).unwrap();
    request + &body
}
