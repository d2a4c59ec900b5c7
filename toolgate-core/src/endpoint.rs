//! Which hosts and addresses may be reached: public ones.

use core::net::IpAddr;
use core::net::Ipv4Addr;
use core::net::Ipv6Addr;
use std::fmt;

use url::Host;

/// Why a host is not reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndpointError {
    /// Its address is private, local, reserved or somebody's metadata.
    Address,
    /// Its name belongs to this machine or this network.
    Name,
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Address => "the address is not a public one",
            Self::Name => "the name belongs to this machine or this network",
        })
    }
}

impl std::error::Error for EndpointError {}

/// Whether an address is a public one (the special-purpose registries of RFC 6890 and its
/// successors are not). An IPv4 address inside an IPv6 one counts as itself.
///
/// ```
/// use toolgate_core::endpoint::address_is_public;
///
/// assert!(address_is_public("93.184.216.34".parse()?));
/// assert!(!address_is_public("::ffff:127.0.0.1".parse()?));
/// # Ok::<(), core::net::AddrParseError>(())
/// ```
#[must_use]
pub fn address_is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4_is_public(v4),
        IpAddr::V6(v6) => inner_v4(v6).map_or_else(|| v6_is_public(v6), v4_is_public),
    }
}

fn v4_is_public(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(a == 0
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (18..20).contains(&b))
        || address == AZURE_HOST)
}

fn v6_is_public(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let global = (first & 0xe000) == 0x2000;
    global && !(first == 0x2001 && (second < 0x200 || second == 0x0db8)) && first != 0x3fff
}

/// The IPv4 address inside an IPv6 one: mapped, compatible, NAT64 and 6to4.
fn inner_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([x, y], [z, w]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(x, y, z, w)
    };
    match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0 | 0xffff) | (0, 0, 0, 0, 0xffff, 0) => Some(v4(g, h)),
        // Only the well-known prefix: where a network of its own puts the address is not known.
        (0x64, 0xff9b, 0, 0, 0, 0) => Some(v4(g, h)),
        (0x2002, high, low, ..) => Some(v4(high, low)),
        _ => None,
    }
}

/// Whether a URL's host may be asked for: names of this machine or network and addresses that are
/// not public may not. A name that passes is still resolved, and every address of it checked.
///
/// # Errors
/// [`EndpointError`] says whether the name or the address is the reason.
pub fn check_host(host: &Host<&str>) -> Result<(), EndpointError> {
    match host {
        Host::Ipv4(address) if !address_is_public(IpAddr::V4(*address)) => {
            Err(EndpointError::Address)
        }
        Host::Ipv6(address) if !address_is_public(IpAddr::V6(*address)) => {
            Err(EndpointError::Address)
        }
        Host::Ipv4(_) | Host::Ipv6(_) => Ok(()),
        Host::Domain(name) => {
            // Whoever made this host may not have read `127.1` as the address that it is, nor
            // `ｌｏｃａｌ` as the name.
            let name = match Host::parse(name) {
                Ok(Host::Domain(name)) => name,
                Ok(Host::Ipv4(address)) => return check_host(&Host::Ipv4(address)),
                Ok(Host::Ipv6(address)) => return check_host(&Host::Ipv6(address)),
                Err(_) => return Err(EndpointError::Name),
            };
            let name = name.trim_end_matches('.');
            let local = LOCAL.iter().any(|suffix| {
                name == *suffix
                    || name
                        .strip_suffix(suffix)
                        .is_some_and(|rest| rest.ends_with('.'))
            });
            if local || !name.contains('.') {
                Err(EndpointError::Name)
            } else {
                Ok(())
            }
        }
    }
}

/// Where a machine in Azure finds its host and its metadata, in the midst of public addresses.
const AZURE_HOST: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

const LOCAL: &[&str] = &[
    "home.arpa",
    "internal",
    "intranet",
    "lan",
    "local",
    "localdomain",
    "localhost",
];

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    fn reached(url: &str) -> bool {
        let url = Url::parse(url).unwrap();
        check_host(&url.host().unwrap()).is_ok()
    }

    #[test]
    fn every_spelling_of_a_private_address_is_refused() {
        for host in [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f000001",
            "017700000001",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "168.63.129.16",
            "[::ffff:168.63.129.16]",
            "100.64.0.1",
            "198.18.0.1",
            "192.0.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "１２７.０.０.１",
            "[::]",
            "[::1]",
            "[fe80::1]",
            "[fc00::1]",
            "[ff02::1]",
            "[2001:db8::1]",
            "[::ffff:7f00:1]",
            "[::7f00:1]",
            "[64:ff9b::7f00:1]",
            "[64:ff9b:1:7f00:1::5db8:d822]",
            "[64:ff9b:1::5db8:d822]",
            "[2002:7f00:1::]",
            "localhost",
            "localhost.",
            "foo.localhost",
            "foo.internal.",
            "router.lan",
            "printer.local",
            "PRINTER.ＬＯＣＡＬ",
            "nas.home.arpa",
            "host.localdomain",
            "wiki.intranet",
            "intranet",
        ] {
            assert!(!reached(&format!("https://{host}/")), "{host}");
        }
    }

    #[test]
    fn a_name_that_is_an_address_is_read_as_one() {
        for name in [
            "127.1",
            "127.0.0.1.",
            "0x7f.1",
            "0177.0.0.01",
            "１０.０.０.１",
            "2130706433",
            "127%2e0.0.1",
            "[::ffff:127.0.0.1]",
            "::ffff:127.0.0.1",
            "ｒｏｕｔｅｒ．ｌｏｃａｌ",
            "router%2elocal",
            "a b.example.com",
            "",
        ] {
            assert!(check_host(&Host::Domain(name)).is_err(), "{name}");
        }
        for name in ["93.184.216.34", "8x8.com", "a_b.example.com"] {
            assert!(check_host(&Host::Domain(name)).is_ok(), "{name}");
        }
    }

    #[test]
    fn ordinary_hosts_are_not_mistaken() {
        for host in [
            "8x8.com",
            "0x.example.com",
            "mcp.internal.example.com",
            "93.184.216.34",
            "168.63.129.17",
            "[2606:4700::1111]",
            "[64:ff9b::5db8:d822]",
            "localhost.example.com",
            "mylocal",
            "notlocal.org",
        ] {
            assert_eq!(
                reached(&format!("https://{host}/")),
                host != "mylocal",
                "{host}"
            );
        }
    }
}
