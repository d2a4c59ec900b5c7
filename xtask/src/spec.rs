//! Compares the requirements in `docs/spec` with the tests that they name.
//!
//! `docs/spec/README.md` describes the format for people.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use crate::shell::Shell;

/// Folders that hold no sources of ours.
const SKIPPED: [&str; 4] = [".git", ".venv", "node_modules", "target"];

/// One requirement and the tests that prove it.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    id: String,
    tests: Vec<TestName>,
    place: String,
}

/// `path/to/file.rs::test_fn`, the path relative to the workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct TestName {
    path: String,
    function: String,
}

/// What one source file says: its functions, and the IDs that comments put on them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Source {
    functions: BTreeSet<String>,
    claims: Vec<Claim>,
}

/// A `spec:` comment with the function that follows it.
#[derive(Debug, PartialEq, Eq)]
struct Claim {
    line: usize,
    ids: Vec<String>,
    function: Option<String>,
}

/// The suite: reads the workspace, prints every disagreement and a count.
pub(crate) fn check(shell: &Shell) -> Result<(), String> {
    let root = shell.root();
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    let pages = files(&root.join("docs/spec"), &["md"])?;
    for page in pages.iter().filter(|page| !page.ends_with("README.md")) {
        let (found, wrong) = rows_of(&shown(root, page), &read(page)?);
        rows.extend(found);
        problems.extend(wrong);
    }
    let mut sources = BTreeMap::new();
    for path in files(root, &["rs", "py", "mjs"])? {
        sources.insert(shown(root, &path), source_of(&path, &read(&path)?));
    }
    problems.extend(disagreements(&rows, &sources));
    for problem in &problems {
        println!("{problem}");
    }
    let tests: BTreeSet<&TestName> = rows.iter().flat_map(|row| &row.tests).collect();
    println!(
        "{} requirements are proven by {} tests",
        rows.len(),
        tests.len()
    );
    if problems.is_empty() {
        Ok(())
    } else {
        Err(format!("{} disagreements", problems.len()))
    }
}

/// The rows of one page, and what could not be read as one.
fn rows_of(page: &str, text: &str) -> (Vec<Row>, Vec<String>) {
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    let mut in_table = false;
    for (number, line) in text.lines().enumerate() {
        let place = format!("{page}:{}", number + 1);
        let Some(cells) = cells_of(line) else {
            in_table = false;
            continue;
        };
        match cells.as_slice() {
            [head, ..] if head == "ID" => in_table = true,
            [rule, ..] if is_rule(rule) => {}
            [id, statement, tests] if is_id(id) => {
                let tests: Option<Vec<_>> = tests_of(tests);
                match tests {
                    Some(tests) if !statement.is_empty() => {
                        rows.push(Row {
                            id: id.clone(),
                            tests,
                            place,
                        });
                    }
                    Some(_) => problems.push(format!("{place}: {id} states nothing")),
                    None => problems.push(format!("{place}: {id} needs `path::test_fn`")),
                }
            }
            [id, ..] if is_id(id) => problems.push(format!("{place}: {id} needs three cells")),
            [other, ..] if in_table => problems.push(format!("{place}: `{other}` is not an ID")),
            _ => {}
        }
    }
    (rows, problems)
}

/// The cells of a table's line; a `\|` is part of a cell.
fn cells_of(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let mut cells = vec![String::new()];
    let mut escaped = false;
    for c in inner.chars() {
        match (c, cells.last_mut()) {
            ('|', _) if !escaped => cells.push(String::new()),
            (c, Some(cell)) => cell.push(c),
            (_, None) => {}
        }
        escaped = c == '\\';
    }
    Some(cells.iter().map(|cell| cell.trim().to_owned()).collect())
}

fn is_rule(cell: &str) -> bool {
    !cell.is_empty() && cell.chars().all(|c| matches!(c, '-' | ':'))
}

/// Capital letters, perhaps a hyphen, digits: `AG-03`, `API-01`, `F01`.
fn is_id(word: &str) -> bool {
    let letters = word.chars().take_while(char::is_ascii_uppercase).count();
    let rest = word.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let digits = rest.strip_prefix('-').unwrap_or(rest);
    (1..=4).contains(&letters)
        && (1..=3).contains(&digits.len())
        && digits.chars().all(|c| c.is_ascii_digit())
}

