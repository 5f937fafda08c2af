//! Roll-outs: status, restart, history, undo.

use crate::testing::{NODES, Server, good};

const SHOP: &str = "
kind: Deployment
apiVersion: apps/v1
metadata: {name: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {nodeName: pier, containers: [{name: main, image: 'shop:1'}]}
";

#[test]
fn roll_outs_are_followed_restarted_and_undone() {
    let Some(server) = Server::start("rollouts", &format!("{NODES}{SHOP}")) else { return };
    server.check(&[
        good(
            "rollout status deploy/shop --timeout=30s",
            &["deployment \"shop\" successfully rolled out"],
        ),
        good("rollout restart deploy/shop", &["deployment.apps/shop restarted"]),
        good("rollout status deploy/shop --timeout=30s", &["successfully rolled out"]),
        good("get rs", &[" 3 3 3 ", " 0 0 0 "]),
        good("set image deploy/shop main=shop:2", &["image updated"]),
        good("rollout status deploy/shop --timeout=30s", &["successfully rolled out"]),
        good(
            "rollout history deploy/shop",
            &["REVISION CHANGE-CAUSE", "1 <none>", "2 <none>", "3 <none>"],
        ),
        good("rollout undo deploy/shop", &["deployment.apps/shop rolled back"]),
        good("rollout status deploy/shop --timeout=30s", &["successfully rolled out"]),
        good("get deploy shop -o jsonpath={.spec.template.spec.containers[0].image}", &["shop:1"]),
        good("rollout pause deploy/shop", &["paused"]),
        good("rollout resume deploy/shop", &["resumed"]),
        good("wait --for=condition=Progressing deploy/shop --timeout=30s", &["condition met"]),
    ]);
}
