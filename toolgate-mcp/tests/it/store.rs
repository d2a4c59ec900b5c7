//! The contract suite over the store in memory.

use toolgate_mcp::store::contract::Clocked;
use toolgate_mcp::store::memory::MemoryStore;

async fn make(clock: Clocked) -> Box<MemoryStore> {
    Box::new(MemoryStore::new(clock))
}

toolgate_mcp::store_conformance!(tokio::test, make);
