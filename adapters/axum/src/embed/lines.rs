//! One agent over a stream of lines (MCP, transports, stdio).

use std::io;
use std::sync::Arc;

use tokio::io::AsyncBufRead;
use tokio::io::AsyncBufReadExt as _;
use tokio::io::AsyncWrite;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use toolgate_mcp::gateway::Caller;
use toolgate_mcp::gateway::Gate;
use toolgate_mcp::wire::Face;
use toolgate_mcp::wire::MOST_BODY;

/// The most messages that are answered at once; further ones wait to be read.
const MOST_AT_ONCE: usize = 64;

/// Answers messages, each on a task of its own, until the input ends and all are answered.
pub(super) async fn serve<R, W>(
    gate: &Gate,
    face: &Face,
    caller: &Caller,
    mut input: R,
    output: W,
) -> io::Result<()>
where
    R: AsyncBufRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let output = Arc::new(Mutex::new(output));
    let mut answers = JoinSet::new();
    while let Some(line) = next(&mut input).await? {
        if line.is_empty() {
            continue;
        }
        while answers.len() >= MOST_AT_ONCE {
            written(answers.join_next().await)?;
        }
        while let Some(done) = answers.try_join_next() {
            written(Some(done))?;
        }
        let (gate, face, caller) = (gate.clone(), face.clone(), caller.clone());
        let output = Arc::clone(&output);
        answers.spawn(async move {
            let Some(mut answer) = toolgate_http::line(&gate, &face, &caller, &line).await else {
                return Ok(());
            };
            answer.push(b'\n');
            let mut output = output.lock().await;
            output.write_all(&answer).await?;
            output.flush().await
        });
    }
    while let Some(done) = answers.join_next().await {
        written(Some(done))?;
    }
    Ok(())
}

fn written(done: Option<Result<io::Result<()>, tokio::task::JoinError>>) -> io::Result<()> {
    match done {
        Some(Ok(written)) => written,
        Some(Err(_)) | None => Ok(()),
    }
}

/// The next line without its end; of one that is too long, as much as shows that it is.
async fn next<R: AsyncBufRead + Unpin>(input: &mut R) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    loop {
        let read = input.fill_buf().await?;
        if read.is_empty() {
            return Ok((!line.is_empty()).then_some(line));
        }
        let end = read.iter().position(|byte| *byte == b'\n');
        let piece = read.get(..end.unwrap_or(read.len())).unwrap_or_default();
        let room = (MOST_BODY + 1).saturating_sub(line.len());
        line.extend(piece.iter().take(room));
        let taken = end.map_or(read.len(), |end| end + 1);
        input.consume(taken);
        if end.is_some() {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Ok(Some(line));
        }
    }
}
