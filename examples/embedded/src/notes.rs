//! A small MCP server, as its author wrote it: nothing here knows of a gate.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use rmcp::ServerHandler;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::schemars;
use rmcp::tool;
use rmcp::tool_handler;
use rmcp::tool_router;

/// Notes, by their titles.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<BTreeMap<String, String>>>);

/// Which note.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Which {
    /// Its title
    title: String,
}

/// A note to keep.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Note {
    /// Its title
    title: String,
    /// Its text
    text: String,
}

#[tool_router]
impl Notes {
    #[tool(description = "Reads a note", annotations(read_only_hint = true))]
    async fn read(&self, Parameters(which): Parameters<Which>) -> String {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = notes.get(&which.title);
        found.map_or_else(|| "there is no such note".to_owned(), Clone::clone)
    }

    #[tool(
        description = "Keeps a note",
        annotations(read_only_hint = false, destructive_hint = true)
    )]
    async fn write(&self, Parameters(note): Parameters<Note>) -> String {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.insert(note.title, note.text);
        "kept".to_owned()
    }
}

#[tool_handler]
impl ServerHandler for Notes {}
