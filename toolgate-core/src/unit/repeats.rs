//! Equal answers within ten seconds: the first is written down, the others are counted, and the
//! count is written down too.

use super::Answered;
use super::Event;
use super::EventKind;
use super::Repeat;
use super::step::Draft;
use crate::id::CallId;
use crate::id::KeyId;
use crate::id::ToolName;
use crate::time::SECOND;
use crate::time::Timestamp;
use crate::verdict::Code;

/// How long an answer written down stands for equal ones, in milliseconds.
const COLLAPSE: i64 = 10 * SECOND;
/// How many calls are remembered that were answered.
const MOST_ANSWERED: usize = 16;
/// The most different answers counted at once.
const MOST_REPEATS: usize = 64;
/// The longest place that is kept to compare with, in bytes; answers about others are all written.
const LONGEST_PATH: usize = 256;

/// What makes two answers equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Likeness<'a> {
    pub(super) code: Code,
    pub(super) tool: Option<&'a ToolName>,
    pub(super) key: Option<&'a KeyId>,
    pub(super) path: Option<&'a str>,
}

impl Likeness<'_> {
    fn is_of(&self, known: &Repeat) -> bool {
        known.code == self.code
            && known.tool.as_ref() == self.tool
            && known.key.as_ref() == self.key
            && known.path.as_deref() == self.path
    }
}

impl Repeat {
    /// When its count has to be written down, if there is one.
    pub(super) fn due_at(&self) -> Option<Timestamp> {
        (self.more > 0).then(|| self.since.plus(COLLAPSE))
    }

    fn event(&self) -> Event {
        let (kind, word) = if self.code == Code::Held {
            (EventKind::Held, "alsoHeld")
        } else {
            (EventKind::Refused, "alsoRefused")
        };
        Event::new(kind)
            .tool(self.tool.as_ref())
            .with("code", self.code)
            .with("key", &self.key)
            .with("path", &self.path)
            .with("since", self.since)
            .with(word, self.more)
    }
}

/// Whether this very call was answered so just now, and is asked again.
pub(super) fn is_known(draft: &Draft, call: &CallId, code: Code) -> bool {
    let mut answered = draft.head.answered.iter();
    answered.any(|known| known.call == *call && known.code == code)
}

/// Remembers how a call was answered that leaves no row of its own.
pub(super) fn remember(draft: &mut Draft, call: &CallId, code: Code) {
    let answered = &mut draft.head.answered;
    if answered.len() >= MOST_ANSWERED {
        answered.remove(0);
    }
    let call = call.clone();
    answered.push(Answered { call, code });
}

/// Counts an answer, and says whether to write it down: not if an equal one was written within ten
/// seconds.
pub(super) fn is_new(draft: &mut Draft, like: Likeness<'_>) -> bool {
    if like.path.is_some_and(|path| path.len() > LONGEST_PATH) {
        return true;
    }
    let now = draft.now;
    let known = draft
        .head
        .repeats
        .iter()
        .position(|known| like.is_of(known));
    if let Some(at) = known {
        if let Some(known) = draft.head.repeats.get_mut(at)
            && now.since(known.since) < COLLAPSE
        {
            known.more = known.more.saturating_add(1);
            return false;
        }
        close(draft, at);
    } else if draft.head.repeats.len() >= MOST_REPEATS {
        let oldest = draft.head.repeats.iter().enumerate();
        if let Some((at, _)) = oldest.min_by_key(|(_, known)| known.since) {
            close(draft, at);
        }
    }
    draft.head.repeats.push(Repeat {
        code: like.code,
        tool: like.tool.cloned(),
        key: like.key.cloned(),
        path: like.path.map(str::to_owned),
        since: now,
        more: 0,
    });
    true
}

/// Writes down what was counted and is ten seconds old, and says how many counts that were.
pub(super) fn close_overdue(draft: &mut Draft) -> u32 {
    let now = draft.now;
    let is_due = |known: &Repeat| known.due_at().is_some_and(|at| at <= now);
    let mut closed = 0_u32;
    while let Some(at) = draft.head.repeats.iter().position(is_due) {
        close(draft, at);
        closed = closed.saturating_add(1);
    }
    closed
}

/// Stops counting, and writes down what was counted.
fn close(draft: &mut Draft, at: usize) {
    let known = draft.head.repeats.remove(at);
    if known.more > 0 {
        draft.event(known.event());
    }
}
