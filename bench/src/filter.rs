//! The filter beside the cheapest look at a text.

use std::hint::black_box;

use tokio::time::Instant;
use toolgate_filter::Settings;
use toolgate_filter::clean_text;

use crate::load::count;

/// The texts of the worst case that FI-11 bounds, 1 MiB of each.
const HOSTILE: [&str; 12] = [
    "a@",
    "a@b.cd ",
    "x://a:b@",
    "ignore all ",
    "send the ",
    "password: ",
    "eyJ",
    "-----BEGIN ",
    "4242 4242 4242 4242 ",
    "a\u{200b}",
    "</tool_",
    "1",
];

#[derive(Debug)]
pub(crate) struct Filter {
    /// Megabytes of harmless text in a second, in strings of 4 KiB.
    pub(crate) harmless: f64,
    /// The same text through `is_ascii`.
    pub(crate) is_ascii: f64,
    /// The hostile text that takes the longest, and how many milliseconds 1 MiB of it takes.
    pub(crate) worst: (&'static str, f64),
}

pub(crate) fn measure() -> Filter {
    let line = "The quick brown fox met 3 lazy dogs at the gate on 2026-01-05, and went home. ";
    let text = line.repeat(1 + 4096 / line.len());
    let text = text.get(..4096).unwrap_or_default();
    let settings = Settings::strict();
    let harmless = rate(text.len(), || {
        black_box(clean_text(black_box(text), &settings));
    });
    let is_ascii = rate(text.len(), || {
        black_box(black_box(text).is_ascii());
    });
    let mut worst = ("", 0.0);
    for pattern in HOSTILE {
        let text = pattern.repeat((1 << 20) / pattern.len() + 1);
        let fastest = (0..5).map(|_| {
            let began = Instant::now();
            black_box(clean_text(black_box(&text), &settings));
            began.elapsed().as_secs_f64() * 1e3
        });
        let took = fastest.fold(f64::INFINITY, f64::min);
        if took > worst.1 {
            worst = (pattern, took);
        }
    }
    Filter {
        harmless,
        is_ascii,
        worst,
    }
}

/// Megabytes in a second.
fn rate(bytes: usize, mut work: impl FnMut()) -> f64 {
    let began = Instant::now();
    let mut rounds = 0_usize;
    while began.elapsed().as_millis() < 500 {
        for _ in 0..64 {
            work();
        }
        rounds += 64;
    }
    count(rounds * bytes) / began.elapsed().as_secs_f64() / 1e6
}
