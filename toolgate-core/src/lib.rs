//! Policy, argument rules, limits and approvals of the toolgate gateway, as pure functions.
