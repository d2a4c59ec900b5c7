//! What a client may ask of the server, and how often an agent may call.

use std::io::Write as _;
use std::sync::Barrier;

use serde_json::json;

use crate::gate::Gate;
use crate::gate::call;
use crate::gate::document;
use crate::gate::folder;
use crate::gate::operate;
use crate::http;

#[test]
fn twenty_five_calls_at_once_on_a_bucket_of_ten_pass_ten() {
    let folder = folder();
    let gate = Gate::demo(folder.path());
    let policy = folder.path().join("policy.json");
    std::fs::write(&policy, r#"{"tools":{"tickets_list":{}},"perMinute":10}"#).unwrap();
    let path = policy.to_str().unwrap();
    let made = document(&operate(
        &gate,
        &["agent", "add", "burst", "--policy", path, "--json"],
    ));
    let key = made["key"].as_str().unwrap();
    let barrier = Barrier::new(25);
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..25)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    call(gate.address, key, "tickets_list", &json!({}))
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let passed = results
        .iter()
        .filter(|result| result["isError"] != true)
        .count();
    assert_eq!(passed, 10);
    for result in results.iter().filter(|result| result["isError"] == true) {
        let outcome = &result["_meta"]["toolgate/outcome"];
        assert_eq!(outcome["code"], "rate_limited");
        assert!(outcome["retryAfterMs"].as_u64().unwrap() > 0);
    }
}

// spec: F28
#[test]
fn what_is_too_large_too_many_or_of_the_wrong_type_is_refused() {
    let folder = folder();
    let gate = Gate::demo(folder.path());
    let bearer = format!("Bearer {}", gate.key("support-bot"));
    let good = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    let large = vec![b' '; (1 << 20) + 1];
    assert_eq!(
        http::send(gate.address, "POST", "/mcp", &good, &large).status,
        413
    );

    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let untyped = [good[0], good[2]];
    assert_eq!(
        http::send(gate.address, "POST", "/mcp", &untyped, ping).status,
        415
    );
    let batch = format!("[{0},{0}]", String::from_utf8_lossy(ping));
    assert_eq!(
        http::send(gate.address, "POST", "/mcp", &good, batch.as_bytes()).status,
        400
    );
    let packed = [good[0], good[1], good[2], ("Content-Encoding", "gzip")];
    let bomb = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    let refused = http::send(gate.address, "POST", "/mcp", &packed, &bomb).status;
    assert!(refused == 400 || refused == 415, "{refused}");

    let names: Vec<String> = (0..200).map(|at| format!("X-Header-{at}")).collect();
    let mut many = good.to_vec();
    many.extend(names.iter().map(|name| (name.as_str(), "x")));
    assert_eq!(
        http::send(gate.address, "POST", "/mcp", &many, ping).status,
        431
    );
    assert_eq!(
        http::send(gate.address, "POST", "/mcp", &good, ping).status,
        200
    );
}

// spec: F28
#[test]
fn headers_without_end_are_cut_off() {
    let folder = folder();
    let gate = Gate::demo(folder.path());
    let mut stream = http::connect(gate.address);
    let sent = (0..1_000_000 / 64).try_for_each(|_| {
        stream.write_all(b"X-Padding: 0123456789012345678901234567890123456789012345678\r\n")
    });
    if sent.is_ok() {
        let reply = std::panic::catch_unwind(|| http::read(stream));
        assert!(reply.map_or(true, |reply| reply.status == 431 || reply.status == 400));
    }
    let health = http::send(gate.address, "GET", "/health", &[], b"");
    assert_eq!(health.status, 200);
}

#[test]
fn figures_are_for_this_machine() {
    let folder = folder();
    let gate = Gate::demo(folder.path());
    gate.call(gate.key("support-bot"), "tickets_list", &json!({}));
    let figures = http::send(gate.address, "GET", "/metrics", &[], b"");
    assert_eq!(figures.status, 200);
    for line in [
        "toolgate_calls_total{outcome=\"answered\"} 1",
        "toolgate_approvals{status=\"pending\"} 0",
        "# EOF",
    ] {
        assert!(figures.body.contains(line), "{}", figures.body);
    }
    let passed_on = [("X-Forwarded-For", "198.51.100.7")];
    assert_eq!(
        http::send(gate.address, "GET", "/metrics", &passed_on, b"").status,
        403
    );
}
