use std::sync::OnceLock;

use toolgate_core::rules::AllowedHosts;

use crate::support;

/// Addresses: a rule on the first line if there are two, then an address. What is allowed is on a
/// host that is named, however the address is read.
pub fn hosts(data: &[u8]) {
    let text = support::text(data);
    let (rule, address) = match text.split_once('\n') {
        Some((rule, address)) => (Some(rule), address),
        None => (None, text.as_ref()),
    };
    naive(address);
    let Some(rule) = rule else { return };
    let Ok(hosts) = AllowedHosts::new(&[rule.to_owned()]) else {
        return;
    };
    if rule.is_ascii() && !rule.starts_with("*.") {
        let own = hosts.allows(&format!("https://{rule}/"));
        assert!(own.is_ok(), "{rule:?} does not allow its own address");
    }
    let both = hosts.clone().and(ours().clone());
    let (one, other) = (hosts.allows(address), ours().allows(address));
    assert_eq!(both.allows(address).is_ok(), one.is_ok() && other.is_ok());
}

fn ours() -> &'static AllowedHosts {
    static HOSTS: OnceLock<AllowedHosts> = OnceLock::new();
    HOSTS.get_or_init(|| {
        let named = [
            "example.com",
            "*.example.org",
            "b\u{fc}cher.example",
            "127.0.0.1",
            "[::1]",
        ];
        AllowedHosts::new(&named.map(str::to_owned)).expect("rules of ours")
    })
}

fn naive(address: &str) {
    let allowed = ours().allows(address);
    let read = host(address);
    let Ok(url) = allowed else {
        let path = read.and_then(|host| address.strip_prefix(&format!("https://{host}/")));
        let is_plain = path.is_some_and(|path| path.bytes().all(|b| b.is_ascii_alphanumeric()));
        let is_label =
            |label: &str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_lowercase());
        let is_name = |host: &str| host.split('.').all(is_label);
        let is_ours = read.is_some_and(|host| is_named(host) && is_name(host));
        assert!(!(is_plain && is_ours), "{address:?} is refused");
        return;
    };
    let given = url.host_str().expect("an allowed address has a host");
    assert!(is_named(given), "{given:?} is not named");
    assert!(url.scheme() == "https" && url.port().is_none());
    assert!(url.username().is_empty() && url.password().is_none());
    assert_eq!(
        ours().allows(url.as_str()).as_ref(),
        Ok(&url),
        "it is allowed again"
    );
    assert_eq!(
        host(url.as_str()),
        Some(given),
        "both readers see one host in what is used"
    );
    // A backslash ends a host for browsers, and for nobody else.
    let authority = address[8..].split(['/', '?', '#']).next();
    let authority = authority.unwrap_or_default();
    assert!(
        !authority.contains(['\\', '@']),
        "{authority:?} has two readings"
    );
    if authority.is_ascii() {
        let read = read.expect("an allowed address is one");
        let read = read.strip_suffix('.').unwrap_or(read).to_ascii_lowercase();
        // Numbers have many spellings, all of one address.
        let is_address = given == "127.0.0.1" || given == "[::1]";
        assert!(
            is_named(&read) || is_address,
            "{read:?} is taken for {given:?}"
        );
    } else {
        assert!(given.split('.').any(|label| label.starts_with("xn--")));
    }
}

/// The host of an https address at its default port, without more than cutting the text up.
fn host(address: &str) -> Option<&str> {
    let (scheme, rest) = address.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host
        .strip_suffix(":443")
        .or(host.strip_suffix(':'))
        .unwrap_or(host);
    scheme.eq_ignore_ascii_case("https").then_some(host)
}

fn is_named(host: &str) -> bool {
    let below = host.strip_suffix(".example.org");
    matches!(
        host,
        "example.com" | "xn--bcher-kva.example" | "127.0.0.1" | "[::1]"
    ) || below.is_some_and(|label| !label.is_empty())
}