fn tests_of(cell: &str) -> Option<Vec<TestName>> {
    cell.replace("<br>", ",")
        .split(',')
        .map(|name| {
            let (path, function) = name.trim().trim_matches('`').rsplit_once("::")?;
            let path = path.split_once("::").map_or(path, |(path, _module)| path);
            let whole = !path.is_empty() && is_name(function);
            whole.then(|| TestName {
                path: path.to_owned(),
                function: function.to_owned(),
            })
        })
        .collect()
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Functions and `spec:` comments of one file.
fn source_of(path: &Path, text: &str) -> Source {
    let is_python = path.extension().is_some_and(|extension| extension == "py");
    let (comment, keyword) = match path.extension().and_then(|extension| extension.to_str()) {
        Some("py") => ("#", "def"),
        Some("mjs") => ("//", "function"),
        _ => ("//", "fn"),
    };
    let mut source = Source::default();
    let mut open = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if let Some(text) = line.strip_prefix(comment) {
            let text = if is_python {
                text
            } else {
                text.trim_start_matches(['/', '!'])
            };
            let ids = claimed(text);
            if !ids.is_empty() {
                open.push(Claim {
                    line: number + 1,
                    ids,
                    function: None,
                });
            }
        } else if let Some(function) = function_of(line, keyword) {
            for mut claim in open.drain(..) {
                claim.function = Some(function.clone());
                source.claims.push(claim);
            }
            source.functions.insert(function);
        }
    }
    source.claims.append(&mut open);
    source
}

/// The IDs of a comment that starts with `spec:`; none for prose about a specification.
fn claimed(comment: &str) -> Vec<String> {
    let Some(words) = comment.trim().strip_prefix("spec:") else {
        return Vec::new();
    };
    words
        .split(|c: char| c.is_whitespace() || c == ',')
        .filter(|word| !word.is_empty())
        .take_while(|word| is_id(word))
        .map(str::to_owned)
        .collect()
}

/// The name that a line defines, as in `pub async fn name(`.
fn function_of(line: &str, keyword: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let mut before = words.by_ref().take_while(|word| *word != keyword);
    let qualifiers = [
        "async",
        "const",
        "export",
        "extern",
        "pub",
        "pub(crate)",
        "pub(super)",
    ];
    if !before.all(|word| qualifiers.contains(&word)) {
        return None;
    }
    let name: String = words
        .next()?
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
        .collect();
    is_name(&name).then_some(name)
}

/// Every way in which pages and tests contradict each other.
fn disagreements(rows: &[Row], sources: &BTreeMap<String, Source>) -> Vec<String> {
    let mut problems = Vec::new();
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for row in rows {
        let (id, place) = (&row.id, &row.place);
        if let Some(first) = seen.insert(id, place) {
            problems.push(format!("{place}: {id} is already stated at {first}"));
        }
        for TestName { path, function } in &row.tests {
            match sources.get(path) {
                None => problems.push(format!("{place}: {id} names {path}, which is not there")),
                Some(source) if !source.functions.contains(function) => {
                    problems.push(format!("{place}: {id}: no function `{function}` in {path}"));
                }
                Some(source) if !source.claims_on(function).any(|claimed| claimed == id) => {
                    problems.push(format!(
                        "{place}: {id}: `{function}` in {path} lacks `spec: {id}` above it"
                    ));
                }
                Some(_) => {}
            }
        }
    }
    for (path, source) in sources {
        for claim in &source.claims {
            if claim.function.is_none() {
                problems.push(format!(
                    "{path}:{}: no function follows the comment",
                    claim.line
                ));
            }
            for id in claim
                .ids
                .iter()
                .filter(|id| !seen.contains_key(id.as_str()))
            {
                problems.push(format!(
                    "{path}:{}: {id} has no row in docs/spec",
                    claim.line
                ));
            }
        }
    }
    problems
}

impl Source {
    fn claims_on<'a>(&'a self, function: &'a str) -> impl Iterator<Item = &'a String> {
        self.claims
            .iter()
            .filter(move |claim| claim.function.as_deref() == Some(function))
            .flat_map(|claim| &claim.ids)
    }
}

/// All files under a folder with one of the extensions, sorted.
pub(crate) fn files(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>, String> {
    let unreadable = |error| format!("{} cannot be read: {error}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() && !SKIPPED.contains(&name.as_str()) {
            found.extend(files(&path, extensions)?);
        } else if path.is_file()
            && extensions
                .iter()
                .any(|e| path.extension() == Some(e.as_ref()))
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// A file's path as people write it, relative to the workspace.
pub(crate) fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .to_string_lossy()
        .replace('\\', "/")
}

pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

#[cfg(test)]
mod tests;
