//! E-mail addresses, cards and phones.

use toolgate_filter::{Pii, Settings, clean_text};

use crate::{check, keeps};

// spec: FI-06
#[test]
fn mail_addresses() {
    check(
        "write to ana.li+x@mail.example.org.",
        "write to [redacted:email].",
    );
    check(
        "<ana@example.com>,bob@example.co.uk",
        "<[redacted:email]>,[redacted:email]",
    );
    check("联系ana@example.com谢谢", "联系[redacted:email]谢谢");
    check("müller@köln.de", "[redacted:email]");
    check("?u=ana%40example.com&x", "?u=[redacted:email]&x");
    check(
        "mailto:ana@example.com?subject=x",
        "mailto:[redacted:email]?subject=x",
    );
    for text in [
        "@ana",
        "a@b",
        "ana@localhost",
        "pkg@1.2.3",
        "icon@2x.png",
        "git@github.com:a/b.git",
        "a @ b.com",
        "user@@example",
        "@types/node.js",
        "foo@.com",
    ] {
        keeps(text);
    }
}

// spec: FI-06
#[test]
fn cards_need_prefix_length_and_check_digit() {
    for card in [
        "4242 4242 4242 4242",
        "4242-4242-4242-4242",
        "4242424242424242",
        "5555555555554444",
        "2223003122003222",
        "3782 822463 10005",
        "30569309025904",
        "6011 1111 1111 1117",
        "3530111333300000",
        "4222222222222",
        "4000000000000000006",
    ] {
        check(
            &format!("card {card}, thanks"),
            "card [redacted:card], thanks",
        );
        check(&format!("\"{card}\""), "\"[redacted:card]\"");
    }
    check("1234 4242 4242 4242 4242", "1234 [redacted:card]");
    for text in [
        "4242 4242 4242 4241",
        "4242424242424241",
        "9999 9999 9999 9995",
        "1700000000000",
        "0.4242424242424242",
        "id_4242424242424242",
        "4242424242424242a",
        "550e8400-e29b-41d4-a716-446655440000",
        "424242424242424242424242424242",
    ] {
        keeps(text);
    }
}

// spec: FI-06
#[test]
fn phones_in_their_usual_forms() {
    for phone in [
        "+1 415 555 0132",
        "+1 (415) 555-0132",
        "+14155550132",
        "(415) 555-0132",
        "415-555-0132",
        "415.555.0132",
        "1-415-555-0132",
        "+49 30 901820",
        "+44 20 7946 0958",
        "+33 6 12 34 56 78",
        "0049 30 901820",
        "020 7946 0958",
        "06 12 34 56 78",
        "030/9018200",
    ] {
        check(&format!("call {phone} now"), "call [redacted:phone] now");
    }
    check("phone: 4155550132", "phone: [redacted:phone]");
    check(
        "{\"phone\":\"4155550132\"}",
        "{\"phone\":\"[redacted:phone]\"}",
    );
    check("ana,415-555-0132,x", "ana,[redacted:phone],x");
}

// spec: FI-06
#[test]
fn other_numbers_are_no_phones() {
    for text in [
        "2026-11-30",
        "2026-11-30T10:00:00+01:00",
        "2026-11-30 23:59:59.123456",
        "192.168.10.20",
        "10.0.0.1:8080",
        "1.2.3-4567",
        "version 10.15.7.1234",
        "order 4155550132",
        "order #415-555-0132",
        "id 123456789012",
        "550e8400-e29b-41d4-a716-446655440000",
        "ISBN 978-3-16-148410-0",
        "0x0041 0042 0043",
        "12 34 56 78 90 12 34",
        "1 + 2 +3 = 6",
        "@@ -1415,5 +1415,6 @@",
        "1,415,555",
        "Boston, MA 02110-1301, USA",
        "clause 252.227-7013 (c)",
        "00:00:00,000",
    ] {
        keeps(text);
    }
}

// spec: FI-06
#[test]
fn personal_data_passes_where_it_is_allowed_and_secrets_do_not() {
    let text = "ana@example.com 4242 4242 4242 4242 +1 415 555 0132";
    let cleaned = clean_text(text, &Settings::new(Pii::Allow));
    assert_eq!(cleaned.value, text);
    assert_eq!(cleaned.findings, []);
    let cleaned = clean_text(
        "ana@example.com AKIAIOSFODNN7EXAMPLE",
        &Settings::new(Pii::Allow),
    );
    assert_eq!(cleaned.value, "ana@example.com [redacted:aws-key-id]");
}
