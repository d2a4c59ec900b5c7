//! What nobody can see: invisible characters and terminal control sequences.

use toolgate_filter::{Kind, Settings, clean_text};

use crate::{check, cleaned, keeps, rules};

// spec: FI-07
#[test]
fn invisible_characters_go_and_are_reported() {
    let cases = [
        ("\u{200b}", "zero-width"),
        ("\u{2060}", "zero-width"),
        ("\u{feff}", "zero-width"),
        ("\u{ad}", "zero-width"),
        ("\u{34f}", "zero-width"),
        ("\u{202e}", "bidi-control"),
        ("\u{2066}", "bidi-control"),
        ("\u{200e}", "bidi-control"),
        ("\u{61c}", "bidi-control"),
        ("\u{206a}", "bidi-control"),
        ("\u{115f}", "blank"),
        ("\u{17b4}", "blank"),
        ("\u{3164}", "blank"),
        ("\u{ffa0}", "blank"),
        ("\u{2800}", "blank"),
        ("\u{1d173}", "blank"),
        ("\u{fff9}", "blank"),
        ("\u{180b}", "variation-selector"),
        ("\u{180e}", "variation-selector"),
        ("\u{fe01}", "variation-selector"),
        ("\u{e0100}", "variation-selector"),
        ("\u{e0041}", "tag-character"),
        ("\u{e0001}", "tag-character"),
        ("\u{e000}", "private-use"),
        ("\u{10fffd}", "private-use"),
        ("\u{fdd0}", "noncharacter"),
        ("\u{ffff}", "noncharacter"),
        ("\u{1fffe}", "noncharacter"),
    ];
    for (c, rule) in cases {
        let text = format!("ab{c}cd");
        check(&text, "abcd");
        assert_eq!(rules(&text, Kind::Invisible), [rule], "for {c:?}");
        let findings = clean_text(&text, &Settings::strict()).findings;
        assert_eq!(findings[0].span, 2..2 + c.len());
    }
    check("\u{feff}start", "start");
}

// spec: FI-07
#[test]
fn stripping_comes_before_matching() {
    check("pass\u{200b}word: x1", "password: [redacted:password]");
    check(
        "AKIA\u{ad}IOSFODNN7\u{e0020}EXAMPLE",
        "[redacted:aws-key-id]",
    );
    check("4242 4242\u{200d} 4242 4242", "[redacted:card]");
    check("a\u{1b}[31mna@example.com", "[redacted:email]");
    let text = "x pass\u{200b}word: hun\u{200b}ter2!";
    let findings = clean_text(text, &Settings::strict()).findings;
    let secret = findings.iter().find(|f| f.kind == Kind::Secret).unwrap();
    assert_eq!(&text[secret.span.clone()], "hun\u{200b}ter2");
    assert_eq!(rules(text, Kind::Invisible).len(), 2);
}

// spec: FI-07
#[test]
fn what_belongs_to_visible_text_survives() {
    for text in [
        "👩\u{200d}💻",
        "👩🏽\u{200d}🚀",
        "👨\u{200d}👩\u{200d}👧\u{200d}👦",
        "🏳\u{fe0f}\u{200d}🌈",
        "❤\u{fe0f}\u{200d}🔥",
        "1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3}",
        "☎\u{fe0e} ❤\u{fe0f}",
        "🇩🇪",
        "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
        "می\u{200c}خواهم",
        "क\u{94d}\u{200d}ष",
        "ന\u{d4d}\u{200d}",
        "ᠠ\u{180b}ᠮ",
        "שָׁלוֹם مُحَمَّد",
        "葛\u{e0100}飾",
        "z\u{301}",
    ] {
        keeps(text);
    }
}

// spec: FI-07
#[test]
fn nothing_is_smuggled_where_something_is_kept() {
    check("😀\u{fe0f}\u{fe01}\u{fe02}\u{e0101}x", "😀\u{fe0f}x");
    check("👩\u{200d}\u{200d}\u{200d}💻", "👩\u{200d}💻");
    check("a\u{200d}b", "ab");
    check("🏴\u{e0068}\u{e0069}\u{e007f}", "🏴");
    check(
        "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e0041}\u{e007f}",
        "🏴",
    );
    check("葛\u{e0100}\u{e0101}\u{e0102}", "葛\u{e0100}");
    check("می\u{200c}\u{200c}\u{200d}خ", "می\u{200c}خ");
}

// spec: FI-07
#[test]
fn terminal_sequences_go() {
    let cases = [
        ("a\u{1b}[31mred\u{1b}[0m", "ared"),
        ("a\u{9b}31mred", "ared"),
        (
            "\u{1b}]8;;https://evil.test\u{1b}\\text\u{1b}]8;;\u{7}",
            "text",
        ),
        ("\u{1b}]52;c;ZWNobw==\u{7}x", "x"),
        ("\u{1b}]0;title\u{9c}x", "x"),
        ("\u{9d}0;title\u{7}x", "x"),
        ("\u{1b}P1;2q\u{1b}\\x", "x"),
        ("\u{1b}_G\u{1b}\\x\u{1b}^p\u{1b}\\y\u{1b}Xs\u{1b}\\z", "xyz"),
        ("\u{1b}(Bx\u{1b}7\u{1b}cy", "xy"),
        ("x\u{1b}", "x"),
        ("x\u{1b}[12;", "x"),
        ("x\u{1b}]0;never ended", "x0;never ended"),
        ("safe\rEVIL", "safe\nEVIL"),
        ("a\u{8}b\u{7}c\u{0}d\u{7f}e\u{80}", "abcde"),
        ("\u{1b}\u{1b}[[31m", "31m"),
        ("a\r\nb\tc\n", "a\r\nb\tc\n"),
    ];
    for (text, expected) in cases {
        check(text, expected);
        if text != expected {
            assert!(
                rules(text, Kind::Invisible).contains(&"terminal-escape".to_owned()),
                "{text:?}"
            );
        }
    }
    keeps(r"write \x1b[31m or \033[0m to turn red");
    assert!(!cleaned("\u{1b}[\u{1b}]\u{9b}\u{9d}").contains(['\u{1b}', '\u{9b}', '\u{9d}']));
}
