//! One module for each command.

pub(crate) mod agent;
pub(crate) mod approvals;
pub(crate) mod audit;
mod clients;
pub(crate) mod copies;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod filter;
pub(crate) mod init;
pub(crate) mod operators;
pub(crate) mod policy;
mod process;
pub(crate) mod reload;
mod running;
pub(crate) mod serve;
