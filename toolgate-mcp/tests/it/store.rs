//! The contract suite over the store in memory, as it is and with answers that get lost before
//! anything is kept.

use std::ops::Deref;
use std::sync::Arc;

use toolgate_mcp::store::contract::Clocked;
use toolgate_mcp::store::memory::MemoryStore;

use super::unsteady::Unsteady;

async fn make(clock: Clocked) -> Box<MemoryStore> {
    Box::new(MemoryStore::new(clock))
}

toolgate_mcp::store_conformance!(tokio::test, make);

mod failing {
    use super::*;

    async fn make(clock: Clocked) -> impl Deref<Target = Unsteady> {
        Arc::new(Unsteady::new(MemoryStore::new(clock)))
    }

    toolgate_mcp::store_conformance!(tokio::test, make);
}
