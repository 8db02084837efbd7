use arrow_array::{Int64Array, RecordBatch};
use datafusion_physical_expr::expressions::Column;
use queries::plan::JoinType;

use super::*;
use crate::distributed::processes::{Channels, Locality, Network, Notes, Processes};
use crate::distributed::raw::Raw;

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
    process_of(index, JoinType::Inner)
}

/// As [`process`], for a join of this kind.
fn process_of(index: usize, kind: JoinType) -> (Arc<Replicas>, Arc<Told>) {
    let key: Expr = Arc::new(Column::new("k", 0));
    let schema = batch(vec![]).schema();
    let join = Join {
        kind,
        build: Side::Right,
        shared: false,
        replicates: true,
        repeats: false,
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
    let processes = Some(Arc::new(Processes { index, count: 2, network, notes, near: Locality::default() }));
    (Replicas::new(&join, schema, 3, Topology { stage: 1, workers: 1, processes }).unwrap(), told)
}

/// The hash of a key of worker 0 or 1, and the key.
fn key_of(worker: usize) -> (u64, i64) {
    let hash = |key: i64| crate::state::hash::hash_word(key as u64);
    let key = (0..).find(|key| worker_of(hash(*key), 2) == worker).unwrap();
    (hash(key), key)
}

/// A key as it comes with a row.
fn columns(key: i64) -> Vec<ArrayRef> {
    batch(vec![key]).columns().to_vec()
}

/// What process 0 asks for.
fn wanted(hash: u64, keys: Vec<i64>) -> Wanted {
    Wanted { hash, key: wire::encode(&batch(keys)).unwrap(), process: 0 }
}

fn built(replicas: &Replicas, keys: Vec<i64>) -> Arc<Built> {
    Arc::new(replicas.build(batch(keys)).unwrap())
}

#[test]
fn build_rows_of_a_heavy_key_are_asked_for_once_and_given_when_they_are_complete() {
    let ((asks, asked), (gives, given)) = (process(0), process(1));
    let (hash, key) = key_of(1);
    let own = built(&asks, vec![]);
    assert!(!asks.want(hash, || None).unwrap() && asked.take().is_empty(), "no row of it is at hand");
    assert!(!asks.want(hash, || Some(columns(key))).unwrap());
    assert!(!asks.want(hash, || Some(columns(key))).unwrap());
    let bytes = Raw(wanted(hash, vec![key]).key);
    assert_eq!(asked.take(), [(1, Note::Wanted { stage: 1, node: 3, hash, key: bytes, process: 0 })]);
    assert!(asks.parts(&own, 0, &[hash]).is_err(), "the row was sent to the wrong worker");

    gives.give(wanted(hash, vec![key])).unwrap();
    assert!(given.take().is_empty(), "the build side is not complete");
    gives.publish(1, &built(&gives, vec![key, key + 1, key])).unwrap();
    let told = given.take();
    let [(0, Note::Replica { stage: 1, node: 3, hash: of, rows })] = &told[..] else { panic!("{told:?}") };
    assert_eq!(*of, hash);
    gives.give(wanted(hash, vec![key])).unwrap();
    assert_eq!(given.take(), told, "at once, once it is");

    asks.take(hash, &rows.0).unwrap();
    assert!(asks.want(hash, || None).unwrap() && asked.take().is_empty());
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
    assert!(!replicas.want(hash, || Some(columns(key))).unwrap(), "it has built nothing yet");
    replicas.publish(0, &built(&replicas, vec![key])).unwrap();
    assert!(!replicas.want(hash, || None).unwrap(), "no row of it is at hand");
    assert!(replicas.want(hash, || Some(columns(key))).unwrap());
    assert!(told.take().is_empty());
}

#[test]
fn build_rows_have_met_their_like_if_a_row_with_their_key_is_elsewhere() {
    // Rows of the build side, on the right, are given at the end.
    for (kind, sent) in [(JoinType::Full, 2), (JoinType::RightAnti, 0), (JoinType::RightSemi, 0)] {
        let (gives, given) = process_of(1, kind);
        let (hash, key) = key_of(1);
        let own = built(&gives, vec![key, key + 1, key]);
        let met = || gives.met(&own, 1).collect::<Vec<_>>();
        gives.publish(1, &own).unwrap();
        gives.give(wanted(hash, vec![key])).unwrap();
        let told = given.take();
        let [(0, Note::Replica { rows, .. })] = &told[..] else { panic!("{told:?}") };
        let (rows, drops) = (wire::decode(&rows.0, &own.rows.schema()).unwrap().num_rows(), gives.drops());
        assert_eq!((rows, drops), (sent, sent == 0), "{kind}");
        assert_eq!(met(), [0, 2]);
        assert_eq!(gives.met(&own, 0).count(), 0, "they are another worker's");
    }
    // Where the probe side's are given, or pairs alone, it does not matter.
    for kind in [JoinType::Inner, JoinType::LeftAnti] {
        let (gives, _) = process_of(1, kind);
        let (hash, key) = key_of(1);
        let own = built(&gives, vec![key]);
        assert!(gives.want(hash, || Some(columns(key))).is_ok_and(|is_here| !is_here));
        gives.publish(1, &own).unwrap();
        assert!(gives.want(hash, || Some(columns(key))).unwrap() && !gives.drops());
        assert_eq!(gives.met(&own, 1).count(), 0);
    }
}

#[test]
fn a_key_has_not_met_its_like_if_only_the_hash_of_a_row_is_its_own() {
    let (gives, given) = process_of(1, JoinType::Full);
    let (hash, key) = key_of(1);
    let own = built(&gives, vec![key]);
    gives.publish(1, &own).unwrap();
    gives.give(wanted(hash, vec![key + 1])).unwrap();
    assert!(!gives.want(hash, || Some(columns(key + 1))).unwrap());
    assert!(given.take().is_empty() && gives.met(&own, 1).count() == 0);
    assert!(!gives.want(hash, || Some(columns(key))).unwrap(), "it is not tried again");
}

#[test]
fn what_another_process_tells_is_checked() {
    let (replicas, told) = process(0);
    let ((mine, key), (hash, _)) = (key_of(0), key_of(1));
    let own = built(&replicas, vec![key; KEY_ROWS + 1]);
    replicas.take(hash, b"nobody has asked for it").unwrap();
    assert!(!replicas.want(hash, || Some(columns(key))).unwrap());
    told.take();
    assert!(replicas.take(hash, b"no rows").is_err());
    let rows = wire::encode(&batch(vec![7; KEY_ROWS + 1])).unwrap();
    assert!(replicas.take(hash, &rows).is_err(), "too many");
    // Rows of other keys meet nothing.
    replicas.take(hash, &wire::encode(&batch(vec![key; 5])).unwrap()).unwrap();
    let (parts, _) = replicas.parts(&own, 0, &[hash]).unwrap();
    assert!(parts[1].table.of_hash(hash, 10).is_empty());

    replicas.give(wanted(hash, vec![key])).unwrap();
    (0..2 * KEYS).try_for_each(|_| replicas.give(wanted(mine, vec![key]))).unwrap();
    assert_eq!(replicas.inner().waiting.len(), KEYS);
    replicas.publish(0, &own).unwrap();
    replicas.give(wanted(mine, vec![key])).unwrap();
    assert!(told.take().is_empty(), "too many rows of a key, and a key of another worker");

    replicas.inner().parts[0] = Some(built(&replicas, vec![key]));
    for bad in [b"no key".to_vec(), vec![], wanted(mine, vec![]).key, wanted(mine, vec![key, key]).key] {
        assert!(replicas.give(Wanted { hash: mine, key: bad, process: 1 }).is_err());
    }
    assert!(told.take().is_empty());
}
