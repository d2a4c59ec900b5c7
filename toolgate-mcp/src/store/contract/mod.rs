//! What every store must do, as tests that a store's own suite runs.
//!
//! [`store_conformance!`](crate::store_conformance) names them all, so that no harness can forget
//! one. Not stable API.
#![expect(
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "these are tests: they say that a store is wrong by panicking"
)]

mod again;
mod approvals;
mod calls;
mod directory;
mod faulty;
mod fixture;
mod lost;
mod operated;
mod reads;

pub use again::a_call_held_again_is_counted_once;
pub use again::a_claim_asked_again_is_one;
pub use again::a_hand_over_asked_again_is_one;
pub use again::a_refusal_asked_again_is_counted_once;
pub use again::a_request_asked_again_is_one;
pub use again::an_answer_given_again_is_one;
pub use again::an_observation_asked_again_is_one;
pub use again::an_outcome_stored_again_is_one;
pub use again::each_asking_after_a_request_is_one_more;
pub use again::what_is_swept_again_is_closed_once;
pub use approvals::a_claim_settles_once;
pub use approvals::a_lapsed_claim_becomes_unknown;
pub use approvals::a_result_is_replayed_for_its_window;
pub use approvals::a_retried_failure_is_claimed_again;
pub use approvals::a_stale_fence_leaves_evidence;
pub use approvals::a_stale_policy_hands_nothing_over;
pub use approvals::a_yes_is_checked_again;
pub use approvals::declines_hold_for_a_day;
pub use approvals::nothing_asked_before_a_kill_is_made_after_it;
pub use approvals::nothing_runs_twice_for_one_call;
pub use approvals::one_of_many_answers_wins;
pub use approvals::outcomes_without_a_person_are_dropped;
pub use approvals::the_latest_asking_answers;
pub use approvals::the_same_request_is_one_row;
pub use approvals::windows_close_to_the_millisecond;
pub use calls::a_bucket_admits_exactly_its_tokens;
pub use calls::a_key_is_asked_inside_the_unit;
pub use calls::a_killed_principal_is_refused_first;
pub use calls::a_lost_call_is_written_down;
pub use calls::a_stale_policy_decides_nothing;
pub use calls::a_withheld_result_is_written_down;
pub use calls::an_observation_is_one_entry;
pub use calls::equal_refusals_are_counted;
pub use calls::meters_follow_the_day_and_never_the_clock_back;
pub use calls::what_a_kill_or_a_revoked_key_cut_stays_withheld;
pub use calls::what_was_counted_is_written_down;
pub use calls::what_was_not_admitted_is_not_recorded;
pub use directory::names_keys_and_operators_are_found;
pub use directory::policies_are_kept_by_name;
pub use faulty::At;
pub use faulty::Fault;
pub use faulty::Faulty;
pub use faulty::Often;
pub use fixture::Clocked;
pub use fixture::ManualClock;
pub use fixture::Store;
pub use fixture::Temporary;
pub use fixture::admit;
pub use fixture::claimed;
pub use operated::a_directory_told_again_remembers_the_same;
pub use operated::a_note_asked_again_is_written_again;
pub use operated::a_principal_made_again_is_one;
pub use operated::what_an_operator_does_again_is_done_once;
pub use reads::appends_are_gapless_and_verify;
pub use reads::approvals_are_listed_newest_first;
pub use reads::entries_page_stably;
pub use reads::principals_share_nothing;
pub use reads::the_system_has_a_chain;

/// Makes one test of each function of this module.
///
/// `$attr` is the attribute that runs an async test, `$make` an async function from
/// [`Clocked`](crate::store::contract::Clocked) to something that dereferences to the store; it is
/// kept until the test ends. `in_turn` runs all of them on one store instead, within a test.
#[macro_export]
macro_rules! store_conformance {
    (in_turn $store:expr, $clock:expr) => {
        $crate::store_conformance! { @every in_turn [$store, $clock] }
    };
    ($attr:meta, $make:path) => {
        $crate::store_conformance! { @every each [$attr, $make] }
    };
    (@every $how:ident $with:tt) => {
        $crate::store_conformance! { @$how $with
            a_bucket_admits_exactly_its_tokens
            a_call_held_again_is_counted_once
            a_claim_asked_again_is_one
            a_claim_settles_once
            a_directory_told_again_remembers_the_same
            a_hand_over_asked_again_is_one
            a_key_is_asked_inside_the_unit
            a_killed_principal_is_refused_first
            a_lapsed_claim_becomes_unknown
            a_lost_call_is_written_down
            a_note_asked_again_is_written_again
            a_principal_made_again_is_one
            a_refusal_asked_again_is_counted_once
            a_request_asked_again_is_one
            a_result_is_replayed_for_its_window
            a_retried_failure_is_claimed_again
            a_stale_fence_leaves_evidence
            a_stale_policy_decides_nothing
            a_stale_policy_hands_nothing_over
            a_withheld_result_is_written_down
            a_yes_is_checked_again
            an_answer_given_again_is_one
            an_observation_asked_again_is_one
            an_observation_is_one_entry
            an_outcome_stored_again_is_one
            appends_are_gapless_and_verify
            approvals_are_listed_newest_first
            declines_hold_for_a_day
            each_asking_after_a_request_is_one_more
            entries_page_stably
            equal_refusals_are_counted
            meters_follow_the_day_and_never_the_clock_back
            names_keys_and_operators_are_found
            nothing_asked_before_a_kill_is_made_after_it
            nothing_runs_twice_for_one_call
            one_of_many_answers_wins
            outcomes_without_a_person_are_dropped
            policies_are_kept_by_name
            principals_share_nothing
            the_latest_asking_answers
            the_same_request_is_one_row
            the_system_has_a_chain
            what_a_kill_or_a_revoked_key_cut_stays_withheld
            what_an_operator_does_again_is_done_once
            what_is_swept_again_is_closed_once
            what_was_counted_is_written_down
            what_was_not_admitted_is_not_recorded
            windows_close_to_the_millisecond
        }
    };
    (@each [$attr:meta, $make:path] $($name:ident)*) => {
        $(
            #[$attr]
            async fn $name() {
                let clock = $crate::store::contract::Clocked::default();
                let store = $make(clock.clone()).await;
                $crate::store::contract::$name(&*store, &clock).await;
            }
        )*
    };
    (@in_turn [$store:expr, $clock:expr] $($name:ident)*) => {
        $(
            $crate::store::contract::$name($store, $clock).await;
        )*
    };
}
