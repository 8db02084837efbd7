//! Connections with TLS: queries run as without, what is sent can't be read, and whoever has another certificate is not
//! talked with. The certificates come from `deploy/certificates.sh`, which needs openssl.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use cluster::tls::Client;
use compare::{same, sorted};
use nodes::{LONG, Nodes, signal, wait_for};
use process::{palais, run};
use several::{succeed, text};

#[path = "support/cells.rs"]
mod cells;
#[path = "support/close.rs"]
mod close;
#[path = "support/compare.rs"]
mod compare;
#[path = "support/nodes.rs"]
#[allow(dead_code, reason = "other tests look at nodes more closely")]
mod nodes;
#[path = "support/process.rs"]
mod process;
#[path = "support/several.rs"]
mod several;

/// Makes certificates in a directory, for a name and addresses.
fn certificates(directory: &Path, names: &[&str]) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/certificates.sh");
    let made = Command::new("sh").arg(script).arg(directory).args(names).output();
    let made = made.expect("there is a shell");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// `[tls]` with the certificate for a name of a directory; `more` stands in it too.
fn section(directory: &Path, name: &str, more: &str) -> String {
    let file = |name: &str| format!("{:?}", text(&directory.join(name)));
    let (certificate, key) = (file(&format!("{name}.pem")), file(&format!("{name}.key")));
    let authority = file("authority.pem");
    format!("[tls]\ncertificate = {certificate}\nkey = {key}\nauthority = {authority}\n{more}\n")
}

/// What a caller says of an authority and a name.
fn flags(authority: &Path, name: &str) -> Vec<String> {
    ["--tls-authority", text(authority), "--tls-name", name].map(String::from).into()
}

/// Nodes with one certificate for all of them, and the directory with it.
fn nodes(count: u8) -> (Nodes, tempfile::TempDir) {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    certificates(home.path(), &[]);
    let mut nodes = Nodes::start(count, &section(home.path(), "palais", "name = \"palais\""));
    nodes.flags = flags(&home.path().join("authority.pem"), "palais");
    (nodes, home)
}

fn visits(home: &Path) -> PathBuf {
    let data = home.join("data");
    succeed(&["generate", text(&data), "--set", "tiny", "--to", "csv", "--parts", "4"]);
    data
}

#[test]
fn answers_are_those_of_one_process() {
    let (nodes, home) = nodes(3);
    let data = visits(home.path());
    let input = ["--data", text(&data), "--format", "csv"];
    for (node, query) in ["1b", "2c", "3b"].iter().enumerate() {
        let sql = queries::bdb::sql(query, "cat").expect("it is a query of the benchmark");
        let expected = sorted(&succeed(&[&["query", &sql], &input[..]].concat()).stdout);
        let done = nodes.succeed(node, &[&[sql.as_str()], &input[..]].concat());
        assert!(same(&sorted(&done.stdout), &expected), "{query}");
    }
    let failing = nodes.query(1, &["SELECT 9223372036854775807 + range FROM range(5)"]);
    assert!(failing.code() == Some(1) && failing.stderr.contains("host: "), "{}", failing.stderr);
    nodes.wait_until_idle();
}

#[test]
fn what_ends_a_query_ends_it_with_tls_too() {
    let (mut nodes, _home) = nodes(2);
    let left = |nodes: &Nodes| {
        (0..2).any(|node| ["lead", "process"].iter().any(|part| !nodes.children(node, part).is_empty()))
    };
    let killed = nodes.spawn(0, LONG);
    nodes.wait_for(2);
    signal(nodes.children(1, "process")[0], "KILL");
    let (code, text) = killed.finish();
    assert!(code == Some(1) && text.contains("was killed (signal 9"), "{text}");
    wait_for("nothing is left", || !left(&nodes));

    let abandoned = nodes.spawn(1, LONG);
    nodes.wait_for(2);
    signal(abandoned.child.id(), "KILL");
    wait_for("nothing is left", || !left(&nodes));

    let cut = nodes.spawn(0, LONG);
    nodes.wait_for(2);
    nodes.kill(1);
    let (code, text) = cut.finish();
    assert!(code == Some(1) && text.starts_with("error: "), "{text}");
    wait_for("nothing is left", || !left(&nodes));
}

/// Passes on what goes between whoever connects and an address, and keeps it.
fn relay(to: &str) -> (String, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let address = listener.local_addr().expect("it is bound").to_string();
    let (kept, to) = (Arc::<Mutex<Vec<u8>>>::default(), to.to_string());
    let keeping = kept.clone();
    let pass = move |mut from: TcpStream, mut into: TcpStream, kept: Arc<Mutex<Vec<u8>>>| {
        let mut bytes = [0; 4096];
        while let Ok(read) = from.read(&mut bytes)
            && read > 0
            && into.write_all(&bytes[..read]).is_ok()
        {
            kept.lock().expect("no thread panics").extend(&bytes[..read]);
        }
        let _ = into.shutdown(Shutdown::Write);
    };
    thread::spawn(move || {
        for one in listener.incoming().flatten() {
            let other = TcpStream::connect(&to).expect("the node listens");
            let (back, forth) =
                (other.try_clone().expect("it is open"), one.try_clone().expect("it is open"));
            let (kept, here) = (keeping.clone(), keeping.clone());
            thread::spawn(move || pass(one, other, kept));
            thread::spawn(move || pass(back, forth, here));
        }
    });
    (address, kept)
}

