//! What somebody who has the token may tell a process: an error, and never a crash.

use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use arrow_schema::{DataType, Field, Schema};
use cluster::caller::{Host, Launch, Options, Query, Traffic};
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

/// The beginning of a query, up to a table of which a column is nested so deep.
fn query(levels: usize) -> Vec<u8> {
    let make = move || {
        let wrap = |t, _| DataType::List(Arc::new(Field::new("item", t, true)));
        let t = (0..levels).fold(DataType::Int64, wrap);
        let table = Table {
            name: "t".into(),
            schema: Arc::new(Schema::new(vec![Field::new("a", t, true)])),
            source: Source::Range { start: 0, end: 1, step: 1 },
            rows: None,
            spans: Vec::new(),
        };
        let bytes = bincode::serialize(&("SELECT * FROM t", false, [&table].as_slice())).expect("it can be");
        // To drop it takes a call for each level, as to write it does.
        std::mem::forget(table);
        bytes
    };
    let large = thread::Builder::new().stack_size(1 << 30).spawn(make).expect("a thread can be started");
    large.join().expect("the thread ends")
}

#[test]
fn types_that_are_nested_too_deep_are_refused() {
    // What is not too deep is read up to its end, which is missing.
    for (levels, says) in
        [(60, "the size limit"), (10_000, "nested too deep"), (1_000_000, "nested too deep")]
    {
        let cluster = process();
        let bytes = query(levels);
        let query = Query { bytes: &bytes, fingerprint: 0 };
        let state = Arc::new(QueryState::new(0, 1));
        match cluster.run(&query, Arc::new(Schema::empty()), state) {
            Err(Error::Failed { host, message, code }) => {
                assert!(
                    (host.as_str(), code) == ("there", 1) && message.contains(says),
                    "{levels}: {message}"
                );
            }
            Err(e) => panic!("{levels}: {e}"),
            Ok(_) => panic!("{levels}: it is no query"),
        }
    }
}
