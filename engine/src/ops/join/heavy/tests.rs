use arrow_array::{Int64Array, RecordBatch};
use datafusion_physical_expr::expressions::Column;
use queries::plan::JoinType;

use super::*;
use crate::processes::{Channels, Near, Network, Notes, Processes};

/// Keeps what is told, and to which process.
#[derive(Default)]
struct Told(Mutex<Vec<(usize, Note)>>);

impl Told {
    fn take(&self) -> Vec<(usize, Note)> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Network for Told {
    fn connect(&self, _stage: usize) -> Result<Channels> {
        Err(Error::Cancelled)
    }

    fn tell(&self, process: usize, note: Note) {
        self.0.lock().unwrap().push((process, note));
    }

    fn tell_value(&self, _stage: usize, _value: Vec<u8>) {}

    fn value(&self, _stage: usize) -> Result<Vec<u8>> {
        Err(Error::Cancelled)
    }
}

fn batch(keys: Vec<i64>) -> RecordBatch {
    let column: ArrayRef = Arc::new(Int64Array::from(keys));
    RecordBatch::try_from_iter([("k", column)]).unwrap()
}

/// What a process of two with a worker each has of a join, and what it tells.
fn process(index: usize) -> (Arc<Replicas>, Arc<Told>) {
    let key: Expr = Arc::new(Column::new("k", 0));
    let schema = batch(vec![]).schema();
    let join = Join {
        kind: JoinType::Inner,
        build: Side::Right,
        shared: false,
        replicates: true,
        on: vec![(key.clone(), key)],
        filter: None,
        filter_columns: vec![],
        filter_schema: schema.clone(),
        null_equality: NullEquality::NullEqualsNothing,
        null_aware: false,
        output: vec![],
    };
    let told = Arc::<Told>::default();
    let (network, notes) = (told.clone(), Arc::<Notes>::default());
    let processes = Some(Arc::new(Processes { index, count: 2, network, notes, near: Near::default() }));
    (Replicas::new(&join, schema, 3, Site { stage: 1, workers: 1, processes }), told)
}

/// The hash of a key of worker 0 or 1, and the key.
fn key_of(worker: usize) -> (u64, i64) {
    let hash = |key: i64| crate::hash::hash_word(key as u64);
    let key = (0..).find(|key| worker_of(hash(*key), 2) == worker).unwrap();
    (hash(key), key)
}

fn built(replicas: &Replicas, keys: Vec<i64>) -> Arc<Built> {
    Arc::new(replicas.build(batch(keys)).unwrap())
}

#[test]
fn build_rows_of_a_heavy_key_are_asked_for_once_and_given_when_they_are_complete() {
    let ((asks, asked), (gives, given)) = (process(0), process(1));
    let (hash, key) = key_of(1);
    let own = built(&asks, vec![]);
    assert!(!asks.want(hash) && !asks.want(hash));
    let wanted = Note::Wanted { stage: 1, node: 3, hash, process: 0 };
    assert_eq!(asked.take(), [(1, wanted)]);
    assert!(asks.parts(&own, 0, &[hash]).is_err(), "the row was sent to the wrong worker");

    gives.give(hash, 0).unwrap();
    assert!(given.take().is_empty(), "the build side is not complete");
    gives.publish(1, &built(&gives, vec![key, key + 1, key])).unwrap();
    let told = given.take();
    let [(0, Note::Replica { stage: 1, node: 3, hash: of, rows })] = &told[..] else { panic!("{told:?}") };
    assert_eq!(*of, hash);
    gives.give(hash, 0).unwrap();
    assert_eq!(given.take(), told, "at once, once it is");

    asks.take(hash, &rows.0).unwrap();
    assert!(asks.want(hash) && asked.take().is_empty());
    let (mine, _) = key_of(0);
    let (parts, of_rows) = asks.parts(&own, 0, &[mine, hash, mine, hash]).unwrap();
    assert_eq!(of_rows, Some(vec![0, 1, 0, 1]));
    assert_eq!(parts[1].rows, batch(vec![key, key]));
    assert!(asks.parts(&own, 0, &[mine, mine]).unwrap().1.is_none());
    assert!(asks.kept() > 0);
    asks.leave();
    assert!(asks.parts(&own, 0, &[hash]).is_err(), "they are dropped");
}

#[test]
fn keys_of_a_worker_of_the_process_need_no_asking() {
    let (replicas, told) = process(0);
    let (hash, key) = key_of(0);
    assert!(!replicas.want(hash), "it has built nothing yet");
    replicas.publish(0, &built(&replicas, vec![key])).unwrap();
    assert!(replicas.want(hash));
    assert!(told.take().is_empty());
}

#[test]
fn what_another_process_tells_is_checked() {
    let (replicas, told) = process(0);
    let ((mine, key), (hash, _)) = (key_of(0), key_of(1));
    let own = built(&replicas, vec![key; KEY_ROWS + 1]);
    replicas.take(hash, b"nobody has asked for it").unwrap();
    assert!(!replicas.want(hash));
    told.take();
    assert!(replicas.take(hash, b"no rows").is_err());
    let rows = wire::encode(&batch(vec![7; KEY_ROWS + 1])).unwrap();
    assert!(replicas.take(hash, &rows).is_err(), "too many");
    // Rows of other keys meet nothing.
    replicas.take(hash, &wire::encode(&batch(vec![key; 5])).unwrap()).unwrap();
    let (parts, _) = replicas.parts(&own, 0, &[hash]).unwrap();
    assert!(parts[1].table.of_hash(hash, 10).is_empty());

    replicas.give(hash, 1).unwrap();
    (0..2 * KEYS).try_for_each(|_| replicas.give(mine, 1)).unwrap();
    assert_eq!(replicas.inner().waiting.len(), KEYS);
    replicas.publish(0, &own).unwrap();
    replicas.give(mine, 1).unwrap();
    assert!(told.take().is_empty(), "too many rows of a key, and a key of another worker");
}
