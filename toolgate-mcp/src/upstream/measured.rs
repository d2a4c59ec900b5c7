//! The server's end of the pipe: what is too large for its reader is answered as that.
//!
//! The SDK reads lines of at most 16 MiB and JSON of at most 128 levels, and drops what is more
//! without a word: whoever waits for that answer would wait for ever.

use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use rmcp::model::JsonRpcMessage;
use rmcp::model::ServerResult;
use rmcp::service::RoleServer;
use rmcp::service::RxJsonRpcMessage;
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::Transport;

use super::bounds::Bounds;
use super::bounds::take_apart;

/// The code of the error that stands for an answer that was too large.
pub(super) const TOO_LARGE: ErrorCode = ErrorCode(-32_950);

/// A transport that sends no answer larger than the gate takes.
#[derive(Debug)]
pub(super) struct Measured<T>(T);

impl<T> Measured<T> {
    pub(super) const fn new(transport: T) -> Self {
        Self(transport)
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Measured<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.0.send(within(item))
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleServer>>> + Send {
        self.0.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.0.close()
    }
}

fn within(item: TxJsonRpcMessage<RoleServer>) -> TxJsonRpcMessage<RoleServer> {
    let id = match item {
        JsonRpcMessage::Response(response) => {
            let bounds = match &response.result {
                ServerResult::CallToolResult(_) => Bounds::RESULT,
                _ => Bounds::MESSAGE,
            };
            if bounds.hold(&response.result) {
                return JsonRpcMessage::Response(response);
            }
            if let ServerResult::CallToolResult(result) = response.result
                && let Some(structured) = result.structured_content
            {
                take_apart(structured);
            }
            Some(response.id)
        }
        JsonRpcMessage::Error(answer) if !Bounds::RESULT.hold(&answer.error) => answer.id,
        other => return other,
    };
    JsonRpcMessage::error(ErrorData::new(TOO_LARGE, "too large", None), id)
}
