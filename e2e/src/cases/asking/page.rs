//! The page and the stream behind the API server's proxy, for a browser that says who asks.

use std::time::Duration;

use http::{Request, StatusCode};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;

use crate::certificates::User;
use crate::failure::{Outcome, While, check};
use crate::world::World;

pub(super) async fn run(world: &World) -> Outcome {
    let client = world.plane.client(User::Onlooker).await?;
    let token = ["-n", "roadstead", "create", "token", "roadstead-viewer"];
    let token = world.kubectl(User::Onlooker, &token)?;
    let token = format!("Bearer {}", token.trim());

    let (status, _) = get(&client, "/", None).await?;
    check(status == StatusCode::FORBIDDEN, || format!("nobody's name, and yet {status}"))?;
    let (status, page) = get(&client, "/", Some(&token)).await?;
    check(status == StatusCode::OK, || format!("the page: {status}: {page}"))?;
    check(page.contains("<title>Roadstead"), || format!("that is not the page: {page}"))?;
    // Whatever it names must lie below the proxy's path, as the page itself does.
    let mut assets = 0;
    for reference in references(&page) {
        let path = match reference.strip_prefix(PROXY) {
            Some(path) => path.to_owned(),
            None if reference.starts_with('/') || reference.contains(':') => {
                return Err(format!("the page names {reference}").into());
            }
            None => format!("/{}", reference.trim_start_matches("./")),
        };
        let (status, _) = get(&client, &path, Some(&token)).await?;
        check(status == StatusCode::OK, || format!("{reference} of the page: {status}"))?;
        assets += 1;
    }
    check(assets > 0, || format!("the page names no asset: {page}"))?;
    stream(&client, &token).await
}

/// Moments come while the stream goes on: nothing in between keeps them back.
async fn stream(client: &Client, token: &str) -> Outcome {
    let answer = client.send(request("/api/v1/stream", Some(token))?).await?;
    check(answer.status() == StatusCode::OK, || format!("the stream: {}", answer.status()))?;
    let mut body = answer.into_body();
    let mut text = String::new();
    while text.matches("event: activity").count() < 3 {
        let frame = tokio::time::timeout(Duration::from_secs(10), body.frame()).await;
        let frame = frame.during("the stream is silent")?.ok_or("the stream has ended")??;
        text.push_str(&String::from_utf8_lossy(&frame.into_data().unwrap_or_default()));
    }
    Ok(())
}

async fn get(client: &Client, path: &str, token: Option<&str>) -> Outcome<(StatusCode, String)> {
    let answer = client.send(request(path, token)?).await.during(path)?;
    let status = answer.status();
    let body = answer.into_body().collect().await.during(path)?.to_bytes();
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

pub(super) fn request(path: &str, token: Option<&str>) -> Outcome<Request<Body>> {
    let mut request = Request::get(format!("{PROXY}{path}"));
    if let Some(token) = token {
        request = request.header("X-Roadstead-Authorization", token);
    }
    Ok(request.body(Body::empty())?)
}

/// What a page loads: not what is in it, by its place or as data.
fn references(page: &str) -> Vec<&str> {
    let is_elsewhere =
        |reference: &&str| !reference.starts_with('#') && !reference.starts_with("data:");
    let values = |name| page.split(name).skip(1).filter_map(|rest| rest.split('"').next());
    values(" src=\"").chain(values(" href=\"")).filter(is_elsewhere).collect()
}

const PROXY: &str = "/api/v1/namespaces/roadstead/services/https:roadstead:10259/proxy";