/// Takes connections in clear, and passes them on to a node with TLS, with another statement than was asked.
fn end_tls_before(to: &str, authority: &Path, asked: &str, instead: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let address = listener.local_addr().expect("it is bound").to_string();
    let tls = Client::read(authority, Some("palais")).expect("the authority is known to everybody");
    let (to, words) = (to.to_string(), [asked.to_string(), instead.to_string()]);
    assert_eq!(asked.len(), instead.len());
    thread::spawn(move || {
        for mut caller in listener.incoming().flatten() {
            let node = TcpStream::connect(&to).expect("the node listens");
            let deadline = Instant::now() + Duration::from_secs(600);
            let (mut node, _) = tls.connect(node, "palais", deadline).expect("the node is trusted");
            let (mut back, mut into) =
                (node.try_clone().expect("it is open"), caller.try_clone().expect("it is open"));
            thread::spawn(move || {
                let _ = std::io::copy(&mut back, &mut into);
                let _ = into.shutdown(Shutdown::Both);
            });
            let words = words.clone();
            thread::spawn(move || {
                let mut bytes = [0; 65536];
                while let Ok(read) = caller.read(&mut bytes)
                    && read > 0
                {
                    let at =
                        bytes[..read].windows(words[0].len()).position(|text| text == words[0].as_bytes());
                    if let Some(at) = at {
                        bytes[at..at + words[1].len()].copy_from_slice(words[1].as_bytes());
                    }
                    if node.write_all(&bytes[..read]).is_err() {
                        break;
                    }
                }
            });
        }
    });
    address
}

#[test]
fn who_ends_tls_on_the_way_can_not_pass_the_token_on() {
    let (mut nodes, home) = nodes(1);
    let authority = home.path().join("authority.pem");
    let between = end_tls_before(&nodes.addresses[0], &authority, "SELECT 1 AS a", "SELECT 7 AS a");
    // A caller that has forgotten to ask for TLS.
    nodes.flags = Vec::new();
    let direct = std::mem::replace(&mut nodes.addresses[0], between);
    let done = nodes.query(0, &["SELECT 1 AS a"]);
    assert!(done.code() == Some(1) && done.stdout.is_empty(), "{} {}", done.stdout, done.stderr);
    assert!(done.stderr.contains("something between ends TLS"), "{}", done.stderr);
    nodes.addresses[0] = direct;
    nodes.flags = flags(&authority, "palais");
    nodes.succeed(0, &["SELECT 1 AS a"]);
}

#[test]
fn what_is_sent_can_not_be_read() {
    let ask = |nodes: &mut Nodes| {
        let (address, kept) = relay(&nodes.addresses[0]);
        let direct = std::mem::replace(&mut nodes.addresses[0], address);
        let done = nodes.succeed(0, &["SELECT 'a secret that is long' AS secret, range FROM range(3)"]);
        assert_eq!(done.stdout.matches("a secret that is long,").count(), 3, "{}", done.stdout);
        nodes.addresses[0] = direct;
        let kept = kept.lock().expect("no thread panics");
        assert!(kept.len() > 500, "only {} bytes went through", kept.len());
        kept.windows(8).filter(|bytes| bytes == b"a secret").count()
    };
    let (mut sealed, _home) = nodes(1);
    assert_eq!(ask(&mut sealed), 0);
    // The relay sees what is sent in clear: the statement, and the rows.
    assert!(ask(&mut Nodes::start(1, "")) >= 4);
}

