//! Figures for Prometheus: calls, the time that the gate adds, approvals, the audit's appends.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use prometheus_client::registry::Unit;
use toolgate_core::approval::Status;
use toolgate_mcp::ports::Counted;
use toolgate_mcp::ports::Watch;
use toolgate_mcp::store::Ledger;

/// The media type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Bounds of the histograms, in seconds.
const BOUNDS: [f64; 12] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0,
];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct In {
    status: &'static str,
}

/// The figures of one gate.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    calls: Family<Outcome, Counter>,
    added: Histogram,
    approvals: Family<In, Gauge>,
    became_unknown: Counter<u64, AtomicU64>,
    appends: Histogram,
    append_failures: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// All figures at zero.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("toolgate");
        let calls = Family::<Outcome, Counter>::default();
        registry.register("calls", "Calls by their outcome", calls.clone());
        let added = Histogram::new(BOUNDS);
        registry.register_with_unit(
            "added",
            "Time that the gate added to a call",
            Unit::Seconds,
            added.clone(),
        );
        let approvals = Family::<In, Gauge>::default();
        registry.register(
            "approvals",
            "Requests that wait for a person or whose outcome is unknown, counted up to 1000",
            approvals.clone(),
        );
        let became_unknown = Counter::default();
        registry.register(
            "became_unknown",
            "Requests whose outcome became unknown",
            became_unknown.clone(),
        );
        let appends = Histogram::new(BOUNDS);
        registry.register_with_unit(
            "append",
            "Time until an entry of the audit was written",
            Unit::Seconds,
            appends.clone(),
        );
        let append_failures = Counter::default();
        registry.register(
            "append_failures",
            "Entries of the audit that could not be written",
            append_failures.clone(),
        );
        Self {
            registry,
            calls,
            added,
            approvals,
            became_unknown,
            appends,
            append_failures,
        }
    }

    /// Counts the approvals that a person has to look at, as the store holds them now.
    pub async fn count_approvals(&self, ledger: &dyn Ledger) {
        for status in [Status::Pending, Status::Unknown] {
            if let Ok(found) = ledger.count(status).await {
                let labels = In {
                    status: status.as_str(),
                };
                let count = i64::try_from(found).unwrap_or(i64::MAX);
                self.approvals.get_or_create(&labels).set(count);
            }
        }
    }

    /// The figures in the text format of Prometheus.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        encode(&mut text, &self.registry).ok();
        text
    }
}

impl Watch for Metrics {
    fn call(&self, outcome: Counted, added: Duration) {
        let labels = Outcome {
            outcome: outcome.as_str(),
        };
        self.calls.get_or_create(&labels).inc();
        self.added.observe(added.as_secs_f64());
    }

    fn unknown(&self) {
        self.became_unknown.inc();
    }

    fn append_failed(&self) {
        self.append_failures.inc();
    }

    fn append(&self, took: Duration) {
        self.appends.observe(took.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_outcome() {
        let metrics = Metrics::new();
        metrics.call(Counted::Answered, Duration::from_micros(300));
        metrics.call(Counted::Answered, Duration::from_micros(300));
        metrics.call(Counted::Pending, Duration::ZERO);
        metrics.append(Duration::from_millis(2));
        metrics.append_failed();
        let text = metrics.text();
        for line in [
            "toolgate_calls_total{outcome=\"answered\"} 2",
            "toolgate_calls_total{outcome=\"pending\"} 1",
            "toolgate_added_seconds_count 3",
            "toolgate_append_seconds_count 1",
            "toolgate_append_failures_total 1",
            "# EOF",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
