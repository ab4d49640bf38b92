//! What is on this machine: proxies are not asked for it, and nobody listens in on the way.

use reqwest::Url;

/// Whether a URL leads to this machine.
pub(crate) fn is_here(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_told_from_others() {
        for here in ["http://localhost/mcp", "https://127.0.0.1:8080", "http://127.9.9.9", "http://[::1]:1/"]
        {
            assert!(is_here(&Url::parse(here).unwrap()), "{here}");
        }
        for elsewhere in
            ["https://example.com", "http://10.0.0.1", "http://localhost.example.com", "http://[::2]"]
        {
            assert!(!is_here(&Url::parse(elsewhere).unwrap()), "{elsewhere}");
        }
    }
}
