//! The part of `cargo metadata` that the suites need.

use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;

use crate::shell::Shell;

/// The workspace as cargo sees it.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<Package>,
}

/// One member of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) features: Vec<String>,
    /// Names of what the crate itself links: neither test-only nor build-time dependencies.
    pub(crate) dependencies: Vec<String>,
}

impl Workspace {
    pub(crate) fn read(shell: &Shell) -> Result<Self, String> {
        let text = shell.read("cargo metadata --format-version 1 --no-deps --offline")?;
        Self::parse(&text).ok_or_else(|| "`cargo metadata` has an unknown shape".to_owned())
    }

    fn parse(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let target = PathBuf::from(value.get("target_directory")?.as_str()?);
        let packages = value.get("packages")?.as_array()?;
        let packages = packages
            .iter()
            .map(Package::parse)
            .collect::<Option<Vec<_>>>()?;
        Some(Self { target, packages })
    }

    pub(crate) fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }
}

impl Package {
    fn parse(value: &Value) -> Option<Self> {
        let manifest = Path::new(value.get("manifest_path")?.as_str()?);
        let features = value.get("features")?.as_object()?;
        let dependencies = value.get("dependencies")?.as_array()?;
        Some(Self {
            name: value.get("name")?.as_str()?.to_owned(),
            folder: manifest.parent()?.to_path_buf(),
            features: features
                .keys()
                .filter(|name| *name != "default")
                .cloned()
                .collect(),
            dependencies: dependencies
                .iter()
                .filter(|dependency| dependency.get("kind").is_none_or(Value::is_null))
                .filter_map(|dependency| dependency.get("name")?.as_str())
                .map(str::to_owned)
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_linked_dependencies_count() {
        let text = r#"{"target_directory":"/t","packages":[{"name":"a","manifest_path":"/w/a/Cargo.toml",
            "features":{"default":["x"],"x":[]},
            "dependencies":[{"name":"b","kind":null},{"name":"c","kind":"dev"},{"name":"d","kind":"build"}]}]}"#;
        let workspace = Workspace::parse(text).unwrap();
        let package = workspace.package("a").unwrap();
        assert_eq!(package.dependencies, ["b"]);
        assert_eq!(package.features, ["x"]);
        assert_eq!(package.folder, Path::new("/w/a"));
    }
}
