//! What a service says about how to log in.

use serde::Deserialize;

use crate::network::{NetworkError, Web};

/// `/.well-known/oauth-protected-resource` of the service that keeps the account.
#[derive(Deserialize)]
struct Resource {
    authorization_servers: Vec<String>,
}

/// `/.well-known/oauth-authorization-server` of the server that grants access to it.
#[derive(Debug, Deserialize)]
pub(super) struct Issuer {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    pub(super) pushed_authorization_request_endpoint: String,
    pub(super) revocation_endpoint: Option<String>,
}

/// Finds who grants access to the accounts of a service. `None` when it has no OAuth.
pub(super) async fn discover(web: &Web, service: &str) -> Result<Option<Issuer>, NetworkError> {
    let resource: Resource = match read(web, service, "oauth-protected-resource").await? {
        Some(resource) => resource,
        None => return Ok(None),
    };
    let Some(server) = resource.authorization_servers.first() else { return Ok(None) };
    let server = server.trim_end_matches('/');
    let Some(issuer) = read::<Issuer>(web, server, "oauth-authorization-server").await? else {
        return Ok(None);
    };
    // Whoever speaks for another issuer is not to be believed.
    if issuer.issuer.trim_end_matches('/') == server {
        Ok(Some(issuer))
    } else {
        Err(NetworkError::BadAnswer("about itself"))
    }
}

async fn read<T: for<'de> Deserialize<'de>>(
    web: &Web,
    base: &str,
    name: &str,
) -> Result<Option<T>, NetworkError> {
    match web.get(&format!("{base}/.well-known/{name}"), &[]).await {
        Ok(answer) => answer.json().map(Some),
        Err(NetworkError::Refused { status: 400..500, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
