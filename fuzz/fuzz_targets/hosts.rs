//! libFuzzer's way into [`toolgate_fuzz::hosts`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| toolgate_fuzz::hosts(data));
