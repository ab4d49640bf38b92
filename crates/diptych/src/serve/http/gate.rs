//! Who may knock: the `Host` a request names and the `Origin` of the page it comes from.
//!
//! Both guard against DNS rebinding: a page on the web can make a browser send requests to a server on the
//! same machine, but it cannot choose these two headers.

use std::net::{IpAddr, SocketAddr};

use http::uri::Authority;
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};

use super::reply::{INVALID_REQUEST, Refusal};

/// The hosts and origins that are let in.
#[derive(Debug, Clone, Default)]
pub(super) struct Gate {
    hosts: Vec<(String, Option<u16>)>,
    origins: Vec<(String, String, Port)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Port {
    Any,
    Only(u16),
}

impl Gate {
    /// Adds a host, with or without a port. `false` when it is neither.
    pub(super) fn allow_host(&mut self, host: &str) -> bool {
        let bare = host.trim().parse::<IpAddr>().ok().map(|address| (address.to_string(), None));
        match bare.or_else(|| parse_host(host.trim())) {
            Some(host) => {
                self.hosts.push(host);
                true
            }
            None => false,
        }
    }

    /// Adds an origin: `https://example.com`, `http://example.com:8080` or, for any port,
    /// `http://example.com:*`. `false` when it is none of these.
    pub(super) fn allow_origin(&mut self, origin: &str) -> bool {
        let origin = origin.trim().trim_end_matches('/');
        let (text, any) = match origin.strip_suffix(":*") {
            Some(base) => (base, true),
            None => (origin, false),
        };
        match parse_origin(text) {
            Some((scheme, host, port)) => {
                self.origins.push((scheme, host, if any { Port::Any } else { Port::Only(port) }));
                true
            }
            None => false,
        }
    }

    /// Adds the address that is listened on, if it names one.
    pub(super) fn allow_bound(&mut self, address: SocketAddr) {
        if !address.ip().is_unspecified() {
            self.hosts.push((address.ip().to_string(), Some(address.port())));
        }
    }

    /// Lets a request in, or says why not.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let named = match (hosts.next(), hosts.next(), uri.authority()) {
            (Some(host), None, _) => host.to_str().ok().and_then(parse_host),
            (None, None, Some(authority)) => parse_host(authority.as_str()),
            _ => None,
        };
        let Some((host, port)) = named else {
            let problem = "The request must name one host in its Host header.";
            return Err(Refusal::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, problem));
        };
        let known = |(allowed, only): &(String, Option<u16>)| {
            *allowed == host && only.is_none_or(|only| port.unwrap_or(80) == only)
        };
        if !is_loopback(&host) && !self.hosts.iter().any(known) {
            tracing::warn!(host, "refused a request for a host that is not allowed");
            let problem = "This host is not allowed. The server's operator can allow it.";
            return Err(Refusal::new(StatusCode::FORBIDDEN, INVALID_REQUEST, problem));
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let (Some(origin), more) = (origins.next(), origins.next()) else { return Ok(()) };
        let origin = origin.to_str().ok().filter(|_| more.is_none()).and_then(parse_origin);
        if origin.is_some_and(|origin| is_loopback(&origin.1) || self.names(&origin)) {
            return Ok(());
        }
        tracing::warn!("refused a request from an origin that is not allowed");
        let problem = "This origin is not allowed. The server's operator can allow it.";
        Err(Refusal::new(StatusCode::FORBIDDEN, INVALID_REQUEST, problem))
    }
}

