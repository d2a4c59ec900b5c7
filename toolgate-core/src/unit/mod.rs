//! One principal's unit: what changes together, the moves that change it, and the one step.
//!
//! A store loads the rows that a [`Move`] names, calls [`step`], and saves the [`Changes`] with
//! the [`Event`]s' entries in one transaction. The step is total: it answers with an [`Outcome`]
//! for every input and never fails.
#![expect(
    clippy::exhaustive_enums,
    clippy::exhaustive_structs,
    reason = "rows and moves are matched whole, so that a new field breaks every store"
)]

mod admit;
mod collect;
mod decide;
mod event;
mod head;
mod moves;
mod repeats;
mod settle;
mod step;
mod sweep;

pub use event::Event;
pub use event::EventKind;
pub use event::Seal;
pub use head::Answered;
pub use head::Head;
pub use head::Key;
pub use head::Killed;
pub use head::PolicyRef;
pub use head::Repeat;
pub use moves::Admit;
pub use moves::Collect;
pub use moves::Create;
pub use moves::Decide;
pub use moves::Ending;
pub use moves::Move;
pub use moves::Needs;
pub use moves::Poll;
pub use moves::Recheck;
pub use moves::Record;
pub use moves::SetPolicy;
pub use moves::Settle;
pub use moves::Subject;
pub use step::CallChange;
pub use step::Changes;
pub use step::Loaded;
pub use step::Outcome;
pub use step::Running;
pub use step::Step;
pub use step::step;
