//! What the base64 of a binary block holds: bytes of the stated type, a text, or no bytes at all.

use crate::Kind;
use crate::detect::{Look, detect};
use crate::marker;

/// What has to be done with a string that should be base64.
#[derive(Debug)]
pub(crate) enum Held {
    /// Bytes that say nothing to a reader of text: the string stays.
    Bytes,
    /// A text, which has to be cleaned as one.
    Text(String),
    /// It states that it is a text, and nobody can say what it reads.
    Unreadable,
    /// The string itself is the text.
    Plain,
}

/// Looks into a string that states to be base64 of the type `media`.
pub(crate) fn held(data: &str, media: &str, pii: bool) -> Held {
    if !is_base64(data) {
        return Held::Plain;
    }
    let bytes = decode(data);
    if !begins_as(media, &bytes) && is_found(data, pii) {
        return Held::Plain;
    }
    match String::from_utf8(bytes) {
        Ok(text) if text.is_empty() => Held::Bytes,
        Ok(text) if is_text(media) || is_printable(&text) => Held::Text(text),
        Ok(_) => Held::Bytes,
        Err(_) if is_text(media) => Held::Unreadable,
        Err(_) => Held::Bytes,
    }
}

/// The text in a string that is no base64 to the letter, as a decoder reads it that is not strict.
pub(crate) fn loosely(data: &str) -> Option<String> {
    if marker::contains(data) {
        return None;
    }
    let text = String::from_utf8(decode(data)).ok()?;
    (!text.is_empty() && is_printable(&text)).then_some(text)
}

/// The type that a member `mimeType` states, without its parameters.
pub(crate) fn media(stated: &str) -> String {
    let media = stated.split(';').next().unwrap_or_default();
    media.trim().to_ascii_lowercase()
}

/// One alphabet, lines of any length, and a length and padding that go together.
fn is_base64(data: &str) -> bool {
    let (mut letters, mut pads) = (0_usize, 0_usize);
    let (mut standard, mut url) = (false, false);
    for b in data.bytes() {
        match b {
            b'\r' | b'\n' => continue,
            b'=' => pads += 1,
            _ if pads > 0 => return false,
            b'+' | b'/' => standard = true,
            b'-' | b'_' => url = true,
            b if b.is_ascii_alphanumeric() => {}
            _ => return false,
        }
        letters += usize::from(b != b'=');
    }
    let length = match pads {
        0 => letters % 4 != 1,
        1 | 2 => (letters + pads).is_multiple_of(4),
        _ => false,
    };
    length && !(standard && url)
}

/// The bytes of base64 in either alphabet. What belongs to neither is passed over, and after
/// padding another string begins: there are decoders that read it so.
fn decode(data: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() / 4 * 3 + 3);
    let (mut bits, mut count) = (0_u32, 0_u32);
    for b in data.bytes() {
        let six = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => {
                count = 0;
                continue;
            }
            _ => continue,
        };
        bits = (bits << 6 | u32::from(six)) & 0xffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            let [.., byte] = (bits >> count).to_be_bytes();
            out.push(byte);
        }
    }
    out
}

/// Whether a rule finds something in the letters of base64 themselves.
fn is_found(data: &str, pii: bool) -> bool {
    let whole = |hit: &crate::detect::Hit| hit.span == (0..data.trim_end().len());
    let look = Look { pii, orders: false };
    detect(data, look).iter().any(|hit| {
        // By chance, bytes read like a phone number, or like a token with a slash in it.
        let chance = hit.rule.kind() != Kind::Secret
            || data
                .get(hit.span.clone())
                .is_some_and(|found| found.contains('/'));
        !chance || whole(hit)
    })
}

fn is_text(media: &str) -> bool {
    let name = media.split_once('/').map_or("", |(_, name)| name);
    media.starts_with("text/")
        || media.starts_with("application/") && TEXTS.contains(&name.trim_start_matches("x-"))
        || ["+json", "+xml", "+yaml"]
            .iter()
            .any(|end| name.ends_with(end))
}

fn is_printable(text: &str) -> bool {
    let stays = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}');
    text.chars().all(stays)
}

/// Whether bytes begin as files of this type do.
fn begins_as(media: &str, bytes: &[u8]) -> bool {
    let is = |(at, magic): &(usize, &[u8])| bytes.get(*at..).is_some_and(|b| b.starts_with(magic));
    let mut kinds = MAGIC.iter().filter(|(types, _)| types.contains(&media));
    kinds.any(|(_, beginnings)| beginnings.iter().any(|parts| parts.iter().all(is)))
}

/// Types below `application/` that are texts, without the `x-` that some have.
const TEXTS: &[&str] = &[
    "csv",
    "ecmascript",
    "graphql",
    "javascript",
    "json",
    "json5",
    "jsonl",
    "jsonlines",
    "ld+json",
    "ndjson",
    "rtf",
    "sh",
    "shellscript",
    "sql",
    "toml",
    "typescript",
    "www-form-urlencoded",
    "xhtml+xml",
    "xml",
    "yaml",
    "yml",
];

