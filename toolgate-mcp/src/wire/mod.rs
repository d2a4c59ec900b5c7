//! JSON-RPC and the two eras of the protocol.