impl Gate {
    /// The origin of a page that may read what is answered: one that the operator named. A page on this
    /// machine may knock, but is not trusted with the answers for that alone.
    pub(super) fn reader<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        origin.to_str().ok().and_then(parse_origin).is_some_and(|named| self.names(&named)).then_some(origin)
    }

    fn names(&self, (scheme, host, port): &(String, String, u16)) -> bool {
        self.origins.iter().any(|(known_scheme, known_host, known_port)| {
            known_scheme == scheme
                && known_host == host
                && (*known_port == Port::Any || *known_port == Port::Only(*port))
        })
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn parse_host(text: &str) -> Option<(String, Option<u16>)> {
    // An authority may carry a user name; a Host may not.
    let authority: Authority = text.parse().ok().filter(|_| !text.contains('@'))?;
    // Its own reading of the port lets anything pass that is not a number.
    let port = match authority.as_str().strip_prefix(authority.host())? {
        "" => None,
        port => Some(port.strip_prefix(':')?.parse().ok()?),
    };
    let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    (!host.is_empty()).then_some((host, port))
}

fn parse_origin(text: &str) -> Option<(String, String, u16)> {
    let (scheme, rest) = text.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let default = match scheme.as_str() {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let (host, port) = parse_host(rest)?;
    Some((scheme, host, port.unwrap_or(default)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> Gate {
        let mut gate = Gate::default();
        assert!(gate.allow_host("mcp.example.com"));
        assert!(gate.allow_host("ported.example.com:8080"));
        assert!(gate.allow_host("2001:db8::1"));
        assert!(gate.allow_origin("https://app.example.com"));
        assert!(gate.allow_origin("http://any.example.com:*"));
        gate.allow_bound("192.0.2.7:7000".parse().unwrap());
        gate
    }

    fn status(host: &str, origin: Option<&str>) -> u16 {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        match gate().check(&Uri::from_static("/mcp"), &headers) {
            Ok(()) => 200,
            Err(refusal) => refusal.into_response().status().as_u16(),
        }
    }

    #[test]
    fn hosts() {
        for host in [
            "localhost",
            "LOCALHOST:3000",
            "127.0.0.1:1",
            "127.8.8.8",
            "[::1]:9",
            "mcp.example.com",
            "MCP.example.com:444",
            "ported.example.com:8080",
            "192.0.2.7:7000",
            "[2001:db8::1]:80",
        ] {
            assert_eq!(status(host, None), 200, "{host}");
        }
        for host in [
            "evil.example.com",
            "localhost.evil.example.com",
            "ported.example.com",
            "192.0.2.7:7001",
            "127.0.0.1.evil.example.com",
            "localhosts",
            "mcp.example.com.",
        ] {
            assert_eq!(status(host, None), 403, "{host}");
        }
        for host in ["", "a b", "me@localhost", "localhost:port", "localhost:99999"] {
            assert_eq!(status(host, None), 400, "{host}");
        }
    }

    #[test]
    fn one_host_only() {
        let mut headers = HeaderMap::new();
        assert!(gate().check(&Uri::from_static("/mcp"), &headers).is_err());
        headers.append(header::HOST, "localhost".parse().unwrap());
        headers.append(header::HOST, "evil.example.com".parse().unwrap());
        assert!(gate().check(&Uri::from_static("/mcp"), &headers).is_err());
    }

    #[test]
    fn origins() {
        for origin in [
            "http://localhost",
            "http://127.0.0.1:5173",
            "https://[::1]:1",
            "https://app.example.com",
            "https://app.example.com:443",
            "HTTPS://APP.example.com",
            "http://any.example.com:81",
        ] {
            assert_eq!(status("localhost", Some(origin)), 200, "{origin}");
        }
        for origin in [
            "null",
            "",
            "http://app.example.com",
            "https://app.example.com:444",
            "https://evil.example.com",
            "http://localhost.evil.example.com",
            "https://any.example.com",
            "file://localhost",
            "localhost",
            "http://localhost@evil.example.com",
        ] {
            assert_eq!(status("localhost", Some(origin)), 403, "{origin}");
        }
    }

    #[test]
    fn what_is_no_host_or_origin_is_not_added() {
        let mut gate = Gate::default();
        for host in ["", "a b", "http://example.com", "example.com:port"] {
            assert!(!gate.allow_host(host), "{host}");
        }
        for origin in ["", "*", "example.com", "ftp://example.com", "https://example.com/path"] {
            assert!(!gate.allow_origin(origin), "{origin}");
        }
    }
}
