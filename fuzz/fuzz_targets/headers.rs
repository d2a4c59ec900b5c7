//! libFuzzer's way into [`toolgate_fuzz::headers`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| toolgate_fuzz::headers(data));
