//! What only shows when jobs meet in one batch, or threads between two steps.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;

use rusqlite::Connection;
use tempfile::TempDir;
use tokio::sync::oneshot;
use toolgate_core::id::PrincipalId;
use toolgate_core::unit::Create;
use toolgate_core::unit::Ending;
use toolgate_core::unit::Event;
use toolgate_core::unit::Move;
use toolgate_core::unit::Outcome;
use toolgate_core::unit::Record;
use toolgate_core::verdict::Decision;
use toolgate_mcp::store::Moved;
use toolgate_mcp::store::StoreError;
use toolgate_mcp::store::Wait;
use toolgate_mcp::store::contract;
use toolgate_mcp::store::contract::Clocked;

use super::Fault;
use super::Health;
use super::Shared;
use super::Taken;
use super::Writer;
use super::stopped;
use crate::sqlite::DATABASE;
use crate::sqlite::Durability;
use crate::sqlite::configure;
use crate::sqlite::readers;
use crate::sqlite::readers::Readers;
use crate::sqlite::schema;

type Told = oneshot::Receiver<Result<Moved, StoreError>>;

struct Rig {
    writer: Writer,
    readers: Arc<Readers>,
    folder: TempDir,
}

/// A job that keeps the writer's thread until it is dropped.
struct Held(#[expect(dead_code, reason = "dropping it is what ends the job")] mpsc::Sender<()>);

fn start(folder: &Path) -> (Writer, Arc<Readers>) {
    let path = folder.join(DATABASE);
    let mut connection = Connection::open(&path).unwrap();
    configure(&connection).unwrap();
    schema::migrate(&mut connection, &path).unwrap();
    let readers = Arc::new(Readers::new(path));
    let (clock, known) = (Clocked::default(), Arc::clone(&readers));
    let writer = Writer::start(connection, Durability::Strict, clock, known);
    (writer.unwrap(), readers)
}

impl Rig {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (writer, readers) = start(folder.path());
        Self {
            writer,
            readers,
            folder,
        }
    }

    fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.writer.shared)
    }

    fn raw(&self) -> Connection {
        Connection::open(self.folder.path().join(DATABASE)).unwrap()
    }

    fn push(&self, id: &PrincipalId, asked: Move, wait: Wait) -> Told {
        match self.writer.ask(id, asked, wait).unwrap() {
            Taken::Waits(told) => told,
            Taken::Answered(moved) => {
                let (tell, told) = oneshot::channel();
                tell.send(Ok(moved)).unwrap();
                told
            }
        }
    }

    fn done(&self, id: &PrincipalId, asked: Move) -> Result<Outcome, StoreError> {
        got(self.push(id, asked, Wait::Durable))
    }

    fn principal(&self, name: &str) -> PrincipalId {
        let id: PrincipalId = name.parse().unwrap();
        let create = Create {
            name: name.parse().unwrap(),
            owner: None,
            policy: r#"{"tools":{}}"#.to_owned(),
            policy_name: None,
            by: "ann".parse().unwrap(),
        };
        let made = self.done(&id, Move::Create(Box::new(create)));
        assert_eq!(made.unwrap(), Outcome::Done);
        id
    }

    /// Puts a row in the way of an entry with that number.
    fn spoil(&self, id: &PrincipalId, seq: i64) {
        let sql = "INSERT INTO entries (chain, seq, bytes, hash) \
                   SELECT chain, ?2, bytes, hash FROM entries WHERE chain = ?1 AND seq = 1";
        self.raw().execute(sql, (id.as_str(), seq)).unwrap();
    }

    /// Leaves a job that goes on until it is let go; the receiver hears when it has begun.
    fn hold(&self) -> (Held, mpsc::Receiver<()>) {
        let (go, wait) = mpsc::channel::<()>();
        let (begin, begun) = mpsc::channel();
        let work = move |_: &Connection| {
            begin.send(()).ok();
            wait.recv().ok();
            let finish: super::Finish = Box::new(|_| {});
            (Ok(()), finish)
        };
        self.writer.leave(Box::new(work)).unwrap();
        (Held(go), begun)
    }
}

fn got(told: Told) -> Result<Outcome, StoreError> {
    let told = told.blocking_recv().unwrap_or_else(|_| Err(stopped()));
    told.map(|moved| moved.outcome)
}

