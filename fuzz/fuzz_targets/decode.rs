//! libFuzzer's way into [`toolgate_fuzz::decode`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| toolgate_fuzz::decode(data));
