//! Token buckets and the daily budget, in whole numbers.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::Serialize;

use crate::id::ToolName;
use crate::policy::Limits;
use crate::time::DAY;
use crate::time::MINUTE;
use crate::time::Timestamp;
use crate::verdict::Code;
use crate::verdict::Reason;
use crate::verdict::Retry;

/// A token in the unit that buckets count in: a millisecond adds exactly `limit` of them.
const TOKEN: u64 = MINUTE.unsigned_abs();

/// A bucket that holds `limit` tokens and refills by `limit` in a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    level: u64,
    at: Timestamp,
}

impl Bucket {
    /// A full bucket.
    #[must_use]
    pub fn full(limit: u32, now: Timestamp) -> Self {
        Self {
            level: u64::from(limit) * TOKEN,
            at: now,
        }
    }

    /// The bucket as it stands at `now`; a clock that went back adds nothing.
    #[must_use]
    pub fn at(self, limit: u32, now: Timestamp) -> Self {
        let capacity = u64::from(limit) * TOKEN;
        let elapsed = u64::try_from(now.since(self.at).clamp(0, MINUTE)).unwrap_or(0);
        let gained = elapsed * u64::from(limit);
        Self {
            level: self.level.saturating_add(gained).min(capacity),
            at: self.at.max(now),
        }
    }

    /// Whole tokens in it.
    #[must_use]
    pub const fn tokens(self) -> u64 {
        self.level / TOKEN
    }

    /// The bucket with one token fewer, or the milliseconds until there is one.
    ///
    /// # Errors
    /// The milliseconds to wait, rounded up; a day if the limit is 0.
    pub fn take(self, limit: u32) -> Result<Self, i64> {
        if let Some(level) = self.level.checked_sub(TOKEN) {
            return Ok(Self { level, at: self.at });
        }
        if limit == 0 {
            return Err(DAY);
        }
        let wait = TOKEN.saturating_sub(self.level).div_ceil(u64::from(limit));
        Err(i64::try_from(wait).unwrap_or(DAY))
    }
}

/// Why a call is over a limit, with the milliseconds until one may pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a third meter must break every match"
)]
pub enum Shortfall {
    /// The day's calls are used up.
    Budget(i64),
    /// The minute's calls are used up.
    Rate(i64),
}

impl Shortfall {
    /// Why a call over this limit is refused.
    #[must_use]
    pub fn reason(self) -> Reason {
        match self {
            Self::Budget(wait) => {
                let message = "today's calls are used up; the count starts anew at midnight UTC";
                Reason::new(Code::BudgetExhausted, message, Retry::After).after_ms(wait)
            }
            Self::Rate(wait) => {
                let message = "too many calls in a minute; wait before the next one";
                Reason::new(Code::RateLimited, message, Retry::After).after_ms(wait)
            }
        }
    }
}

/// What a principal has used of its limits.
///
/// ```
/// use toolgate_core::limits::{Meters, Shortfall};
/// use toolgate_core::policy::Limits;
/// use toolgate_core::time::Timestamp;
///
/// let limits = Limits { per_minute: 1, per_day: 10, tool_per_minute: None };
/// let tool = "tickets_list".parse()?;
/// let mut meters = Meters::default();
/// let now = Timestamp::from_millis(0);
/// assert_eq!(meters.take(&limits, &tool, now), Ok(()));
/// assert_eq!(meters.take(&limits, &tool, now), Err(Shortfall::Rate(60_000)));
/// # Ok::<(), toolgate_core::id::IdError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Meters {
    overall: Option<Bucket>,
    tools: BTreeMap<ToolName, Bucket>,
    day: i64,
    used: u32,
}

impl Meters {
    /// Takes a token from the bucket of all calls and from the tool's, and a call from the day's
    /// budget; all or none.
    ///
    /// # Errors
    /// [`Shortfall`] names the first limit that is used up; then nothing is taken.
    pub fn take(
        &mut self,
        limits: &Limits,
        tool: &ToolName,
        now: Timestamp,
    ) -> Result<(), Shortfall> {
        let day = now.day().max(self.day);
        let used = if day == self.day { self.used } else { 0 };
        if used >= limits.per_day {
            let wait = (day + 1)
                .saturating_mul(DAY)
                .saturating_sub(now.as_millis());
            return Err(Shortfall::Budget(wait));
        }
        let overall = self
            .overall(limits, now)
            .take(limits.per_minute)
            .map_err(Shortfall::Rate)?;
        if let Some(limit) = limits.tool_per_minute {
            let bucket = self
                .tools
                .get(tool)
                .map_or_else(|| Bucket::full(limit, now), |bucket| bucket.at(limit, now))
                .take(limit)
                .map_err(Shortfall::Rate)?;
            self.tools.insert(tool.clone(), bucket);
        } else {
            self.tools.remove(tool);
        }
        self.overall = Some(overall);
        self.day = day;
        self.used = used.saturating_add(1);
        Ok(())
    }

    /// Takes a token from the bucket of all calls only: for asking after an open request.
    ///
    /// # Errors
    /// [`Shortfall::Rate`] if there is none; then nothing is taken.
    pub fn take_overall(&mut self, limits: &Limits, now: Timestamp) -> Result<(), Shortfall> {
        let overall = self
            .overall(limits, now)
            .take(limits.per_minute)
            .map_err(Shortfall::Rate)?;
        self.overall = Some(overall);
        Ok(())
    }

    /// Calls of the UTC day of `now`.
    #[must_use]
    pub fn used_today(&self, now: Timestamp) -> u32 {
        if now.day() <= self.day { self.used } else { 0 }
    }

    fn overall(&self, limits: &Limits, now: Timestamp) -> Bucket {
        self.overall.map_or_else(
            || Bucket::full(limits.per_minute, now),
            |b| b.at(limits.per_minute, now),
        )
    }
}