fn kill() -> Move {
    let by = "ann".parse().unwrap();
    Move::Kill { by, reason: None }
}

fn note() -> Move {
    Move::Note(Box::new(Event::note("dry_run")))
}

/// A read that may run, and its record.
fn read(id: &PrincipalId) -> (Move, Move) {
    let asked = contract::admit(id, "a", Decision::Run);
    let record = Record {
        call: asked.call.clone(),
        ending: Ending::default(),
    };
    let admit = Move::Admit(Box::new(asked));
    (admit, Move::Record(Box::new(record)))
}

// spec: F17
#[test]
fn what_another_thread_reports_while_a_commit_is_made_stays() {
    let rig = Rig::new();
    let shared = rig.shared();
    let work = move |_: &Connection| {
        let report = std::thread::spawn(move || shared.worsen(Health::Poisoned));
        report.join().unwrap();
        Ok(())
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(rig.writer.write(work)).unwrap();
    assert_eq!(rig.writer.health(), Health::Poisoned);
    let id: PrincipalId = "bot".parse().unwrap();
    assert!(rig.writer.ask(&id, note(), Wait::Durable).is_err());
}

#[test]
fn a_kill_that_was_told_is_in_the_file_whatever_its_batch_meets() {
    let rig = Rig::new();
    let id = rig.principal("xx");
    let (admit, record) = read(&id);
    assert_eq!(
        got(rig.push(&id, admit, Wait::Ordered)).unwrap(),
        Outcome::Admitted
    );
    // Entry 2 will be the kill, and entry 3 the record.
    rig.spoil(&id, 3);
    let (first, begun) = rig.hold();
    begun.recv().unwrap();
    let kill = rig.push(&id, kill(), Wait::Durable);
    let (second, begun) = rig.hold();
    let noted = rig.push(&id, note(), Wait::Durable);
    drop(first);
    begun.recv().unwrap();
    let record = rig.push(&id, record, Wait::Durable);
    drop(second);
    let told = [got(kill), got(noted), got(record)];
    assert!(told.iter().all(Result::is_err), "{told:?}");
    let head: String = rig
        .raw()
        .query_row("SELECT head FROM units", (), |row| row.get(0))
        .unwrap();
    assert!(!head.contains("dry_run") && rig.readers.head(&id).is_none());
    rig.raw()
        .execute("DELETE FROM entries WHERE seq = 3", ())
        .unwrap();
    assert_eq!(rig.done(&id, self::kill()).unwrap(), Outcome::Done);
    let (admit, _) = read(&id);
    assert!(matches!(
        got(rig.push(&id, admit, Wait::Ordered)),
        Ok(Outcome::Refused(_))
    ));
}

#[test]
fn a_damaged_chain_spoils_no_other_unit_of_its_batch() {
    let rig = Rig::new();
    let (bad, good) = (rig.principal("xx"), rig.principal("yy"));
    rig.spoil(&bad, 2);
    // As after a restart, the units are in the file alone.
    drop(rig.shared().desk().stage.failed());
    let (first, begun) = rig.hold();
    begun.recv().unwrap();
    let (admit, record) = read(&bad);
    let admitted = rig.push(&bad, admit, Wait::Ordered);
    let noted = rig.push(&good, note(), Wait::Durable);
    let (second, begun) = rig.hold();
    drop(first);
    begun.recv().unwrap();
    assert_eq!(got(admitted).unwrap(), Outcome::Admitted);
    let recorded = rig.push(&bad, record, Wait::Durable);
    drop(second);
    assert!(got(recorded).is_err());
    assert_eq!(got(noted).unwrap(), Outcome::Done);
    assert_eq!(rig.writer.health(), Health::Ok);
}

#[test]
fn what_was_read_before_a_failure_is_not_shown_after_it() {
    let rig = Rig::new();
    let id = rig.principal("xx");
    let forgotten = rig.readers.forgotten();
    let (head, policy) = readers::unit(&rig.raw(), &id).unwrap().unwrap();
    rig.done(&id, kill()).unwrap();
    rig.writer.rehearse(Fault::Undone);
    assert!(rig.done(&id, note()).is_err());
    rig.readers.keep(forgotten, &id, &head, &policy);
    let shown = rig.readers.head(&id);
    assert!(shown.is_none_or(|head| head.killed.is_some()));
}