#[test]
fn who_is_not_trusted_is_not_talked_with() {
    let (mut nodes, home) = nodes(1);
    let foreign = home.path().join("foreign");
    certificates(&foreign, &[]);
    let own = home.path().join("authority.pem");
    for (flags, part) in [
        (Vec::new(), "--tls-authority"),
        (flags(&foreign.join("authority.pem"), "palais"), "invalid peer certificate"),
        (flags(&own, "another"), "another"),
        // The certificate is for a name, and not for the address.
        (flags(&own, "palais")[..2].to_vec(), "127.0.0.10"),
        (flags(&home.path().join("none.pem"), "palais"), "none.pem: the certificate can't be read"),
        (flags(&home.path().join("palais.key"), "palais"), "palais.key: there is no certificate in it"),
    ] {
        nodes.flags = flags;
        let done = nodes.query(0, &["SELECT 1"]);
        assert!(done.code() == Some(1) && done.stderr.contains(part), "{part}: {}", done.stderr);
    }
    // Strangers, some of whom speak TLS and have no token.
    let mut silent = Vec::new();
    for round in 0..100_usize {
        let Ok(mut socket) = TcpStream::connect(&nodes.addresses[0]) else { continue };
        let start: &[u8] =
            if round % 2 == 0 { &[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3] } else { b"palais\0\x01" };
        let _ = socket.write_all(&[start, &vec![round as u8; round * 9]].concat());
        silent.push(socket);
    }
    nodes.flags = flags(&own, "palais");
    fs::write(nodes.path("token-2"), "another text that is long enough to be one")
        .expect("it can be written");
    let mut other: Vec<&str> = vec!["query", "--cluster", &nodes.addresses[0], "--token-file"];
    let token = nodes.path("token-2");
    other.extend([text(&token), "SELECT 1"]);
    other.extend(nodes.flags.iter().map(String::as_str));
    let done = palais(&other);
    assert!(done.code() == Some(1) && done.stderr.contains("it has another token"), "{}", done.stderr);
    nodes.succeed(0, &["SELECT 1"]);
    drop(silent);
    // A node without TLS does not understand one who begins with it.
    let mut bare = Nodes::start(1, "");
    bare.flags = flags(&own, "palais");
    let done = bare.query(0, &["SELECT 1"]);
    assert!(done.code() == Some(1) && done.stderr.contains("--tls-authority"), "{}", done.stderr);
}

#[test]
fn processes_of_hosts_speak_tls() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let data = visits(home.path());
    let certificates_of = home.path().join("certificates");
    for host in ["127.0.0.2", "127.0.0.3"] {
        certificates(&certificates_of, &[host, host]);
    }
    let foreign = home.path().join("foreign");
    certificates(&foreign, &["127.0.0.3", "127.0.0.3"]);
    let hosts = |second: &Path| {
        let host = |directory: &Path, address: &str| {
            let tls = section(directory, address, "").replace("[tls]", "[host.tls]");
            format!("[[host]]\naddress = \"{address}\"\n{tls}")
        };
        let file = home.path().join("hosts.toml");
        let both = [host(&certificates_of, "127.0.0.2"), host(second, "127.0.0.3")].concat();
        fs::write(&file, format!("workers = 1\n{both}")).expect("it can be written");
        file
    };
    let sql = "SELECT countryCode, count(*), sum(duration) FROM uservisits GROUP BY 1";
    let input = ["--data", text(&data), "--format", "csv"];
    let among = |hosts: &Path| {
        palais([&["cluster", "run", "--hosts", text(hosts), "--timeout", "120", sql], &input[..]].concat())
    };
    let expected = sorted(&succeed(&[&["query", sql], &input[..]].concat()).stdout);
    let done = among(&hosts(&certificates_of));
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    assert!(same(&sorted(&done.stdout), &expected));
    let done = among(&hosts(&foreign));
    assert_eq!(done.code(), Some(1), "{}", done.stderr);
    assert!(
        done.stderr.contains("127.0.0.") && done.stderr.contains("invalid peer certificate"),
        "{}",
        done.stderr
    );
    let done = among(&hosts(Path::new("/nowhere")));
    let part = "/nowhere/authority.pem: the certificate can't be read";
    assert!(done.code() == Some(1) && done.stderr.contains(part), "{}", done.stderr);
}

#[test]
fn what_is_wrong_with_the_files_is_told() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    for name in ["palais", "other"] {
        certificates(home.path(), &[name]);
    }
    fs::write(home.path().join("token"), "a text that is long enough to be one").expect("it can be written");
    let file = home.path().join("node.toml");
    let whole = section(home.path(), "palais", "name = \"palais\"");
    for (tls, part) in [
        (whole.replace("palais.pem", "none.pem"), "none.pem: the certificate can't be read"),
        (whole.replace("palais.key", "authority.pem"), "authority.pem: there is no private key in it"),
        (whole.replace("palais.key", "other.key"), "other.key: with "),
        (whole.replace("name = \"palais\"", "name = \"a b\""), "the name 'a b'"),
        (whole.replace("name = \"palais\"", ""), "name in [tls]"),
        (whole.replace("[tls]", "[tls]\nkeys = 1"), "keys"),
    ] {
        let config = format!("listen = \"0.0.0.0:0\"\ntoken_file = \"token\"\n{tls}");
        fs::write(&file, config).expect("it can be written");
        let mut node = Command::new(env!("CARGO_BIN_EXE_palais"));
        let done = run(node.current_dir(home.path()).args(["node", "--config", text(&file)]));
        assert!(done.code() == Some(1) && done.stderr.contains(part), "{part}: {}", done.stderr);
    }
}
