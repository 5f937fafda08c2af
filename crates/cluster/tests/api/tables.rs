//! Tables, as far as they are about more than what kubectl prints.

use http::Request;
use serde_json::{Value, json};

use crate::testing::{Server, refusal};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

async fn ask(s: &Server, accept: &str, path: &str) -> Result<Value, kube::Error> {
    let request = Request::get(path).header("accept", accept).body(Vec::new()).unwrap();
    s.client.request(request).await
}

#[tokio::test]
async fn ages_are_short() {
    let s = Server::new();
    s.make_pods(["web"]).await;
    let table = [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (8 * 3600 - 1, "7h59m"),
        (8 * 3600, "8h"),
        (48 * 3600 - 1, "47h"),
        (48 * 3600, "2d"),
        (51 * 3600, "2d3h"),
        (8 * 86_400, "8d"),
        (2 * 365 * 86_400, "2y"),
        ((2 * 365 + 3) * 86_400, "2y3d"),
        (8 * 365 * 86_400, "8y"),
    ];
    let mut now = 0;
    for (at, expected) in table {
        s.after(at - now);
        now = at;
        let table = ask(&s, TABLE, "/api/v1/namespaces/default/pods").await.unwrap();
        assert_eq!(table["rows"][0]["cells"][4], expected, "after {at} s");
    }
}

#[tokio::test]
async fn a_row_has_as_much_of_its_object_as_was_asked_for() {
    let s = Server::new();
    s.make_pods(["web"]).await;
    for (included, kind) in [
        ("", json!("PartialObjectMetadata")),
        ("&includeObject=Metadata", json!("PartialObjectMetadata")),
        ("&includeObject=Object", json!("Pod")),
        ("&includeObject=None", Value::Null),
    ] {
        let path = format!("/api/v1/namespaces/default/pods?limit=5{included}");
        let table = ask(&s, TABLE, &path).await.unwrap();
        assert_eq!(table["kind"], "Table");
        assert_eq!(table["rows"][0]["object"]["kind"], kind, "{included}");
    }
    let path = "/api/v1/namespaces/default/pods?includeObject=Half";
    assert_eq!(refusal(ask(&s, TABLE, path).await.unwrap_err()).code, 400);
}

#[tokio::test]
async fn the_first_form_that_there_is_is_given() {
    let s = Server::new();
    s.make_pods(["web"]).await;
    let table = [
        (TABLE, Some("Table")),
        ("application/json", Some("PodList")),
        ("application/json,application/json;as=Table;v=v1;g=meta.k8s.io", Some("PodList")),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", Some("PodList")),
        ("application/vnd.kubernetes.protobuf,*/*", Some("PodList")),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io", None),
        ("application/vnd.kubernetes.protobuf", None),
    ];
    for (accept, kind) in table {
        match (ask(&s, accept, "/api/v1/pods").await, kind) {
            (Ok(answer), Some(kind)) => assert_eq!(answer["kind"], kind, "{accept}"),
            (Err(error), None) => assert_eq!(refusal(error).code, 406, "{accept}"),
            (answer, _) => panic!("{accept}: {answer:?}"),
        }
    }
}
