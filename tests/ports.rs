//! Processes that listen at the ports that a file says, and at no others.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;

use listening::listening;
use nodes::{LONG, Nodes, wait_for};
use process::{palais, run};
use several::{succeed, text};

#[path = "support/cells.rs"]
mod cells;
#[path = "support/listening.rs"]
mod listening;
#[path = "support/nodes.rs"]
#[allow(dead_code, reason = "other tests look at nodes more closely")]
mod nodes;
#[path = "support/process.rs"]
mod process;
#[path = "support/several.rs"]
mod several;

const SUM: &str = "SELECT sum(range) FROM range(1000)";

/// Two ports, one behind the other, that are free at an address, which nothing else listens at.
fn free(address: Ipv4Addr) -> [u16; 2] {
    let both = |first: u16| {
        let [one, two] = [first, first + 1].map(|port| TcpListener::bind((address, port)));
        one.is_ok() && two.is_ok()
    };
    let first = (23_000..30_000).find(|first| both(*first)).expect("loopback has many ports");
    [first, first + 1]
}

#[test]
fn processes_of_nodes_listen_at_the_ports_of_their_file() {
    // Nodes have addresses of their own, the second of them this one.
    let second = Ipv4Addr::new(127, 0, 0, 11);
    let ports = free(second);
    let nodes = Nodes::start(2, &format!("queries = 2\nports = {ports:?}"));
    let hold = |port: u16| TcpListener::bind((second, port)).expect("it is free");
    // Somebody else has the first.
    let first = hold(ports[0]);
    let long = nodes.spawn(0, LONG);
    nodes.wait_for(2);
    let listen = |node| nodes.children(node, "process").into_iter().flat_map(listening).collect::<Vec<_>>();
    wait_for("the second port is listened at", || listen(1) == [ports[1]]);
    wait_for("a port is listened at", || listen(0).iter().any(|port| ports.contains(port)));
    let none = nodes.query(0, &[SUM]);
    let says = format!("cannot begin at 127.0.0.11: no port from {} to {} is free", ports[0], ports[1]);
    assert!(none.code() == Some(1) && none.stderr.contains(&says), "{}", none.stderr);
    assert!(none.stderr.contains(&format!("host: {}", nodes.addresses[1])), "{}", none.stderr);
    drop(first);
    nodes.succeed(0, &[SUM]);
    drop(long);
}

#[test]
fn a_range_of_too_few_ports_is_told() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let file = home.path().join("node.toml");
    fs::write(&file, "token_file = \"token\"\nports = [7100, 7101]").expect("it can be written");
    let done = run(Command::new(env!("CARGO_BIN_EXE_palais")).args(["node", "--config", text(&file)]));
    assert!(done.code() == Some(1) && done.stderr.contains("ports are 2, and queries 4"), "{}", done.stderr);
}

#[test]
fn processes_of_hosts_listen_at_the_ports_of_their_file() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let hosts = home.path().join("hosts.toml");
    let address = Ipv4Addr::new(127, 0, 0, 82);
    let ports = free(address);
    let entry = |name: &str| format!("[[host]]\naddress = \"{address}\"\nname = \"{name}\"\n");
    let write = |entries: &[&str]| {
        let entries: String = entries.iter().map(|name| entry(name)).collect();
        fs::write(&hosts, format!("ports = {ports:?}\n{entries}")).expect("it can be written");
    };
    let sum = ["cluster", "run", "--workers", "1", "--hosts", text(&hosts), SUM];
    write(&["one", "two"]);
    assert!(succeed(&sum).stdout.ends_with("\n499500\n"));
    // There is none for a third one.
    write(&["one", "two", "three"]);
    let none = palais(sum);
    let says = format!("no port from {} to {} is free", ports[0], ports[1]);
    assert!(none.code() == Some(1) && none.stderr.contains(&says), "{}", none.stderr);
    assert!(none.stderr.contains("host: "), "{}", none.stderr);
    // Nor for a second one, while somebody else has the first.
    let held = TcpListener::bind((address, ports[0])).expect("it is free");
    write(&["one", "two"]);
    let none = palais(sum);
    assert!(none.code() == Some(1) && none.stderr.contains(&says), "{}", none.stderr);
    drop(held);
}
