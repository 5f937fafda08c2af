//! The way to a cluster.

use std::path::PathBuf;

use roadstead_cluster::kubernetes::{ConnectOptions, connect};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A kubeconfig of this text, in a file that is gone with it.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("roadstead-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn kubeconfig(server: &str, more: &str) -> String {
    format!(
        "
kind: Config
apiVersion: v1
current-context: here
contexts:
- {{name: here, context: {{cluster: one, user: me, namespace: team}}}}
- {{name: there, context: {{cluster: two, user: me}}}}
clusters:
- {{name: one, cluster: {{server: '{server}'{more}}}}}
users:
- {{name: me, user: {{token: secret}}}}
"
    )
}

async fn failure(options: ConnectOptions) -> String {
    match connect(&options).await {
        Ok(_) => panic!("there is no such way"),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_kubeconfig_is_told_with_its_name_and_the_way_out() {
    let server = "https://127.0.0.1:6443";
    let rows: &[(&str, &str, Option<&str>, &str)] = &[
        (
            "context",
            &kubeconfig(server, ""),
            Some("nowhere"),
            "it has no context `nowhere`: choose another with --context; it has these contexts: here, there",
        ),
        (
            "cluster",
            &kubeconfig(server, ""),
            Some("there"),
            "its context means the cluster `two`, which it does not have",
        ),
        (
            "empty",
            "kind: Config",
            None,
            "it has no current context: choose one with --context; it has no contexts",
        ),
        (
            "url",
            "{kind: Config, current-context: a, contexts: [{name: a, context: {cluster: b}}], clusters: [{name: b, cluster: {}}]}",
            None,
            "the cluster has no `server`: add its URL, or give one with --master",
        ),
    ];
    for (name, text, context, problem) in rows {
        let file = File::new(name, text);
        let options = ConnectOptions {
            kubeconfig: Some(file.0.clone()),
            context: context.map(str::to_owned),
            master: None,
        };
        assert_eq!(
            failure(options).await,
            format!("kubeconfig `{}`: {problem}", file.0.display()),
            "{name}"
        );
    }
    let missing = ConnectOptions {
        kubeconfig: Some("/nonexistent/kubeconfig".into()),
        ..ConnectOptions::default()
    };
    let error = failure(missing).await;
    assert!(error.starts_with("kubeconfig `/nonexistent/kubeconfig`: "), "{error}");
    assert!(error.contains("No such file or directory"), "{error}");

    let broken = File::new("broken", "kind: [Config");
    let options =
        ConnectOptions { kubeconfig: Some(broken.0.clone()), ..ConnectOptions::default() };
    let error = failure(options).await;
    assert!(error.starts_with(&format!("kubeconfig `{}`: ", broken.0.display())), "{error}");

    let proxy = File::new("proxy", &kubeconfig(server, ", proxy-url: 'http://127.0.0.1:3128'"));
    let options = ConnectOptions { kubeconfig: Some(proxy.0.clone()), ..ConnectOptions::default() };
    assert_eq!(
        failure(options).await,
        "the credentials for https://127.0.0.1:6443/ cannot be used: it is behind the proxy \
         http://127.0.0.1:3128/, and proxies are not supported"
    );
}

#[tokio::test]
async fn a_master_has_to_be_a_url() {
    for url in ["10.0.0.1", "10.0.0.1:6443", "/api", "ftp://10.0.0.1", "https://"] {
        let options = ConnectOptions { master: Some(url.to_owned()), ..ConnectOptions::default() };
        let error = failure(options).await;
        assert!(error.starts_with(&format!("--master `{url}`: ")), "{error}");
        assert!(error.ends_with("expected a URL such as https://10.0.0.1:6443"), "{error}");
    }
}

#[tokio::test]
async fn requests_go_to_the_server_and_say_who_asks() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let served = tokio::spawn(async move {
        let mut asked = Vec::new();
        for answer in ["200 OK", "503 Service Unavailable"] {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(socket.read_u8().await.unwrap());
            }
            let body = r#"{"major":"1","minor":"36","code":503,"message":"busy"}"#;
            let answer = format!(
                "HTTP/1.1 {answer}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            socket.write_all(answer.as_bytes()).await.unwrap();
            asked.push(String::from_utf8(request).unwrap().to_lowercase());
        }
        asked
    });
    let file = File::new("fine", &kubeconfig("https://127.0.0.1:1", ""));
    let options = ConnectOptions {
        kubeconfig: Some(file.0.clone()),
        context: None,
        master: Some(server.clone()),
    };
    let client = connect(&options).await.unwrap();
    assert_eq!(client.default_namespace(), "team");
    let get = || http::Request::get("/version").body(Vec::new()).unwrap();
    let text = client.request_text(get()).await.unwrap();
    assert!(text.contains("36"), "{text}");
    // Were it repeated by itself, this would hang: nobody answers a third time.
    let busy = client.request_text(get()).await;
    assert!(matches!(busy, Err(kube::Error::Api(status)) if status.code == 503));

    for asked in served.await.unwrap() {
        assert!(asked.starts_with("get /version http/1.1\r\n"), "{asked}");
        let agent = concat!("user-agent: roadstead/", env!("CARGO_PKG_VERSION"), "\r\n");
        assert!(asked.contains(agent), "{asked}");
        assert!(asked.contains("authorization: bearer secret\r\n"), "{asked}");
        assert!(!asked.contains("accept-encoding"), "{asked}");
    }
}
