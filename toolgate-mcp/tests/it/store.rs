//! The contract suite over the store in memory: as it is, with moves that fail before anything is
//! kept, and with answers that get lost after it.

use toolgate_mcp::store::contract::Clocked;
use toolgate_mcp::store::contract::Faulty;
use toolgate_mcp::store::memory::MemoryStore;

async fn make(clock: Clocked) -> Box<MemoryStore> {
    Box::new(MemoryStore::new(clock))
}

toolgate_mcp::store_conformance!(tokio::test, make);

mod failing {
    use super::*;

    async fn make(clock: Clocked) -> Box<Faulty<Box<MemoryStore>>> {
        Box::new(Faulty::failing(super::make(clock).await))
    }

    toolgate_mcp::store_conformance!(tokio::test, make);
}

mod forgetful {
    use super::*;

    async fn make(clock: Clocked) -> Box<Faulty<Box<MemoryStore>>> {
        Box::new(Faulty::forgetful(super::make(clock).await))
    }

    toolgate_mcp::store_conformance!(tokio::test, make);
}