/// Bytes at a place.
type Part = (usize, &'static [u8]);

/// How files of a type begin: each entry names types, and the beginnings that they have, each of
/// parts that must all be there.
const MAGIC: &[(&[&str], &[&[Part]])] = &[
    (
        &["image/png", "image/apng"],
        &[&[(0, b"\x89PNG\r\n\x1a\n"), (12, b"IHDR")]],
    ),
    (&["image/jpeg", "image/jpg"], &[&[(0, b"\xff\xd8\xff")]]),
    (&["image/gif"], &[&[(0, b"GIF87a")], &[(0, b"GIF89a")]]),
    (&["image/webp"], &[&[(0, b"RIFF"), (8, b"WEBP")]]),
    (
        &["image/bmp", "image/x-ms-bmp"],
        &[&[(0, b"BM"), (6, b"\0\0\0\0")]],
    ),
    (&["image/tiff"], &[&[(0, b"II*\0")], &[(0, b"MM\0*")]]),
    (
        &["image/x-icon", "image/vnd.microsoft.icon"],
        &[&[(0, b"\0\0\x01\0")]],
    ),
    (
        &["image/avif", "image/heic", "image/heif"],
        &[&[(4, b"ftyp")]],
    ),
    (
        &["image/jxl"],
        &[&[(0, b"\xff\x0a")], &[(0, b"\0\0\0\x0cJXL ")]],
    ),
    (
        &["audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"],
        &[&[(0, b"RIFF"), (8, b"WAVE")]],
    ),
    (
        &["audio/mpeg", "audio/mp3"],
        &[
            &[(0, b"ID3")],
            &[(0, b"\xff\xfb")],
            &[(0, b"\xff\xfa")],
            &[(0, b"\xff\xf3")],
            &[(0, b"\xff\xf2")],
            &[(0, b"\xff\xe3")],
        ],
    ),
    (
        &[
            "audio/ogg",
            "video/ogg",
            "application/ogg",
            "audio/opus",
            "audio/vorbis",
        ],
        &[&[(0, b"OggS\0")]],
    ),
    (&["audio/flac", "audio/x-flac"], &[&[(0, b"fLaC")]]),
    (&["audio/aac"], &[&[(0, b"\xff\xf1")], &[(0, b"\xff\xf9")]]),
    (
        &["audio/midi", "audio/x-midi"],
        &[&[(0, b"MThd\0\0\0\x06")]],
    ),
    (
        &["audio/aiff", "audio/x-aiff"],
        &[&[(0, b"FORM"), (8, b"AIF")]],
    ),
    (
        &[
            "audio/mp4",
            "audio/m4a",
            "audio/x-m4a",
            "video/mp4",
            "video/quicktime",
        ],
        &[&[(4, b"ftyp")]],
    ),
    (
        &["audio/webm", "video/webm", "video/x-matroska"],
        &[&[(0, b"\x1a\x45\xdf\xa3")]],
    ),
    (&["application/pdf"], &[&[(0, b"%PDF-")]]),
    (
        &[
            "application/zip",
            "application/x-zip-compressed",
            "application/java-archive",
            "application/epub+zip",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            "application/vnd.oasis.opendocument.text",
            "application/vnd.oasis.opendocument.spreadsheet",
            "application/vnd.oasis.opendocument.presentation",
        ],
        &[&[(0, b"PK\x03\x04")], &[(0, b"PK\x05\x06")]],
    ),
    (
        &["application/gzip", "application/x-gzip"],
        &[&[(0, b"\x1f\x8b\x08")]],
    ),
    (&["application/x-bzip2"], &[&[(0, b"BZh"), (4, b"1AY&SY")]]),
    (&["application/x-xz"], &[&[(0, b"\xfd7zXZ\0")]]),
    (&["application/zstd"], &[&[(0, b"\x28\xb5\x2f\xfd")]]),
    (
        &["application/x-7z-compressed"],
        &[&[(0, b"7z\xbc\xaf\x27\x1c")]],
    ),
    (&["application/x-tar"], &[&[(257, b"ustar")]]),
    (&["application/wasm"], &[&[(0, b"\0asm")]]),
    (
        &["application/vnd.sqlite3", "application/x-sqlite3"],
        &[&[(0, b"SQLite format 3\0")]],
    ),
    (
        &[
            "application/msword",
            "application/vnd.ms-excel",
            "application/vnd.ms-powerpoint",
        ],
        &[&[(0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")]],
    ),
    (&["font/woff"], &[&[(0, b"wOFF")]]),
    (&["font/woff2"], &[&[(0, b"wOF2")]]),
    (&["font/ttf"], &[&[(0, b"\0\x01\0\0")]]),
    (&["font/otf"], &[&[(0, b"OTTO")]]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_told_from_what_only_has_its_letters() {
        for data in [
            "",
            "AAAA",
            "AAA=",
            "AA==",
            "AAA",
            "AA",
            "+/+/",
            "-_-_",
            "AA\r\nAA\n",
        ] {
            assert!(is_base64(data), "{data:?}");
        }
        for data in [
            "A", "AAAAA", "A===", "AA=A", "AA=", "+-AA", "AA A", "AAAA=", "é",
        ] {
            assert!(!is_base64(data), "{data:?}");
        }
    }

    #[test]
    fn bytes_are_decoded_as_the_most_lenient_decoder_does() {
        for data in ["aGkh", "aGk=IQ==", "a G\nk!h", "aGkhI"] {
            assert_eq!(decode(data), b"hi!", "{data:?}");
        }
        assert_eq!(decode("-_-_"), decode("+/+/"));
    }

    #[test]
    fn a_type_is_known_by_how_its_files_begin() {
        assert!(begins_as("image/webp", b"RIFF....WEBPVP8 "));
        assert!(!begins_as("image/webp", b"RIFF....WAVEfmt "));
        assert!(!begins_as("image/png", b"GIF89a"));
        assert!(!begins_as("application/octet-stream", b"GIF89a"));
        assert!(!begins_as("image/png", b""));
    }
}
