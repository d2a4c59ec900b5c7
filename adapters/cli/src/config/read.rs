//! From text to [`Config`], with every fault and its line.

use std::net::SocketAddr;
use std::ops::Range;
use std::path::PathBuf;

use toml::Spanned;
use toml::de::DeTable;
use toml::de::DeValue;
use toolgate_axum::native::Connector;
use url::Host;
use url::Url;

use super::Config;
use super::Fault;
use super::schema::KEYS;

/// The shortest token that a file may name.
const LEAST_TOKEN: usize = toolgate_core::key::LEAST_CHOSEN_TOKEN;

/// Reads a file's text; `variable` looks an environment variable up.
pub(crate) fn read(
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Config, Vec<Fault>> {
    let mut reader = Reader {
        text,
        variable,
        faults: Vec::new(),
    };
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        // The parser's words may quote the text, which may hold a secret.
        reader.fault(error.span().unwrap_or(0..0), "this is not TOML");
    }
    let config = reader.config(table.get_ref());
    if reader.faults.is_empty() {
        Ok(config)
    } else {
        reader.faults.sort_by_key(|fault| fault.line);
        Err(reader.faults)
    }
}

struct Reader<'a> {
    text: &'a str,
    variable: &'a dyn Fn(&str) -> Option<String>,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn config(&mut self, table: &DeTable<'_>) -> Config {
        let mut config = Config::default();
        let mut listen_at = 0..0;
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "listen" => {
                    listen_at = value.span();
                    if let Some(address) = self.listen(value) {
                        config.listen = address;
                    }
                }
                "data" => {
                    if let Some(folder) = self.text(value, "a folder").filter(|t| !t.is_empty()) {
                        config.data = PathBuf::from(folder);
                    }
                }
                "connectors" => config.connectors = self.connectors(value),
                "durability" => match self.text(value, "`strict` or `relaxed`") {
                    Some("strict") | None => {}
                    Some("relaxed") => config.relaxed = true,
                    Some(_) => self.fault(value.span(), "`durability` is `strict` or `relaxed`"),
                },
                "publicUrl" => config.public_url = self.public_url(value),
                "metricsToken" => config.metrics_token = self.metrics_token(value),
                "upstream" => self.fault(
                    key.span(),
                    "`[[upstream]]` is not served by this version: it has built-in connectors only",
                ),
                other => self.unknown(key.span(), other),
            }
        }
        if !config.listen.ip().is_loopback() && config.public_url.is_none() {
            self.fault(
                listen_at,
                "`listen` reaches beyond this machine: `publicUrl` must say by which address",
            );
        }
        config
    }

    fn listen(&mut self, value: &Spanned<DeValue<'_>>) -> Option<SocketAddr> {
        let text = self.text(value, "an address and a port")?;
        let address = text.parse().ok();
        if address.is_none() {
            self.fault(
                value.span(),
                "`listen` is an IP address and a port, as in `127.0.0.1:8787`",
            );
        }
        address
    }

    fn connectors(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<Connector> {
        let words = Connector::ALL.map(|connector| format!("`{}`", connector.as_str()));
        let expected = format!("`connectors` is a list of {}", words.join(", "));
        let Some(list) = value.get_ref().as_array() else {
            self.fault(value.span(), &expected);
            return Vec::new();
        };
        let mut named = Vec::new();
        for item in list {
            let word = item.get_ref().as_str();
            let known = Connector::ALL
                .into_iter()
                .find(|c| Some(c.as_str()) == word);
            match known {
                Some(connector) if named.contains(&connector) => {
                    self.fault(item.span(), "a connector is named twice");
                }
                Some(connector) => named.push(connector),
                None => self.fault(item.span(), &expected),
            }
        }
        named
    }

    fn public_url(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Url> {
        let text = self.text(value, "a URL")?;
        let url = Url::parse(text).ok();
        let fits = |url: &Url| {
            let here = match url.host() {
                Some(Host::Domain(name)) => name == "localhost",
                Some(Host::Ipv4(ip)) => ip.is_loopback(),
                Some(Host::Ipv6(ip)) => ip.is_loopback(),
                None => return false,
            };
            let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
            let named = url.username().is_empty() && url.password().is_none();
            let scheme = url.scheme() == "https" || (url.scheme() == "http" && here);
            bare && named && scheme
        };
        let url = url.filter(fits);
        if url.is_none() {
            self.fault(
                value.span(),
                "`publicUrl` is an https address with nothing after the host and its port",
            );
        }
        url
    }

    fn metrics_token(&mut self, value: &Spanned<DeValue<'_>>) -> Option<String> {
        let text = self.text(value, "a token, or `$NAME` of a variable that holds it")?;
        let token = match text.strip_prefix('$') {
            None => text.to_owned(),
            Some(name) => match (self.variable)(name) {
                Some(token) => token,
                None => {
                    self.fault(
                        value.span(),
                        "the variable that `metricsToken` names is not set; it must be in the \
                         environment of the gate's process",
                    );
                    return None;
                }
            },
        };
        let fits = toolgate_core::key::OperatorToken::chosen(&token).is_some();
        if !fits {
            let message =
                format!("`metricsToken` has {LEAST_TOKEN} or more letters, digits and `-._~+/=`");
            self.fault(value.span(), &message);
        }
        fits.then_some(token)
    }

    fn text<'v>(&mut self, value: &'v Spanned<DeValue<'_>>, expected: &str) -> Option<&'v str> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            let found = value.get_ref().type_str();
            self.fault(value.span(), &format!("expected {expected}, found {found}"));
        }
        text
    }

    fn unknown(&mut self, span: Range<usize>, key: &str) {
        let near = KEYS
            .iter()
            .map(|known| known.name)
            .find(|known| known.eq_ignore_ascii_case(&key.replace(['_', '-'], "")));
        let message = match near {
            Some(known) => format!("unknown key; is `{known}` meant?"),
            None => {
                let names: Vec<_> = KEYS.iter().map(|key| format!("`{}`", key.name)).collect();
                format!("unknown key; known are {}", names.join(", "))
            }
        };
        self.fault(span, &message);
    }

    fn fault(&mut self, span: Range<usize>, message: &str) {
        let before = self.text.as_bytes().iter().take(span.start);
        self.faults.push(Fault {
            line: before
                .filter(|byte| **byte == b'\n')
                .count()
                .saturating_add(1),
            message: message.to_owned(),
        });
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8787)),
            data: PathBuf::from("toolgate-data"),
            connectors: Vec::new(),
            relaxed: false,
            public_url: None,
            metrics_token: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let faults = read(text, &|_| None).unwrap_err();
        faults.iter().map(|fault| fault.line).collect()
    }

    #[test]
    fn an_empty_file_is_the_default() {
        let config = read("", &|_| None).unwrap();
        assert_eq!(config, Config::default());
        assert!(config.connectors.is_empty());
    }

    #[test]
    fn every_fault_is_told_with_its_line() {
        let text = "listen = \"nowhere\"\n\ndurabilty = \"strict\"\nconnectors = [\n  \"desk\",\n  \
                    \"disk\",\n]\npublicUrl = \"http://gate.example.com\"\ndata = 5\n\n[[upstream]]\n\
                    id = \"git\"\n";
        assert_eq!(lines(text), [1, 3, 6, 8, 9, 11]);
    }

    #[test]
    fn broken_toml_is_told_with_its_line_and_without_its_text() {
        let faults = read("data = \"d\"\nmetricsToken = s3cret\n", &|_| None).unwrap_err();
        assert_eq!(faults[0].line, 2);
        assert!(faults.iter().all(|fault| !fault.message.contains("s3cret")));
    }

    #[test]
    fn another_spelling_of_a_key_is_unknown_but_recognised() {
        let faults = read("public_url = \"https://g.example\"", &|_| None).unwrap_err();
        assert_eq!(faults[0].message, "unknown key; is `publicUrl` meant?");
    }

    #[test]
    fn a_token_may_come_from_the_environment() {
        let text = "metricsToken = \"$METRICS\"";
        let token = "0123456789abcdef01234567";
        let set = |name: &str| (name == "METRICS").then(|| token.to_owned());
        assert_eq!(
            read(text, &set).unwrap().metrics_token.as_deref(),
            Some(token)
        );
        assert_eq!(lines(text), [1]);
        assert_eq!(lines("metricsToken = \"short\""), [1]);
    }

    #[test]
    fn listening_beyond_this_machine_needs_an_address() {
        assert_eq!(lines("data = \"d\"\nlisten = \"0.0.0.0:80\""), [2]);
        let text = "listen = \"0.0.0.0:80\"\npublicUrl = \"https://gate.example.com\"";
        assert!(read(text, &|_| None).is_ok());
    }
}
