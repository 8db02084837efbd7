//! Hosts with addresses of their own: network namespaces on a bridge, each with an sshd. They need root; where they can't
//! be made, the tests say so and pass.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use process::{Finished, palais, run};
use several::{succeed, text};

#[path = "support/process.rs"]
mod process;
#[path = "support/several.rs"]
mod several;

/// A query that takes long, and leaves the processors to others.
const LONG: &str = concat!(
    "SELECT count(*) FROM transform('",
    env!("CARGO_MANIFEST_DIR"),
    "/Cargo.toml', 'exec sleep 300', 'n BIGINT')"
);

/// How long a process may be silent whose link is busy with rows, in seconds.
const PATIENT: &str = "120";

/// What takes longer counts as hanging.
const PATIENCE: Duration = Duration::from_secs(600);

/// What a query says of a process that a login did not start in time, as may be on a busy machine.
const LATE: &str = "nothing was heard of the process for 30 seconds";

/// Runs a query over the hosts, and again if a process began too late that should begin.
fn begun(missing: Option<&str>, query: impl Fn() -> Finished) -> Finished {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let done = query();
        let is_missing = missing.is_some_and(|host| done.stderr.contains(host));
        if !done.stderr.contains(LATE) || is_missing || Instant::now() > deadline {
            return done;
        }
    }
}

/// Counts some rows on the hosts, one of which may be missing.
fn count(hosts: &Path, missing: Option<&str>) -> Finished {
    let sql = "SELECT count(*) FROM range(1000)";
    begun(missing, || palais(["cluster", "run", "--hosts", text(hosts), sql]))
}

/// Three hosts on a bridge, on which this process is too.
struct Net {
    /// Tells it from others, in names of devices and in addresses.
    number: u8,
    home: tempfile::TempDir,
    servers: Vec<Child>,
    /// Held for as long as the number is taken.
    _taken: fs::File,
}

fn shell(command: &str) -> Output {
    Command::new("sh").args(["-ec", command]).output().expect("there is a shell")
}

/// A number that no network of these tests has on this machine, in this run of them or in another one's, with the file
/// whose lock keeps it. Names of devices and addresses are the machine's, and so are these files.
fn free_number() -> io::Result<(u8, fs::File)> {
    for number in 1..=250 {
        let file = fs::File::create(format!("/run/palais-net-{number}"))?;
        match file.try_lock() {
            Ok(()) => return Ok((number, file)),
            Err(fs::TryLockError::WouldBlock) => {}
            Err(fs::TryLockError::Error(e)) => return Err(e),
        }
    }
    Err(io::Error::other("all 250 are taken"))
}

