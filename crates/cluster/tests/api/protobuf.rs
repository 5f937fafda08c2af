//! Bodies in protobuf, byte by byte.

use http::Request;
use kube::core::Status;
use serde_json::{Value, json};

use crate::testing::{Server, refusal};

/// A field whose value is bytes: a text, or a message.
fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let length = u8::try_from(value.len()).expect("short enough for a length of one byte");
    assert!(length < 0x80, "short enough for a length of one byte");
    [&[number << 3 | 2, length], value].concat()
}

fn envelope(api_version: &str, kind: &str, object: &[u8]) -> Vec<u8> {
    let described = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), field(1, &described), field(2, object)].concat()
}

async fn send(s: &Server, path: &str, body: &[u8]) -> Result<Value, Status> {
    let request = Request::post(path).header("content-type", "application/vnd.kubernetes.protobuf");
    s.client.request(request.body(body.to_vec()).unwrap()).await.map_err(refusal)
}

fn budget() -> Vec<u8> {
    let labels = field(1, &[field(1, b"app"), field(2, b"web")].concat());
    let percent = [&[1 << 3, 1, 2 << 3, 0][..], &field(3, b"50%")].concat();
    let spec = [field(1, &percent), field(2, &labels)].concat();
    // An empty namespace and a time of nothing, as Go writes them.
    let meta = [field(1, b"keep"), field(3, b""), field(8, b"")].concat();
    envelope("policy/v1", "PodDisruptionBudget", &[field(1, &meta), field(2, &spec)].concat())
}

const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

#[tokio::test]
async fn an_object_in_protobuf_is_the_object_in_json() {
    let s = Server::new();
    let made = send(&s, BUDGETS, &budget()).await.unwrap();
    assert_eq!(
        made["spec"],
        json!({"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}})
    );
    assert_eq!(made["metadata"]["namespace"], "default");
}

#[tokio::test]
async fn what_is_cut_off_or_unknown_is_refused() {
    let whole = budget();
    for length in 0..whole.len() {
        let s = Server::new();
        match send(&s, BUDGETS, &whole[..length]).await {
            Err(status) => assert!((400..500).contains(&status.code), "{length}: {status:?}"),
            // Cut between two fields: the rest is an object, too.
            Ok(made) => assert_ne!(made["spec"]["minAvailable"], "50%", "{length}"),
        }
    }
    let s = Server::new();
    let boat = envelope("v1", "Boat", b"");
    let status = send(&s, BUDGETS, &boat).await.unwrap_err();
    assert_eq!(status.code, 400);
    assert!(status.message.contains("send it as JSON"), "{}", status.message);
    // A text where a number belongs.
    let wrong = envelope("scheduling.k8s.io/v1", "PriorityClass", &field(2, b"high"));
    let path = "/apis/scheduling.k8s.io/v1/priorityclasses";
    let status = send(&s, path, &wrong).await.unwrap_err();
    assert!(status.message.contains("scheduling.PriorityClass.value"), "{}", status.message);
}
