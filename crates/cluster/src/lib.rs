//! The clusters that a Roadstead scheduler works on.
//!
//! [`embedded`] is a Kubernetes cluster in memory: objects with resource versions, list and watch,
//! admission, the binding operation, graceful deletion, the controllers that keep workloads at
//! their replica count, and fake kubelets. [`manifests`] reads what people have: YAML, JSON, files,
//! folders. [`api`] answers the Kubernetes API for such a cluster, in process: what is written for a
//! real cluster is tested against it.
//!
//! `kubernetes` is a real cluster, through its API server.
//!
//! Two features, both on by default, bring what those two need: `api` HTTP types and no server,
//! `kubernetes` a client and tokio. A simulation talks to the cluster directly and does without. A
//! third, `listen`, is off by default: it serves the API on a loopback port.
//!
//! ```
//! use roadstead_cluster::embedded::{Binding, Cluster, Config};
//! use roadstead_cluster::manifests;
//! use roadstead_queue::Time;
//!
//! let text = "
//! kind: Node
//! apiVersion: v1
//! metadata: {name: pier}
//! status: {allocatable: {cpu: 4, pods: 110}}
//! ---
//! kind: Pod
//! apiVersion: v1
//! metadata: {name: web}
//! spec: {containers: [{name: main, image: nginx}]}
//! ";
//! let mut cluster = Cluster::new(Config::default());
//! let report = cluster.load(Time::ZERO, manifests::parse("web.yaml", text));
//! assert!(report.problems.is_empty());
//!
//! cluster.bind(Time::ZERO, &Binding::new("default", "web", "pier"))?;
//! cluster.on_time(Time::from_secs(1));
//! let web = cluster.pod("default", "web").expect("it was loaded");
//! assert_eq!(web.status.as_ref().and_then(|s| s.phase.as_deref()), Some("Running"));
//! # Ok::<(), roadstead_cluster::ApiError>(())
//! ```

mod error;
mod notice;
mod object;
mod selector;
mod validation;

#[cfg(feature = "api")]
pub mod api;
pub mod embedded;
#[cfg(feature = "kubernetes")]
pub mod kubernetes;
pub mod manifests;

pub use error::{ApiError, FieldError};
pub use notice::Notice;
pub use object::{Key, Kind, Object, Resource};
