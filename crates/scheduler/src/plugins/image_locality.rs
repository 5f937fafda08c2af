//! Prefers nodes that hold a pod's images already.

use roadstead_model::{Pod, Text};

use crate::framework::{
    Context, CycleState, Extensions, Joining, MAX_SCORE, Plugin, Reach, Registration, Scaling,
    Score, Status,
};
use crate::nodes::NodeInfo;

/// Prefers nodes that hold a pod's images already, large ones above all. An image counts the less
/// the fewer nodes hold it, so that pods do not all go to the one node that does.
pub struct ImageLocality;

impl ImageLocality {
    /// The plugin with its points.
    #[must_use]
    pub fn extensions() -> Extensions {
        Joining::new(Self).score().done()
    }
}

impl Plugin for ImageLocality {
    fn name(&self) -> &'static str {
        "ImageLocality"
    }

    /// It never rejects a pod, so nothing brings one back.
    fn events(&self) -> Vec<Registration> {
        Vec::new()
    }
}

impl Score for ImageLocality {
    fn score(
        &self,
        context: &Context<'_>,
        _: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<i64, Status> {
        let held = images(pod)
            .filter_map(|name| context.nodes.images().get(name))
            .filter(|image| image.is_on(node.name()))
            .map(|image| spread(image.size_bytes, image.node_count(), context.nodes.len()))
            .fold(0, i64::wrapping_add);
        Ok(of_bytes(held, pod.spec().container_images.len()))
    }

    /// An image counts by how many of the nodes hold it.
    fn reach(&self, context: &Context<'_>, _: &CycleState, pod: &Pod) -> Reach {
        Reach::Node { version: context.nodes.images().version(images(pod)) }
    }

    fn scaling(&self) -> Scaling {
        Scaling::Unscaled
    }
}

fn images(pod: &Pod) -> impl Iterator<Item = &Text> {
    pod.spec().container_images.iter().chain(&pod.spec().volume_images)
}

/// The part of an image's size that counts.
fn spread(size: i64, holders: usize, nodes: usize) -> i64 {
    (size as f64 * (holders as f64 / nodes as f64)) as i64
}

/// Image volumes count as bytes, but not as containers: upstream's calculatePriority.
fn of_bytes(held: i64, containers: usize) -> i64 {
    let (low, high) = (LOW, HIGH_PER_CONTAINER * containers as i64);
    // Without containers `high` is below `low`, and which of the two comes first matters.
    let held = match held {
        held if held < low => low,
        held if held > high => high,
        held => held,
    };
    MAX_SCORE * (held - low) / (high - low)
}

const MIB: i64 = 1024 * 1024;
const LOW: i64 = 23 * MIB;
const HIGH_PER_CONTAINER: i64 = 1000 * MIB;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use serde_json::{Value, json};

    /// A node that holds images, each given as its size in MiB and called `image-<size>:latest`.
    fn node(sizes: &[i64]) -> Value {
        let image = |size: &i64| json!({"names": [format!("image-{size}:latest"), format!("image-{size}@sha256:0")], "sizeBytes": size * MIB});
        json!({"status": {"images": sizes.iter().map(image).collect::<Vec<_>>()}})
    }

    fn containers(sizes: &[i64]) -> Value {
        sizes.iter().map(|size| json!({"name": "c", "image": format!("image-{size}")})).collect()
    }

    #[test]
    fn held_bytes_count_by_how_widely_they_are_held() {
        type Row<'a> = (&'a str, &'a [i64], &'a [i64], &'a [i64], &'a [&'a [i64]], &'a [i64]);
        #[rustfmt::skip]
        let rows: [Row<'_>; 11] = [
            // what,              init,    containers,       volumes, nodes' images,                           scores
            ("one each",          &[],     &[40, 250],       &[],     &[&[40], &[250]],                        &[0, 5]),
            ("both on one",       &[],     &[40, 300],       &[],     &[&[40, 300], &[]],                      &[7, 0]),
            ("more than enough",  &[],     &[4000, 10],      &[],     &[&[4000], &[10]],                       &[100, 0]),
            ("a third node",      &[],     &[4000, 10],      &[],     &[&[4000], &[10], &[]],                  &[66, 0, 0]),
            ("some, all, none",   &[],     &[300, 600, 900], &[],     &[&[600, 900], &[300, 600, 900], &[]],   &[32, 36, 0]),
            ("one on both",       &[],     &[30, 40],        &[],     &[&[30, 40], &[30]],                     &[1, 0]),
            ("an image volume",   &[],     &[30],            &[300],  &[&[300], &[30]],                        &[12, 0]),
            ("an init container", &[300],  &[30],            &[],     &[&[300], &[30]],                        &[6, 0]),
            ("one image twice",   &[],     &[300, 300],      &[],     &[&[300], &[]],                          &[14, 0]),
            ("no containers",     &[],     &[],              &[],     &[&[300], &[]],                          &[0, 0]),
            ("only a volume",     &[],     &[],              &[300],  &[&[300], &[]],                          &[100, 0]),
        ];
        for (what, init, main, volumes, nodes, expected) in rows {
            let mut cluster = testing::nodes(nodes.iter().map(|sizes| node(sizes)).collect());
            let volume =
                |size: &i64| json!({"name": "v", "image": {"reference": format!("image-{size}")}});
            let pod = cluster.pod(json!({"spec": {
                "initContainers": containers(init),
                "containers": containers(main),
                "volumes": volumes.iter().map(volume).collect::<Vec<_>>()}}));
            let scores = cluster.scores(&ImageLocality::extensions(), &pod);
            assert_eq!(scores, Ok(Some(expected.to_vec())), "{what}");
        }
    }

    #[test]
    fn an_image_is_found_by_its_whole_name() {
        let rows = [
            ("gcr.io/x", "gcr.io/x:latest", true),
            ("host:5000/x", "host:5000/x:latest", true),
            ("x@sha256:01", "x@sha256:01", true),
            ("nginx", "docker.io/library/nginx:latest", false),
            ("nginx:1", "nginx:latest", false),
        ];
        for (wanted, listed, is_found) in rows {
            let images = json!([{"names": [listed], "sizeBytes": 1000 * MIB}]);
            let mut cluster = testing::nodes(json!([{"status": {"images": images}}]));
            let pod =
                cluster.pod(json!({"spec": {"containers": [{"name": "c", "image": wanted}]}}));
            let expected = if is_found { 100 } else { 0 };
            let scores = cluster.scores(&ImageLocality::extensions(), &pod);
            assert_eq!(scores, Ok(Some(vec![expected])), "{wanted} as {listed}");
        }
    }

    #[test]
    fn an_image_has_one_size_and_a_node_counts_once() {
        let image = |size: i64| json!({"names": ["x:latest"], "sizeBytes": size * MIB});
        let mut cluster = testing::nodes(json!([
            {"status": {"images": [image(1000), image(5)]}},
            {"status": {"images": [image(5)]}},
            {},
            {}]));
        let pod = cluster.pod(json!({"spec": {"containers": [{"name": "c", "image": "x"}]}}));
        // Half of the nodes hold the 1000 MiB that the first of them claims.
        let scores = cluster.scores(&ImageLocality::extensions(), &pod);
        assert_eq!(scores, Ok(Some(vec![48, 48, 0, 0])));
    }
}
