//! The cluster as it is, looked at afresh: no queue, no memory, every node asked about every pod.

use std::sync::Arc;

use k8s_openapi::api::core::v1 as api;
use roadstead_cluster::embedded::Cluster;
use roadstead_model::{Namespace, Node, Pod, Text, World};
use roadstead_scheduler::framework::{Context, CycleState, Framework, Nominations};
use roadstead_scheduler::{Listers, NodeInfo, Nodes};
use roadstead_sim::Setup;

pub(crate) struct Naive {
    pub(crate) nodes: Nodes,
    pub(crate) pods: Vec<Arc<Pod>>,
    listers: Listers,
    framework: Framework,
}

impl Naive {
    pub(crate) fn new(cluster: &Cluster) -> Self {
        let Setup { mut world, profiles, .. } = Setup::default();
        let (_, framework) = profiles.into_iter().next().expect("there is the default one");
        let pods: Vec<Arc<Pod>> = read(cluster, &mut world, Pod::from_api);
        let nodes = read::<api::Node, _>(cluster, &mut world, Node::from_api).into_iter();
        let nodes = nodes.map(|node| {
            let mut info = NodeInfo::new(node);
            let here = |pod: &&Arc<Pod>| pod.node_name.as_ref() == Some(info.name());
            for pod in
                pods.iter().filter(here).filter(|pod| !pod.phase.is_terminal()).collect::<Vec<_>>()
            {
                info.add_pod(pod);
            }
            info
        });
        let nodes = Nodes::new(nodes);
        let namespaces = read::<api::Namespace, _>(cluster, &mut world, Namespace::from_api);
        let listers = Listers {
            namespaces: namespaces.into_iter().map(|it| (it.name.clone(), it)).collect(),
            ..Listers::default()
        };
        Self { nodes, pods, listers, framework }
    }

    /// The nodes that would take a pod.
    pub(crate) fn feasible(&self, pod: &Arc<Pod>) -> Vec<String> {
        let context =
            Context { nodes: &self.nodes, listers: &self.listers, nominations: self, now: 0 };
        let found = self.framework.candidates(&context, &mut CycleState::new(), pod);
        let found = found.expect("nothing goes wrong");
        found.feasible.iter().map(|node| node.name().to_string()).collect()
    }
}

/// Who is nominated where, as the cluster shows it.
impl Nominations for Naive {
    fn to(&self, node: &Text) -> Vec<Arc<Pod>> {
        let here =
            |pod: &&Arc<Pod>| pod.nominated_node.as_ref() == Some(node) && pod.node_name.is_none();
        self.pods.iter().filter(here).cloned().collect()
    }

    fn nodes(&self) -> Vec<Text> {
        let waiting = self.pods.iter().filter(|pod| pod.node_name.is_none());
        waiting.filter_map(|pod| pod.nominated_node.clone()).collect()
    }
}

fn read<A, T>(
    cluster: &Cluster,
    world: &mut World,
    from_api: fn(&A, &mut World) -> Result<T, roadstead_model::ModelError>,
) -> Vec<Arc<T>>
where
    A: roadstead_cluster::Resource + 'static,
{
    let objects = cluster.list::<A>();
    objects.map(|it| Arc::new(from_api(it, world).expect("it was admitted"))).collect()
}
