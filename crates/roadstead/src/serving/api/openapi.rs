//! The description of the API.

use axum::body::Body;
use axum::response::Response;
use http::HeaderValue;
use http::header::CONTENT_TYPE;

use super::parameters::Parameters;
use super::problem::Problem;

pub(super) async fn show(parameters: Parameters) -> Result<Response, Problem> {
    parameters.allow(&[])?;
    let mut response = Response::new(Body::from(DESCRIPTION));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// OpenAPI 3.1.
pub(super) const DESCRIPTION: &str = include_str!("openapi.json");
