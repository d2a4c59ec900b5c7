//! What MCP clients are configured with. A key stands in the environment, not in a file.

use clap::ValueEnum;
use serde_json::Value;
use serde_json::json;

/// A client whose configuration is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpClient {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    Vscode,
}

/// A client's configuration and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setup {
    /// The file, as the client's users know it.
    pub(crate) file: &'static str,
    /// The variable to set, and what to set it to.
    pub(crate) variable: (&'static str, String),
    /// The file's content.
    pub(crate) document: Value,
}

impl McpClient {
    /// The configuration for a gate at `address`.
    pub(crate) fn setup(self, address: &str, key: &str) -> Setup {
        let url = format!("{}/mcp", address.trim_end_matches('/'));
        let bearer = |variable: &str| json!({"Authorization": format!("Bearer {variable}")});
        let (file, document) = match self {
            Self::ClaudeCode => (
                ".mcp.json",
                json!({"mcpServers": {"toolgate": {
                    "type": "http", "url": url, "headers": bearer("${TOOLGATE_KEY}"),
                }}}),
            ),
            Self::ClaudeDesktop => (
                "claude_desktop_config.json",
                json!({"mcpServers": {"toolgate": {
                    "command": "npx",
                    "args": [
                        "-y", "mcp-remote", url, "--transport", "http-only", "--allow-http",
                        "--header", "Authorization:${TOOLGATE_AUTHORIZATION}",
                    ],
                }}}),
            ),
            Self::Cursor => (
                ".cursor/mcp.json",
                json!({"mcpServers": {"toolgate": {
                    "url": url, "headers": bearer("${env:TOOLGATE_KEY}"),
                }}}),
            ),
            Self::Vscode => (
                ".vscode/mcp.json",
                json!({"servers": {"toolgate": {
                    "type": "http", "url": url, "headers": bearer("${env:TOOLGATE_KEY}"),
                }}}),
            ),
        };
        let variable = match self {
            // Its bridge does not take a header with a space from a file on every system.
            Self::ClaudeDesktop => ("TOOLGATE_AUTHORIZATION", format!("Bearer {key}")),
            Self::ClaudeCode | Self::Cursor | Self::Vscode => ("TOOLGATE_KEY", key.to_owned()),
        };
        Setup {
            file,
            variable,
            document,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_holds_the_key() {
        for client in McpClient::value_variants() {
            let setup = client.setup("http://127.0.0.1:8787/", "tg_secret");
            let text = setup.document.to_string();
            assert!(!text.contains("tg_secret"), "{client:?}");
            assert!(text.contains("http://127.0.0.1:8787/mcp"), "{client:?}");
            assert!(text.contains(setup.variable.0), "{client:?}");
            assert!(setup.variable.1.contains("tg_secret"), "{client:?}");
        }
    }
}
