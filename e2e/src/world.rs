//! What a case has: a fresh control plane, a ledger that watches it, and schedulers to start.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, ListParams};
use serde_json::Value;

use crate::audit::bindings;
use crate::certificates::User;
use crate::control_plane::ControlPlane;
use crate::failure::{Outcome, While, check};
use crate::ledger::Ledger;
use crate::objects::{create_all, node};
use crate::scheduler::{Kind, Programs, Scheduler, Settings};

/// A cluster without a scheduler, and the scheduler to test.
pub(crate) struct World {
    /// The scheduler under test.
    pub(crate) kind: Kind,
    /// Where all programs are.
    pub(crate) programs: Programs,
    /// Where this case's files are.
    pub(crate) directory: PathBuf,
    /// The servers.
    pub(crate) plane: ControlPlane,
    /// A client with all rights.
    pub(crate) client: Client,
    /// What the API server tells of pods.
    pub(crate) ledger: Ledger,
    /// How long a soak goes on.
    pub(crate) soak: Duration,
    /// Whether a case has found nodes overfull as it expected of the scheduler under test.
    pub(crate) may_overfill: bool,
    audited: usize,
}

impl World {
    /// Starts everything but the scheduler.
    pub(crate) async fn start(
        kind: Kind,
        programs: &Programs,
        directory: &Path,
        soak: Duration,
    ) -> Outcome<World> {
        fs::create_dir_all(directory)?;
        let plane = ControlPlane::start(&programs.servers, directory).await?;
        let client = plane.client(User::Admin).await?;
        let ledger = Ledger::open(client.clone()).await?;
        Ok(World {
            kind,
            programs: programs.clone(),
            directory: directory.to_owned(),
            plane,
            client,
            ledger,
            soak,
            may_overfill: false,
            audited: 0,
        })
    }

    /// Starts the scheduler under test with its defaults.
    pub(crate) async fn scheduler(&self) -> Outcome<Scheduler> {
        self.scheduler_with("scheduler", &self.settings()).await
    }

    /// Starts the scheduler under test under a name of its own.
    pub(crate) async fn scheduler_with(
        &self,
        name: &str,
        settings: &Settings,
    ) -> Outcome<Scheduler> {
        self.scheduler_of(self.kind, name, settings).await
    }

    /// Starts a scheduler.
    pub(crate) async fn scheduler_of(
        &self,
        kind: Kind,
        name: &str,
        settings: &Settings,
    ) -> Outcome<Scheduler> {
        let authority = &self.plane.authority;
        Scheduler::start(kind, &self.programs, authority, &self.directory, name, settings).await
    }

    /// One profile, no leader election, straight to the API server.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            profiles: Vec::new(),
            lease_seconds: None,
            url: self.plane.url(),
            user: User::Scheduler,
            config_file: None,
        }
    }

    /// Applies the manifests of `deploy/`; the scheduler's configuration among them, and how many
    /// objects there are.
    pub(crate) fn deploy(&self) -> Outcome<(PathBuf, usize)> {
        let applied = self.kubectl(User::Admin, &["apply", "-f", "deploy/manifests"])?;
        let config = self.directory.join("deployed.yaml");
        let shown = self.kubectl(User::Admin, &CONFIGURATION)?;
        fs::write(&config, shown).during(config.display())?;
        Ok((config, applied.lines().count()))
    }

    /// Runs kubectl as `user` in the root of the repository; what it printed.
    pub(crate) fn kubectl(&self, user: User, arguments: &[&str]) -> Outcome<String> {
        let program = self.programs.servers.join("kubectl");
        let output = Command::new(&program)
            .arg("--kubeconfig")
            .arg(self.kubeconfig(user)?)
            .args(arguments)
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
            .output()
            .during(program.display())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        check(output.status.success(), || {
            format!("kubectl {}: {}", arguments.join(" "), text(&output.stderr))
        })?;
        Ok(text(&output.stdout))
    }

    /// With which `user` calls the API server.
    pub(crate) fn kubeconfig(&self, user: User) -> Outcome<PathBuf> {
        let name = format!("kubectl-{user:?}.kubeconfig");
        self.plane.authority.kubeconfig(&name, user, &self.plane.url())
    }

    /// Creates `count` equal nodes, `node-0` and on.
    pub(crate) async fn nodes(&self, count: usize, cpu: &str, memory: &str) -> Outcome {
        let nodes: Vec<Value> =
            (0..count).map(|index| node(&format!("node-{index}"), cpu, memory)).collect();
        create_all(&self.client, &nodes).await
    }

    /// Waits until `count` pods are bound.
    pub(crate) async fn until_bound(&self, count: usize, patience: Duration) -> Outcome {
        let what = format!("{count} pods are bound");
        self.ledger.until(&what, patience, |book| book.bound() >= count).await
    }

    /// Checks what must hold after every case: a pod is bound once and stays, by what was
    /// watched and by the API server's own log, and no node was ever overfull.
    pub(crate) async fn verify(&self) -> Outcome {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let mut nodes = nodes.list(&ListParams::default()).await?.items;
        if self.may_overfill {
            nodes.clear();
        }
        self.ledger.verify(&nodes)?;
        self.count_bindings().map(drop)
    }

    /// All pods are gone, and others of their names may come.
    pub(crate) fn names_may_return(&mut self) -> Outcome {
        self.audited = self.count_bindings()?;
        Ok(())
    }

    fn count_bindings(&self) -> Outcome<usize> {
        let (bindings, lines) = bindings(&self.plane.audit_log(), self.audited)?;
        for (pod, times) in bindings {
            check(times == 1, || format!("pod {pod} was bound {times} times"))?;
        }
        Ok(lines)
    }
}

const CONFIGURATION: [&str; 6] =
    ["-n", "roadstead", "get", "configmap/roadstead", "-o", r"jsonpath={.data.scheduler\.yaml}"];
