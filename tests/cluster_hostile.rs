//! What somebody who has the token may tell a process: an error, and never a crash.

use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use arrow_schema::{DataType, Field, Schema};
use cluster::coordinator::{Host, Launch, Options, Query, Traffic};
use cluster::ports::Ports;
use cluster::{Cluster, Error};
use engine::QueryState;
use schema::{Source, Table};

/// A process of this machine.
fn process() -> Cluster {
    let mut command = Command::new(env!("CARGO_BIN_EXE_palais"));
    command.args(["cluster", "process"]);
    let host = Host {
        name: "there".into(),
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        ports: Ports::ANY,
        directory: None,
        sharing: 1,
        far: false,
        tls: None,
        launch: Launch::Command(command),
    };
    let version =
        Command::new(env!("CARGO_BIN_EXE_palais")).arg("--version").output().expect("palais starts");
    let version = String::from_utf8(version.stdout).expect("it is a text");
    let version = version.trim().strip_prefix("palais ").expect("it begins with the name").to_string();
    let (hosts, traffic, patience) = (vec![host], Traffic::default(), Duration::from_secs(20));
    Cluster::start(Options { version, hosts, traffic, patience }).expect("it starts")
}

/// A query over a table of which a column is nested so deep, as a process reads it.
fn query(levels: usize) -> Vec<u8> {
    query_for(1, levels)
}

/// The same, for so many workers.
fn query_for(workers: usize, levels: usize) -> Vec<u8> {
    let make = move || {
        let wrap = |t, _| DataType::List(Arc::new(Field::new("item", t, true)));
        let t = (0..levels).fold(DataType::Int64, wrap);
        let table = Table {
            name: "t".into(),
            schema: Arc::new(Schema::new(vec![Field::new("range", t, true)])),
            source: Source::Range { start: 0, end: 1, step: 1 },
            rows: None,
            spans: Vec::new(),
            guesses: schema::TableEstimates::default(),
        };
        let settings = queries::Settings::default();
        let limits = (workers, 1_usize, None::<u64>, false);
        let tables = [&table];
        let query = ("SELECT * FROM t", false, tables.as_slice(), settings, limits);
        let bytes = bincode::serialize(&query).expect("it can be written");
        // To drop it takes a call for each level, as to write it does.
        std::mem::forget(table);
        bytes
    };
    let large = thread::Builder::new().stack_size(1 << 30).spawn(make).expect("a thread can be started");
    large.join().expect("the thread ends")
}

/// What a process answers to a query.
fn answer(bytes: &[u8]) -> String {
    let state = Arc::new(QueryState::new(0, 1));
    match process().run(&Query { bytes, fingerprint: 0 }, Arc::new(Schema::empty()), state) {
        Err(Error::Failed { host, message, .. }) if host == "there" => message,
        Err(e) => panic!("{e}"),
        Ok(_) => panic!("it has another plan"),
    }
}

#[test]
fn types_that_are_nested_too_deep_are_refused() {
    // What is not too deep to be read is not too deep for whoever plans with it either.
    for levels in [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10_000, 100_000] {
        let told = answer(&query(levels));
        let (planned, refused) = (told.contains("it plans this query"), told.contains("nested too deep"));
        assert!(planned || refused, "{levels}: {told}");
        assert!(planned || levels > 80, "{levels} levels are not too deep");
        assert!(refused || levels < 10_000, "{levels} levels are too deep");
    }
}

#[test]
fn a_query_for_any_number_of_workers_is_refused() {
    for workers in [0, 5000, usize::MAX] {
        let told = answer(&query_for(workers, 1));
        assert!(told.contains(&format!("{workers} workers are asked for")), "{told}");
    }
}

#[test]
fn a_query_of_other_bytes_is_an_error() {
    let whole = query(3);
    // Numbers that look like chance and are always the same (xorshift64).
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |end: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % end as u64) as usize
    };
    for round in 0..60 {
        let mut bytes = whole.clone();
        for _ in 0..=below(3) {
            let (at, value) = (below(bytes.len()), [0, 1, 0x7f, 0x80, 0xff, below(256) as u8][below(6)]);
            bytes[at] = value;
        }
        // A process that crashes ends otherwise than by saying what is wrong.
        assert!(!answer(&bytes).is_empty(), "{round}");
    }
}

#[test]
fn a_query_that_is_cut_short_is_an_error() {
    let whole = query(3);
    for length in (0..whole.len()).step_by(7) {
        let told = answer(&whole[..length]);
        assert!(told.contains("can't be read"), "{length}: {told}");
    }
}
