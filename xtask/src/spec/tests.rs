use super::*;

const HEAD: &str = "# Area\n\n| ID | Statement | Test |\n|----|:--|---|\n";

fn rows(lines: &str) -> Vec<Row> {
    let (rows, problems) = rows_of("docs/spec/a.md", &format!("{HEAD}{lines}"));
    assert_eq!(problems, Vec::<String>::new());
    rows
}

fn wrong(lines: &str) -> Vec<String> {
    rows_of("docs/spec/a.md", &format!("{HEAD}{lines}")).1
}

fn test(path: &str, function: &str) -> TestName {
    TestName {
        path: path.to_owned(),
        function: function.to_owned(),
    }
}

fn sources(text: &str) -> BTreeMap<String, Source> {
    BTreeMap::from([("a/t.rs".to_owned(), source_of(Path::new("a/t.rs"), text))])
}

#[test]
fn an_id_is_letters_and_digits() {
    for id in ["AA-01", "API-01", "F01", "FN-01", "XA-126"] {
        assert!(is_id(id), "{id}");
    }
    for word in [
        "", "ID", "AA-", "aa-01", "ABCDE-01", "AA-0001", "AA-01x", "01", "A--1", "A1B",
    ] {
        assert!(!is_id(word), "{word}");
    }
}

#[test]
fn a_row_names_one_or_more_tests() {
    let found = rows(
        "| AG-01 | a \\| b | `a/t.rs::one` |\n| F01 | x | a/t.rs::m::two<br>b/u.py::three, c.mjs::four |\n",
    );
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].id, "AG-01");
    assert_eq!(found[0].place, "docs/spec/a.md:5");
    assert_eq!(found[0].tests, [test("a/t.rs", "one")]);
    assert_eq!(
        found[1].tests,
        [
            test("a/t.rs", "two"),
            test("b/u.py", "three"),
            test("c.mjs", "four")
        ]
    );
}

#[test]
fn a_row_that_cannot_be_read_is_reported() {
    assert!(wrong("| AG-01 | x |\n")[0].contains("three cells"));
    assert!(wrong("| AG-01 | x | none yet |\n")[0].contains("path::test_fn"));
    assert!(wrong("| AG-01 | x | a.rs::ok<br> |\n")[0].contains("path::test_fn"));
    assert!(wrong("| AG-01 | | a.rs::ok |\n")[0].contains("states nothing"));
    assert!(wrong("| ag1 | x | a.rs::ok |\n")[0].contains("not an ID"));
}

#[test]
fn other_tables_are_left_alone() {
    let (rows, problems) = rows_of("p", "| word | meaning |\n|---|---|\n| call | x |\n");
    assert!(rows.is_empty() && problems.is_empty());
}

#[test]
fn a_comment_belongs_to_the_function_after_it() {
    let text = concat!(
        "/// Doc.\n/// spec: AG-03, AG-04 both\n#[tokio::test(\n    flavor = \"x\",\n)]\n",
        "pub async fn one<L: Store>(s: &L) {\n    // spec: RFC 8785\n}\n",
        "    // spec: F01\n    // spec: F02\n    fn two(x in 0..9) {}\n// spec: KY-01\n",
    );
    let source = source_of(Path::new("t.rs"), text);
    assert_eq!(source.functions.iter().collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(
        source.claims_on("one").collect::<Vec<_>>(),
        ["AG-03", "AG-04"]
    );
    assert_eq!(source.claims_on("two").collect::<Vec<_>>(), ["F01", "F02"]);
    assert_eq!(
        source.claims.last().map(|claim| claim.function.is_none()),
        Some(true)
    );
}

#[test]
fn python_and_javascript_are_read_too() {
    let python = source_of(
        Path::new("t.py"),
        "# spec: MT-01\nasync def lists(c):\n    pass\n",
    );
    assert_eq!(python.claims_on("lists").collect::<Vec<_>>(), ["MT-01"]);
    let script = source_of(
        Path::new("t.mjs"),
        "// spec: MT-02\nexport async function hidden(c) {\n",
    );
    assert_eq!(script.claims_on("hidden").collect::<Vec<_>>(), ["MT-02"]);
}

#[test]
fn pages_and_tests_that_agree_pass() {
    let rows = rows("| AG-01 | x | a/t.rs::one |\n");
    assert_eq!(
        disagreements(&rows, &sources("// spec: AG-01\n#[test]\nfn one() {}\n")),
        Vec::<String>::new()
    );
}

#[test]
fn every_disagreement_is_named() {
    let one = "// spec: AG-01\nfn one() {}\n";
    let check = |lines: &str, text: &str, expect: &str| {
        let problems = disagreements(&rows(lines), &sources(text));
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains(expect), "{problems:?}");
    };
    check("| AG-01 | x | b/t.rs::one |\n", one, "AG-01 names b/t.rs");
    check("| AG-01 | x | a/t.rs::two |\n", one, "no function `two`");
    check(
        "| AG-01 | x | a/t.rs::two |\n",
        &format!("{one}fn two() {{}}\n"),
        "lacks `spec: AG-01`",
    );
    check(
        "| AG-01 | x | a/t.rs::one |\n| AG-01 | y | a/t.rs::one |\n",
        one,
        "already stated at docs/spec/a.md:5",
    );
    check(
        "| AG-01 | x | a/t.rs::one |\n",
        "// spec: AG-01 AG-02\nfn one() {}\n",
        "a/t.rs:1: AG-02 has no row",
    );
    check(
        "| AG-01 | x | a/t.rs::one |\n",
        &format!("{one}// spec: AG-01\n"),
        "a/t.rs:3: no function follows",
    );
}
