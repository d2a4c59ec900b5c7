//! Buckets and the day's budget, beside a naive model.

use proptest::prelude::*;
use toolgate_core::id::ToolName;
use toolgate_core::limits::Bucket;
use toolgate_core::limits::Meters;
use toolgate_core::limits::Shortfall;
use toolgate_core::policy::Limits;
use toolgate_core::time::DAY;
use toolgate_core::time::Timestamp;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn tool(name: &str) -> ToolName {
    name.parse().unwrap()
}

const LIMITS: Limits = Limits {
    per_minute: 10,
    per_day: 1_000,
    tool_per_minute: None,
};

// spec: RL-01 F25
#[test]
fn a_bucket_of_a_hundred_gives_a_hundred() {
    let limits = Limits {
        per_minute: 100,
        per_day: 100_000,
        tool_per_minute: None,
    };
    let mut meters = Meters::default();
    let passed = (0..10_000)
        .filter(|_| meters.take(&limits, &tool("a"), at(0)).is_ok())
        .count();
    assert_eq!(passed, 100);
}

// spec: RL-02
#[test]
fn if_one_bucket_is_short_neither_is_charged() {
    let limits = Limits {
        tool_per_minute: Some(1),
        ..LIMITS
    };
    let mut meters = Meters::default();
    assert_eq!(meters.take(&limits, &tool("a"), at(0)), Ok(()));
    let before = meters.clone();
    assert_eq!(
        meters.take(&limits, &tool("a"), at(0)),
        Err(Shortfall::Rate(60_000))
    );
    assert_eq!(meters, before);
    let plain = (0..20)
        .filter(|_| meters.take(&LIMITS, &tool("b"), at(0)).is_ok())
        .count();
    assert_eq!(plain, 9);
    let before = meters.clone();
    assert!(meters.take(&limits, &tool("c"), at(0)).is_err());
    assert_eq!(meters, before);
}

// spec: RL-03 F24
#[test]
fn six_seconds_give_one_token_of_ten_and_a_clock_that_goes_back_none() {
    let mut bucket = Bucket::full(10, at(0));
    for _ in 0..10 {
        bucket = bucket.take(10).unwrap();
    }
    assert_eq!(bucket.at(10, at(5_999)).tokens(), 0);
    assert_eq!(bucket.at(10, at(6_000)).tokens(), 1);
    assert_eq!(bucket.at(10, at(-3_600_000)).tokens(), 0);
    let back_and_forth = bucket.at(10, at(6_000)).at(10, at(0)).at(10, at(6_000));
    assert_eq!(back_and_forth.tokens(), 1);
    assert_eq!(bucket.at(10, at(DAY)).tokens(), 10);
}

// spec: BU-01
#[test]
fn the_budget_is_counted_by_the_utc_day() {
    let limits = Limits {
        per_minute: 1_000,
        per_day: 2,
        tool_per_minute: None,
    };
    let mut meters = Meters::default();
    let last = at(DAY - 1_000);
    assert_eq!(meters.take(&limits, &tool("a"), last), Ok(()));
    assert_eq!(meters.take(&limits, &tool("a"), last), Ok(()));
    assert_eq!(
        meters.take(&limits, &tool("a"), last),
        Err(Shortfall::Budget(1_000))
    );
    assert_eq!(meters.used_today(last), 2);
    assert_eq!(meters.used_today(at(DAY)), 0);
    assert_eq!(meters.take(&limits, &tool("a"), at(DAY)), Ok(()));
    assert_eq!(meters.used_today(at(DAY)), 1);
    // A clock that goes back over midnight does not give the old day's budget anew.
    assert_eq!(meters.take(&limits, &tool("a"), last), Ok(()));
    assert!(meters.take(&limits, &tool("a"), last).is_err());
}

/// A bucket that is filled millisecond by millisecond.
struct Naive {
    level: u64,
    now: i64,
}

impl Naive {
    fn take(&mut self, limit: u64, now: i64) -> bool {
        while self.now < now {
            self.now += 1;
            self.level = (self.level + limit).min(limit * 60_000);
        }
        let pays = self.level >= 60_000;
        self.level -= if pays { 60_000 } else { 0 };
        pays
    }
}

proptest! {
    // spec: RL-03
    #[test]
    fn a_bucket_is_the_naive_bucket(
        limit in 1_u32..50,
        steps in prop::collection::vec(-500_i64..3_000, 1..60),
    ) {
        let mut naive = Naive { level: u64::from(limit) * 60_000, now: 0 };
        let mut bucket = Bucket::full(limit, at(0));
        let mut now = 0;
        for step in steps {
            now += step;
            bucket = bucket.at(limit, at(now));
            let taken = bucket.take(limit);
            prop_assert_eq!(taken.is_ok(), naive.take(u64::from(limit), now));
            match taken {
                Ok(after) => bucket = after,
                Err(wait) => {
                    let from = now.max(naive.now);
                    prop_assert!(bucket.at(limit, at(from + wait)).take(limit).is_ok());
                    prop_assert!(bucket.at(limit, at(from + wait - 1)).take(limit).is_err());
                }
            }
        }
    }
}
