//! Files under relative paths.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use serde_json::json;
use toolgate_core::catalog::Source;
use toolgate_core::id::IdError;
use toolgate_core::id::UpstreamId;
use toolgate_mcp::upstream::Listing;
use toolgate_mcp::upstream::ToolCall;
use toolgate_mcp::upstream::Upstream;
use toolgate_mcp::upstream::UpstreamError;

use crate::FileStore;
use crate::tool::About;
use crate::tool::argument;
use crate::tool::done;
use crate::tool::failed;
use crate::tool::no_such_tool;
use crate::tool::not_read;
use crate::tool::not_written;
use crate::tool::object;
use crate::tool::page;
use crate::tool::source;
use crate::tool::text;

/// The longest path, in bytes.
const MOST_PATH: usize = 512;
/// The characters of a file that one call reads.
const PAGE: usize = 32 * 1024;

/// A relative path of plain segments: no empty one, no dots, no backslash, no control character.
///
/// ```
/// use toolgate_backends::FilePath;
///
/// assert!("docs/handbook.md".parse::<FilePath>().is_ok());
/// assert!("docs/../secrets".parse::<FilePath>().is_err());
/// assert!("/etc/passwd".parse::<FilePath>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(String);

impl FilePath {
    /// The path as text, segments separated by `/`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The text is not a path of plain segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilePathError;

impl fmt::Display for FilePathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a relative path of plain segments")
    }
}

impl std::error::Error for FilePathError {}

impl FromStr for FilePath {
    type Err = FilePathError;

    fn from_str(text: &str) -> Result<Self, FilePathError> {
        let plain = |segment: &str| {
            !segment.is_empty()
                && !segment.ends_with(['.', ' '])
                && !segment.starts_with(' ')
                && !segment.contains(['\\', ':', '\0'])
                && !segment.chars().any(toolgate_core::id::is_deceptive)
        };
        if text.len() <= MOST_PATH && text.split('/').all(plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err(FilePathError)
        }
    }
}

/// Whether a path is `prefix` or lies below it, on a boundary between segments: a policy's rule
/// about the prefix is held to the same boundaries.
fn below(prefix: &str, path: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| {
        prefix.is_empty() || prefix.ends_with('/') || rest.is_empty() || rest.starts_with('/')
    })
}

/// The tools `files_list`, `files_read` and `files_write`.
#[derive(Debug)]
pub struct Files {
    id: UpstreamId,
    files: Arc<dyn FileStore>,
}

impl Files {
    /// Files in this store.
    ///
    /// # Errors
    /// Never in practice: the id is a constant.
    pub fn new(files: Arc<dyn FileStore>) -> Result<Self, IdError> {
        Ok(Self {
            id: "files".parse()?,
            files,
        })
    }

    async fn read(&self, path: &FilePath, call: &ToolCall) -> Result<Value, UpstreamError> {
        let Some(bytes) = self.files.read(path).await.map_err(|e| not_read(&e))? else {
            return Ok(failed("there is no such file"));
        };
        let size = bytes.len();
        let Ok(text) = String::from_utf8(bytes) else {
            return Ok(failed("the file is not text"));
        };
        let (content, truncated) = page(call, &text, PAGE);
        Ok(done(&json!({
            "path": path.as_str(),
            "content": content,
            "size": size,
            "truncated": truncated,
        })))
    }
}

#[async_trait]
impl Upstream for Files {
    fn source(&self) -> Source {
        source(self.id.clone())
    }

    async fn tools(&self) -> Result<Listing, UpstreamError> {
        let path = || text(512, "The file's path, segments separated by /");
        let word = || json!({"type": "string"});
        let number = || json!({"type": "integer"});
        let entry = json!({
            "type": "object",
            "properties": {"path": word(), "size": number()},
            "required": ["path", "size"],
        });
        let list = json!({
            "type": "object",
            "properties": {"files": {"type": "array", "items": entry}},
            "required": ["files"],
        });
        let read = json!({
            "type": "object",
            "properties": {
                "path": word(), "content": word(), "size": number(),
                "truncated": {"type": "boolean"},
            },
            "required": ["path", "content", "size", "truncated"],
        });
        let from = json!({
            "type": "integer",
            "minimum": 0,
            "description": "Characters of the text as it is shown to skip, to read on",
        });
        let definitions = vec![
            About::reads(
                "files_list",
                "List files",
                "Lists files with their sizes in bytes.",
            )
            .definition(
                &object(
                    &json!({"prefix": text(512, "Only this path and what lies below it")}),
                    &[],
                ),
                &list,
            ),
            About::reads(
                "files_read",
                "Read a file",
                "Reads a text file, a page at a time.",
            )
            .definition(
                &object(&json!({"path": path(), "offset": from}), &["path"]),
                &read,
            ),
            About::writes(
                "files_write",
                "Write a file",
                "Writes a text file whole, in place of what is there.",
                true,
                true,
            )
            .definition(
                &object(
                    &json!({"path": path(), "content": text(262_144, "The file's text")}),
                    &["path", "content"],
                ),
                &entry,
            ),
        ];
        Ok(Listing {
            definitions,
            truncated: false,
        })
    }

    async fn call(&self, call: ToolCall) -> Result<Value, UpstreamError> {
        let tool = call.tool.as_str();
        if tool == "files_list" {
            let prefix = argument(&call.arguments, "prefix");
            let found = self.files.list(prefix).await.map_err(|e| not_read(&e))?;
            let files: Vec<Value> = found
                .into_iter()
                .filter(|(path, _)| below(prefix, path))
                .map(|(path, size)| json!({"path": path, "size": size}))
                .collect();
            return Ok(done(&json!({ "files": files })));
        }
        let Ok(path) = argument(&call.arguments, "path").parse::<FilePath>() else {
            return Ok(failed("that is not a relative path of plain segments"));
        };
        match tool {
            "files_read" => self.read(&path, &call).await,
            "files_write" => {
                let content = argument(&call.arguments, "content").as_bytes();
                self.files
                    .write(&path, content)
                    .await
                    .map_err(|e| not_written(&e))?;
                Ok(done(&json!({"path": path.as_str(), "size": content.len()})))
            }
            _ => Err(no_such_tool()),
        }
    }
}