impl Net {
    /// Three hosts; `None`, with the reason printed, where they can't be made.
    fn new() -> Option<Net> {
        let home = tempfile::tempdir().expect("a temporary directory can be made");
        let (number, taken) = match free_number() {
            Ok(found) => found,
            Err(e) => {
                eprintln!("skipped: no number of a network can be taken: {e}");
                return None;
            }
        };
        let mut net = Net { number, home, servers: Vec::new(), _taken: taken };
        net.clear();
        let made = shell(&format!(
            "ip link add plb{number} type bridge
             ip addr add 10.77.{number}.254/24 dev plb{number}
             ip link set plb{number} up
             for i in 1 2 3; do
               ip netns add pl{number}-$i
               ip link add plv{number}-$i type veth peer name eth0 netns pl{number}-$i
               ip link set plv{number}-$i master plb{number} up
               ip -n pl{number}-$i addr add 10.77.{number}.$i/24 dev eth0
               ip -n pl{number}-$i link set eth0 up
               ip -n pl{number}-$i link set lo up
             done
             [ -x /usr/sbin/sshd ]
             mkdir -p /run/sshd
             ssh-keygen -q -t ed25519 -N '' -f {home}/key
             ssh-keygen -q -t ed25519 -N '' -f {home}/host
             cp {home}/key.pub {home}/authorized",
            home = net.path("").display(),
        ));
        if !made.status.success() {
            eprintln!("skipped: hosts can't be made: {}", String::from_utf8_lossy(&made.stderr));
            return None;
        }
        let config = format!(
            "Port 22\nHostKey {0}/host\nAuthorizedKeysFile {0}/authorized\nStrictModes no\nUsePAM no\n\
             PidFile none\nPermitRootLogin yes\n",
            net.home.path().display()
        );
        fs::write(net.path("sshd"), config).expect("it can be written");
        for host in 1..=3 {
            let server = Command::new("ip")
                .args(["netns", "exec", &format!("pl{number}-{host}"), "/usr/sbin/sshd", "-D", "-e", "-f"])
                .arg(net.path("sshd"))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            net.servers.push(server.expect("ip starts"));
        }
        for host in 1..=3_u8 {
            let deadline = Instant::now() + PATIENCE;
            let address = ([10, 77, number, host], 22).into();
            while std::net::TcpStream::connect_timeout(&address, Duration::from_millis(100)).is_err() {
                assert!(Instant::now() < deadline, "sshd of host {host} answers");
                thread::sleep(Duration::from_millis(20));
            }
        }
        Some(net)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Removes what a run before this one may have left.
    fn clear(&self) {
        let n = self.number;
        shell(&format!(
            "for i in 1 2 3; do ip netns del pl{n}-$i || true; ip link del plv{n}-$i || true; done
             ip link del plb{n} || true"
        ));
    }

    /// A file of hosts that are reached by ssh; `more` stands behind the entry of host 2.
    fn hosts(&self, name: &str, more: &str) -> PathBuf {
        let home = self.home.path().display();
        let mut text = format!(
            "workers = 1\nssh_options = [\"-i\", \"{home}/key\", \"-o\", \"StrictHostKeyChecking=no\", \
             \"-o\", \"UserKnownHostsFile=/dev/null\", \"-o\", \"LogLevel=ERROR\"]\n"
        );
        for host in 1..=3 {
            let address = format!("10.77.{}.{host}", self.number);
            text +=
                &format!("[[host]]\nname = \"h{host}\"\naddress = \"{address}\"\nssh = \"root@{address}\"\n");
            if host == 2 {
                text += more;
            }
        }
        let path = self.path(name);
        fs::write(&path, text).expect("it can be written");
        path
    }

    /// The processes of queries in a host.
    fn processes(&self, host: u8) -> usize {
        let space = |path: String| fs::metadata(path).map(|meta| meta.ino()).ok();
        let here = space(format!("/run/netns/pl{}-{host}", self.number));
        let is_query = |process: &fs::DirEntry| {
            let process = process.path().display().to_string();
            let words = fs::read(format!("{process}/cmdline")).unwrap_or_default();
            words.ends_with(b"palais\0cluster\0process\0") && space(format!("{process}/ns/net")) == here
        };
        fs::read_dir("/proc").expect("the system has /proc").flatten().filter(is_query).count()
    }

    fn wait_for_none(&self) {
        let deadline = Instant::now() + PATIENCE;
        while (1..=3).any(|host| self.processes(host) != 0) {
            assert!(Instant::now() < deadline, "{:?} processes", [1, 2, 3].map(|h| self.processes(h)));
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Starts the long query; once it runs on all hosts `harm` is done, and the query has to end. Gives its message.
    fn harmed(&self, hosts: &Path, harm: &str) -> String {
        let run = || palais(["cluster", "run", "--hosts", text(hosts), "--allow-scripts", LONG]);
        let done = begun(None, || {
            thread::scope(|scope| {
                let query = scope.spawn(run);
                while (1..=3).any(|host| self.processes(host) != 1) {
                    if query.is_finished() {
                        return query.join().expect("the thread ends");
                    }
                    thread::sleep(Duration::from_millis(20));
                }
                // It is planned, and the processes are connected.
                thread::sleep(Duration::from_secs(1));
                let done = shell(harm);
                assert!(done.status.success(), "{harm}: {}", String::from_utf8_lossy(&done.stderr));
                query.join().expect("the thread ends")
            })
        });
        assert_eq!(done.code(), Some(1), "{harm}: {} {}", done.ending(), done.stderr);
        assert!(done.stdout.is_empty(), "{harm}");
        self.wait_for_none();
        done.stderr
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
        self.clear();
    }
}

#[test]
fn three_hosts_give_the_answer_of_one() {
    let Some(net) = Net::new() else { return };
    let data = net.path("data");
    succeed(&[
        "generate",
        text(&data),
        "--rankings",
        "20000",
        "--uservisits",
        "200000",
        "--to",
        "jsonl",
        "--parts",
        "5",
    ]);
    let sql = "SELECT substr(sourceIP, 1, 12) AS ip, count(*), min(visitDate) FROM uservisits GROUP BY 1 ORDER BY 1";
    let expected = succeed(&["query", sql, "--data", text(&data)]).stdout;
    assert!(expected.lines().count() > 190_000);
    // By ssh, with paths that begin on the hosts.
    let ssh = net.hosts("ssh.toml", "");
    let here = fs::read_to_string(&ssh).expect("it was written");
    fs::write(&ssh, format!("directory = \"{}\"\n{here}", net.home.path().display()))
        .expect("it can be written");
    // By another command, which starts the processes in the namespaces.
    let mut launched = String::new();
    for host in 1..=3 {
        let name = format!("pl{}-{host}", net.number);
        launched += &format!(
            "[[host]]\naddress = \"10.77.{}.{host}\"\nport = 7400\nlaunch = [\"ip\", \"netns\", \"exec\", \"{name}\"]\n",
            net.number
        );
    }
    fs::write(net.path("launch.toml"), launched).expect("it can be written");
    for (hosts, place) in [(ssh, "data"), (net.path("launch.toml"), text(&data))] {
        let done = succeed(&["cluster", "run", "--hosts", text(&hosts), sql, "--data", place]);
        assert!(done.stdout == expected, "{}", hosts.display());
        net.wait_for_none();
    }
    let tables =
        succeed(&["cluster", "run", "--hosts", text(&net.path("ssh.toml")), "SHOW TABLES", "--data", "data"]);
    assert!(tables.stdout.contains("uservisits") && tables.stdout.contains("rankings"), "{}", tables.stdout);
}

#[test]
fn a_host_that_is_cut_off_ends_the_query_on_all() {
    let Some(net) = Net::new() else { return };
    let hosts = net.hosts("hosts.toml", "");
    let n = net.number;
    let to_processes = |signal: &str, host: u8| {
        format!(
            "for p in $(ip netns pids pl{n}-{host}); do
               if tr '\\0' ' ' < /proc/$p/cmdline | grep -q 'cluster process'; then kill -{signal} $p; fi
             done"
        )
    };
    for (harm, heal, says) in [
        // Nobody reaches host 2.
        (
            format!("ip link set plv{n}-2 down"),
            format!("ip link set plv{n}-2 up"),
            &["h2: nothing was heard"][..],
        ),
        // Host 1 and host 2 don't reach one another. On a busy machine one of them may be silent first.
        (
            format!("ip -n pl{n}-1 route add blackhole 10.77.{n}.2/32"),
            format!("ip -n pl{n}-1 route del blackhole 10.77.{n}.2/32"),
            &["the connection to h", ": nothing was heard"],
        ),
        (to_processes("KILL", 3), "true".into(), &["h3: the process "]),
        (to_processes("STOP", 1), "true".into(), &["h1: nothing was heard"]),
    ] {
        let message = net.harmed(&hosts, &harm);
        assert!(says.iter().any(|one| message.contains(one)), "{harm}: {message}");
        assert!(shell(&heal).status.success(), "{heal}");
        let done = count(&hosts, None);
        assert_eq!(
            (done.code(), done.stdout.as_str()),
            (Some(0), "count(*)\n1000\n"),
            "{harm}: {}",
            done.stderr
        );
    }
}

#[test]
fn a_host_that_is_missing_is_named() {
    let Some(net) = Net::new() else { return };
    let hosts = net.hosts("hosts.toml", "binary = \"/nowhere/palais\"\n");
    let done = count(&hosts, None);
    assert_eq!(done.code(), Some(1));
    assert!(done.stderr.contains("h2: the process ended with exit code 127"), "{}", done.stderr);
    assert!(done.stderr.contains("/nowhere/palais"), "{}", done.stderr);
    assert!(shell(&format!("ip link set plv{}-2 down", net.number)).status.success());
    let hosts = net.hosts("hosts.toml", "");
    let done = count(&hosts, Some("h2: "));
    assert_eq!(done.code(), Some(1));
    assert!(done.stderr.contains("h2: "), "{}", done.stderr);
    net.wait_for_none();
}

#[test]
fn a_slow_link_changes_no_answer_and_takes_no_memory() {
    let Some(net) = Net::new() else { return };
    // Both directions of host 2: 40 Mbit/s.
    let slow = shell(&format!(
        "tc qdisc add dev plv{n}-2 root tbf rate 40mbit burst 32kbit latency 400ms
         tc -n pl{n}-2 qdisc add dev eth0 root tbf rate 40mbit burst 32kbit latency 400ms",
        n = net.number,
    ));
    if !slow.status.success() {
        eprintln!("skipped: tbf is not there: {}", String::from_utf8_lossy(&slow.stderr));
        return;
    }
    let hosts = net.hosts("hosts.toml", "");
    // Each row goes to one of the three hosts: some 20 MB to and from the slow one.
    let sql = "SELECT count(*), sum(n) FROM (SELECT md5(CAST(range AS VARCHAR)) AS k, count(*) AS n FROM range(1200000) GROUP BY 1)";
    let done = run(Command::new(env!("CARGO_BIN_EXE_palais")).args([
        "cluster",
        "run",
        "--hosts",
        text(&hosts),
        "--timeout",
        PATIENT,
        "--memory-limit",
        "400MiB",
        sql,
    ]));
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    assert!(done.stdout.ends_with("\n1200000,1200000\n"), "{}", done.stdout);
}

#[test]
fn a_slow_link_has_less_to_carry() {
    let Some(net) = Net::new() else { return };
    let slow = shell(&format!(
        "for i in 1 2 3; do
           tc -n pl{}-$i qdisc add dev eth0 root tbf rate 100mbit burst 64kbit latency 400ms
         done",
        net.number,
    ));
    if !slow.status.success() {
        eprintln!("skipped: tbf is not there: {}", String::from_utf8_lossy(&slow.stderr));
        return;
    }
    // Some 70 MB of groups, two thirds of which cross.
    let sql = "SELECT count(*), sum(n) FROM (SELECT 'the name of ' || range AS k, count(*) AS n FROM range(3000000) GROUP BY 1)";
    let sent = |compression: &str| {
        let hosts = net.hosts("hosts.toml", "");
        let text_of = fs::read_to_string(&hosts).expect("it was written");
        fs::write(&hosts, format!("{compression}\n{text_of}")).expect("it can be written");
        let stats = net.path("stats.json");
        let options = ["--hosts", text(&hosts), "--timeout", PATIENT, "--stats", text(&stats)];
        let done = succeed(&[&["cluster", "run"][..], &options, &[sql]].concat());
        assert!(done.stdout.ends_with("\n3000000,3000000\n"), "{}", done.stdout);
        let stats = fs::read_to_string(stats).expect("they were written");
        let stats: serde_json::Value = serde_json::from_str(&stats).expect("they are JSON");
        stats["bytes_sent"].as_u64().expect("they were counted")
    };
    let plain = sent("compression = \"none\"");
    let [lz4, auto] = [sent("compression = \"lz4\""), sent("")];
    // How often it is found to be quicker depends on what else the machine does.
    assert!(plain > 40_000_000 && lz4 < plain / 2 && auto < plain - plain / 20, "{plain}, {lz4}, {auto}");
}

#[test]
fn packets_that_are_dropped_end_the_query_on_all() {
    let Some(net) = Net::new() else { return };
    let n = net.number;
    let on = |host: u8, rules: &[String]| {
        let table = "add table inet palais
             add chain inet palais in { type filter hook input priority 0; }
             add chain inet palais out { type filter hook output priority 0; }";
        let rules: String = rules.iter().map(|rule| format!("\nadd rule inet palais {rule} drop")).collect();
        format!("ip netns exec pl{n}-{host} nft -f - <<'rules'\n{table}{rules}\nrules\n")
    };
    let heal = |host: u8| format!("ip netns exec pl{n}-{host} nft delete table inet palais");
    let tried = shell(&(on(1, &[]) + &heal(1)));
    if !tried.status.success() {
        eprintln!("skipped: nftables are not there: {}", String::from_utf8_lossy(&tried.stderr));
        return;
    }
    let hosts = net.hosts("hosts.toml", "");
    let from = |host: u8| format!("in ip saddr 10.77.{n}.{host}");
    let to = |host: u8| format!("out ip daddr 10.77.{n}.{host}");
    for (host, rules, names, says) in [
        // Nobody reaches host 2, whose sockets stay open: nothing tells the others.
        (
            2,
            vec!["in iifname eth0".into(), "out oifname eth0".into()],
            "error: h2: ",
            "nothing was heard of the process for",
        ),
        // Host 1 and host 3 don't reach one another; the coordinator reaches both.
        (1, vec![from(3), to(3)], ": the connection to h", "nothing was heard for"),
        // Host 3 is heard by host 2, and does not hear it.
        (3, vec![from(2)], ": the connection to h", "nothing was heard for"),
    ] {
        let message = net.harmed(&hosts, &on(host, &rules));
        assert!(message.contains(names) && message.contains(says), "{rules:?}: {message}");
        assert!(shell(&heal(host)).status.success(), "{rules:?}");
        let done = count(&hosts, None);
        assert_eq!(
            (done.code(), done.stdout.as_str()),
            (Some(0), "count(*)\n1000\n"),
            "{rules:?}: {}",
            done.stderr
        );
    }
}
