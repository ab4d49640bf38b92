//! Pages of other origins: what a browser has to be told before it lets one call and read the answer.
//!
//! By hand because who may read is the gate's business, and what is left are these few headers.

use axum::body::Body;
use axum::extract::Request;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};

/// How long a browser may remember what it was permitted.
const REMEMBERED: HeaderValue = HeaderValue::from_static("600");

/// What a browser asks before it sends the request itself.
pub(super) fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Permits what the page is about to do: what is wrong with it is said when it does it.
pub(super) fn permit(asked: &HeaderMap) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers
        .insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE, OPTIONS"));
    if let Some(names) = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, REMEMBERED);
    response
}

/// Lets the page read the answer.
pub(super) fn expose(headers: &mut HeaderMap, reader: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, reader);
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate, Retry-After"),
    );
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
}
