//! etcd and kube-apiserver on loopback, in a directory of their own.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::certificates::{Authority, User};
use crate::failure::{Outcome, While, check};
use crate::pod_network::PodNetwork;
use crate::process::Process;

/// A running API server with its store.
pub(crate) struct ControlPlane {
    /// Certificates and kubeconfigs.
    pub(crate) authority: Authority,
    servers: PathBuf,
    directory: PathBuf,
    ports: Ports,
    /// How the API server reaches pods, if not by their addresses.
    egress_selector: Option<PathBuf>,
    etcd: Option<Process>,
    api_server: Option<Process>,
}

struct Ports {
    etcd: u16,
    etcd_peer: u16,
    api_server: u16,
}

impl ControlPlane {
    /// Starts both from the programs in `servers`, and returns when the API server is ready.
    pub(crate) async fn start(servers: &Path, directory: &Path) -> Outcome<ControlPlane> {
        let authority = Authority::create(&directory.join("certificates"))?;
        let policy = directory.join("audit-policy.yaml");
        fs::write(&policy, AUDIT_POLICY).during(policy.display())?;
        let mut plane = ControlPlane {
            authority,
            servers: servers.to_owned(),
            directory: directory.to_owned(),
            ports: Ports { etcd: free_port()?, etcd_peer: free_port()?, api_server: free_port()? },
            egress_selector: None,
            etcd: None,
            api_server: None,
        };
        plane.start_etcd()?;
        plane.start_api_server().await?;
        Ok(plane)
    }

    /// Starts etcd on the data it has, if any.
    pub(crate) fn start_etcd(&mut self) -> Outcome {
        let client = format!("http://127.0.0.1:{}", self.ports.etcd);
        let peer = format!("http://127.0.0.1:{}", self.ports.etcd_peer);
        let arguments = [
            format!("--data-dir={}", self.directory.join("etcd").display()),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster=default={peer}"),
            // What is tested outlives processes, not machines.
            "--unsafe-no-fsync".to_owned(),
            "--log-level=warn".to_owned(),
        ];
        self.etcd = Some(self.spawn("etcd", &arguments)?);
        Ok(())
    }

    /// Starts the API server and waits until it is ready.
    pub(crate) async fn start_api_server(&mut self) -> Outcome {
        let path = |name: &str| self.authority.path(name).display().to_string();
        let mut arguments = vec![
            format!("--etcd-servers=http://127.0.0.1:{}", self.ports.etcd),
            "--bind-address=127.0.0.1".to_owned(),
            "--advertise-address=127.0.0.1".to_owned(),
            "--endpoint-reconciler-type=none".to_owned(),
            format!("--secure-port={}", self.ports.api_server),
            format!("--tls-cert-file={}", path("server.crt")),
            format!("--tls-private-key-file={}", path("server.key")),
            format!("--client-ca-file={}", path("ca.crt")),
            // Nobody comes through a front proxy; but without these a scheduler that delegates
            // authentication complains for ever.
            format!("--requestheader-client-ca-file={}", path("ca.crt")),
            "--requestheader-allowed-names=front-proxy".to_owned(),
            "--requestheader-username-headers=X-Remote-User".to_owned(),
            "--requestheader-group-headers=X-Remote-Group".to_owned(),
            "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={}", path("accounts.pub")),
            format!("--service-account-signing-key-file={}", path("accounts.key")),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
            // No controller runs here: nobody makes service accounts, takes the taint of a new
            // node away, or lifts the protection of a volume.
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,StorageObjectInUseProtection"
                .to_owned(),
            format!("--audit-policy-file={}", self.directory.join("audit-policy.yaml").display()),
            format!("--audit-log-path={}", self.audit_log().display()),
            // A server that restarts must not wait a minute for connections to drain.
            "--shutdown-delay-duration=0s".to_owned(),
            "--profiling=false".to_owned(),
        ];
        if let Some(file) = &self.egress_selector {
            arguments.push(format!("--egress-selector-config-file={}", file.display()));
        }
        self.api_server = Some(self.spawn("kube-apiserver", &arguments)?);
        self.wait_until_ready().await
    }

    /// Starts the API server anew, from then on with pods' addresses reached through `network`.
    pub(crate) async fn reach_pods_through(&mut self, network: &PodNetwork) -> Outcome {
        let file = self.directory.join("egress-selector.json");
        fs::write(&file, network.egress_selector().to_string()).during(file.display())?;
        self.egress_selector = Some(file);
        self.kill_api_server()?;
        self.start_api_server().await
    }

    /// Ends the API server at once.
    pub(crate) fn kill_api_server(&mut self) -> Outcome {
        match self.api_server.take() {
            Some(mut process) => process.kill(),
            None => Err("the API server does not run".into()),
        }
    }

    /// Ends etcd at once.
    pub(crate) fn kill_etcd(&mut self) -> Outcome {
        match self.etcd.take() {
            Some(mut process) => process.kill(),
            None => Err("etcd does not run".into()),
        }
    }

    /// Waits until the API server says that it is ready, or fails.
    pub(crate) async fn wait_until_ready(&mut self) -> Outcome {
        let client = self.client(User::Admin).await?;
        let began = Instant::now();
        loop {
            for process in [&mut self.etcd, &mut self.api_server].into_iter().flatten() {
                process.must_run()?;
            }
            let request = http::Request::get("/readyz").body(Vec::new())?;
            let answer = client.request_text(request).await;
            if answer.as_ref().is_ok_and(|text| text == "ok") {
                return Ok(());
            }
            check(began.elapsed() < START_PATIENCE, || {
                format!("the API server is not ready after {START_PATIENCE:?}: {answer:?}")
            })?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// A client that calls as `user`.
    pub(crate) async fn client(&self, user: User) -> Outcome<Client> {
        let name = format!("{user:?}.kubeconfig");
        let path = self.authority.kubeconfig(&name, user, &self.url())?;
        let kubeconfig = Kubeconfig::read_from(&path)?;
        let mut config =
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        // A case says itself what is tried again.
        config.default_retry = false;
        config.disable_compression = true;
        Ok(Client::try_from(config)?)
    }

    /// Where the API server listens.
    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports.api_server)
    }

    /// One line of JSON for each request that bound or deleted a pod.
    pub(crate) fn audit_log(&self) -> PathBuf {
        self.directory.join("audit.log")
    }

    fn spawn(&self, name: &str, arguments: &[String]) -> Outcome<Process> {
        let log = self.directory.join(format!("{name}.log"));
        Process::start(name, &self.servers.join(name), arguments, &log)
    }
}

/// A port on loopback that was free a moment ago.
pub(crate) fn free_port() -> Outcome<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").during("no free port on loopback")?;
    Ok(listener.local_addr()?.port())
}

const START_PATIENCE: Duration = Duration::from_secs(90);

const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
  verbs: [create]
  resources: [{group: '', resources: [pods/binding]}]
- level: None
";
