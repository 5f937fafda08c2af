//! A cluster on a port, and `kubectl` pointed at it.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use k8s_openapi::api::core::v1::Pod;
use roadstead_cluster::api::SharedCluster;
use roadstead_cluster::api::listening::{Listener, keep_ticking};
use roadstead_cluster::embedded::{Binding, Cluster, Config};
use roadstead_cluster::manifests;
use roadstead_queue::Time;
use serde_json::Value;
use tokio::sync::oneshot;

pub(crate) struct Server {
    pub(crate) cluster: SharedCluster,
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Where `kubectl` keeps what it has discovered.
    cache: PathBuf,
}

/// What `kubectl` said, and how it ended.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A command, what it is given, how it must end, and what must be in what it says. Runs of blanks
/// count as one.
pub(crate) struct Row {
    pub(crate) command: &'static str,
    pub(crate) input: &'static str,
    pub(crate) code: i32,
    pub(crate) says: &'static [&'static str],
}

/// A command that works.
pub(crate) const fn good(command: &'static str, says: &'static [&'static str]) -> Row {
    Row { command, input: "", code: 0, says }
}

/// A command that works on what it is given.
pub(crate) const fn given(
    command: &'static str,
    input: &'static str,
    says: &'static [&'static str],
) -> Row {
    Row { command, input, code: 0, says }
}

/// A command that fails.
pub(crate) const fn bad(
    command: &'static str,
    input: &'static str,
    says: &'static [&'static str],
) -> Row {
    Row { command, input, code: 1, says }
}

/// The `kubectl` that is driven: the machine's own, or the one that ROADSTEAD_KUBECTL names.
fn kubectl() -> std::ffi::OsString {
    std::env::var_os("ROADSTEAD_KUBECTL").unwrap_or_else(|| "kubectl".into())
}

/// Whether there is a `kubectl`; if not, says that nothing is checked.
pub(crate) fn has_kubectl() -> bool {
    let found = Command::new(kubectl()).args(["version", "--client"]).output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("kubectl is not installed: this test checks NOTHING");
    }
    is_there
}

impl Server {
    /// A cluster with these manifests, on a free port; none where there is no `kubectl`.
    pub(crate) fn start(name: &str, manifest: &str) -> Option<Self> {
        has_kubectl().then(|| Self::listen(name, manifest))
    }

    pub(crate) fn listen(name: &str, manifest: &str) -> Self {
        let config = Config {
            start_delay: Duration::from_millis(100),
            stop_delay: Duration::from_millis(100),
            reports_containers: true,
            ..Config::default()
        };
        let mut cluster = Cluster::new(config);
        let report = cluster.load(now(), manifests::parse("given.yaml", manifest));
        assert!(report.problems.is_empty(), "{:?}", report.problems);
        let cluster = SharedCluster::new(cluster, now);
        let (stop, stopped) = oneshot::channel::<()>();
        let (told, address) = std::sync::mpsc::channel();
        let shared = cluster.clone();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async move {
                let any = SocketAddr::from(([127, 0, 0, 1], 0));
                let listener = Listener::bind(any, &shared).await.unwrap();
                told.send(listener.address()).unwrap();
                let stop = async { drop(stopped.await) };
                tokio::select! {
                    () = listener.serve(stop) => {}
                    () = keep_ticking(&shared, Duration::from_millis(50)) => {}
                }
            });
        });
        let address = address.recv_timeout(Duration::from_secs(30)).expect("it listens");
        let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("kubectl-{name}"));
        drop(std::fs::remove_dir_all(&cache));
        Self { cluster, address, stop: Some(stop), thread: Some(thread), cache }
    }

    /// Runs rows one after the other, and shows every one that is wrong.
    pub(crate) fn check(&self, rows: &[Row]) {
        let mut wrong = String::new();
        for row in rows {
            let said = self.kubectl(row.command, row.input);
            let all = one_blank(&format!("{}\n{}", said.stdout, said.stderr));
            let missing: Vec<&&str> =
                row.says.iter().filter(|text| !all.contains(&one_blank(text))).collect();
            if said.code != row.code || !missing.is_empty() {
                wrong += &format!(
                    "\n$ kubectl {}\n{}{}exit {}, expected {}; not said: {missing:?}\n",
                    row.command, said.stdout, said.stderr, said.code, row.code
                );
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
        self.cluster.with(|cluster, _| cluster.check_invariants());
    }

    pub(crate) fn kubectl(&self, command: &str, input: &str) -> Said {
        let mut child = self.spawn(command);
        if let Some(mut stdin) = child.stdin.take() {
            // One that does not read its input has said why.
            drop(stdin.write_all(input.as_bytes()));
        }
        let stdout = read_all(child.stdout.take());
        let stderr = read_all(child.stderr.take());
        let until = Instant::now() + LONGEST;
        let status = loop {
            match child.try_wait().expect("it can be waited for") {
                Some(status) => break status,
                None if Instant::now() > until => {
                    child.kill().unwrap();
                    break child.wait().unwrap();
                }
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        Said {
            code: status.code().unwrap_or(-1),
            stdout: stdout.join().unwrap(),
            stderr: stderr.join().unwrap(),
        }
    }

    pub(crate) fn spawn(&self, command: &str) -> Child {
        Command::new(kubectl())
            .arg(format!("--server=http://{}", self.address))
            .arg(format!("--cache-dir={}", self.cache.display()))
            .args(command.split_whitespace())
            .env("KUBECONFIG", "/dev/null")
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl starts")
    }

    /// Does the scheduler's work for the pods of daemon sets: each names its node.
    pub(crate) fn bind_daemons(&self) {
        self.cluster.with(|cluster, now| {
            let pods: Vec<_> = cluster.list::<Pod>().cloned().collect();
            for pod in pods {
                let json = serde_json::to_value(&*pod).unwrap();
                let node = json.pointer(DAEMON_NODE).and_then(Value::as_str);
                if let (Some(node), Some(name)) = (node, &pod.metadata.name) {
                    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
                    cluster.bind(now, &Binding::new(namespace, name, node)).unwrap();
                }
            }
        });
    }

    /// Stops the server and waits until it has.
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server ends well");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        drop(std::fs::remove_dir_all(&self.cache));
    }
}

fn read_all(from: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        if let Some(mut from) = from {
            from.read_to_string(&mut text).expect("kubectl writes text");
        }
        text
    })
}

pub(crate) fn one_blank(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    Time::ZERO + since
}

/// Where a pod of a daemon set says which node it is for.
const DAEMON_NODE: &str = "/spec/affinity/nodeAffinity/\
     requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/values/0";

/// Two nodes.
pub(crate) const NODES: &str = "
kind: Node
apiVersion: v1
metadata: {name: pier, labels: {node-role.kubernetes.io/worker: ''}}
status:
  allocatable: {cpu: 8, memory: 16Gi, pods: 110}
  addresses: [{type: InternalIP, address: 10.0.0.1}]
  nodeInfo: {kubeletVersion: v1.36.4, osImage: Linux, kernelVersion: '6.1', containerRuntimeVersion: 'fake://1', architecture: amd64, bootID: '', kubeProxyVersion: '', machineID: '', operatingSystem: linux, systemUUID: ''}
---
kind: Node
apiVersion: v1
metadata: {name: quay}
status: {allocatable: {cpu: 8, memory: 16Gi, pods: 110}}
---
";

/// How long a command may take.
const LONGEST: Duration = Duration::from_secs(60);
