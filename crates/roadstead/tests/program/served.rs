//! `roadstead serve` under way, and ways to ask it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::testing::program;

pub(crate) const NODES: &str = "
{kind: Node, apiVersion: v1, metadata: {name: pier}, status: {allocatable: {cpu: 4, pods: 110}}}
";

pub(crate) fn pod(name: &str, cpu: &str) -> String {
    format!(
        "---\n{{kind: Pod, apiVersion: v1, metadata: {{name: {name}}}, spec: {{containers: \
         [{{name: main, image: app, resources: {{requests: {{cpu: {cpu}}}}}}}]}}}}\n"
    )
}

/// The program under way. Dropped, it is ended.
pub(crate) struct Served {
    child: Child,
    pub(crate) dashboard: SocketAddr,
    pub(crate) api: Option<SocketAddr>,
    errors: Option<JoinHandle<String>>,
}

impl Served {
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::start_at(0, folder, arguments)
    }

    pub(crate) fn start_at(port: u16, folder: &Path, arguments: &[&str]) -> Self {
        let port = port.to_string();
        let all = [&["serve", "--port", &port], arguments].concat();
        let mut child = program(folder, &all).spawn().expect("the program starts");
        let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut stderr = child.stderr.take().expect("it is piped");
        let errors = thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            text
        });
        let mut address = |begins: &str| -> SocketAddr {
            let mut line = String::new();
            out.read_line(&mut line).expect("it prints");
            assert!(line.starts_with(begins), "{line:?}");
            let address = line.split("http://").nth(1).expect("an address");
            let address = address.trim_end_matches(['\n', '/', '\'']);
            address.parse().expect("an address")
        };
        let dashboard = address("dashboard  http://127.0.0.1:");
        let api = arguments.contains(&"--api-port").then(|| address("kubectl    alias kubectl="));
        Self { child, dashboard, api, errors: Some(errors) }
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let (status, body) = request(self.dashboard, "GET", path, "");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).expect("it is JSON")
    }

    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let until = Instant::now() + Duration::from_secs(60);
        while !is_so(self) {
            assert!(Instant::now() < until, "{what}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn place(&self, pod: &str) -> String {
        let (status, body) =
            request(self.dashboard, "GET", &format!("/api/v1/pods/default/{pod}"), "");
        if status == 404 {
            return "nowhere".to_owned();
        }
        let body: Value = serde_json::from_str(&body).expect("it is JSON");
        body["explanation"]["place"].as_str().unwrap_or("gone").to_owned()
    }

    /// Ends it as a terminal does, and returns what it said to standard error.
    pub(crate) fn end(mut self) -> String {
        let pid = self.child.id().to_string();
        let killed = Command::new("kill").args(["-INT", &pid]).status().expect("there is a kill");
        assert!(killed.success());
        let ended = self.child.wait().expect("it ends");
        assert_eq!(ended.code(), Some(0));
        self.errors.take().expect("it was not ended").join().expect("it reads")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn request(to: SocketAddr, method: &str, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(to).expect("somebody listens");
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {to}\r\nContent-Type: application/yaml\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .expect("it is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let (_, body) = answer.split_once("\r\n\r\n").expect("an answer has a body");
    (status.expect("an answer has a status"), body.to_owned())
}
