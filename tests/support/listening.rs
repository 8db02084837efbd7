//! The ports at which a process listens.

use std::fs;

/// The ports at which a process listens.
pub fn listening(process: u32) -> Vec<u16> {
    let links = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let links = links.filter_map(|fd| fs::read_link(fd.path()).ok()?.to_str().map(String::from));
    let sockets: Vec<String> = links
        .filter_map(|link| Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_string()))
        .collect();
    let table = fs::read_to_string("/proc/net/tcp").expect("the system has /proc");
    let ports = table.lines().skip(1).filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // The state 0A is LISTEN.
        let listens = words[3] == "0A" && sockets.iter().any(|inode| inode == words[9]);
        let port = words[1].split(':').nth(1)?;
        listens.then(|| u16::from_str_radix(port, 16).ok()).flatten()
    });
    ports.collect()
}
