//! How much memory the machine has, or the control groups of the process allow.

use std::path::Path;

/// The default limit as a percentage of the available memory.
const DEFAULT: u64 = 70;

/// The default limit, in bytes.
///
/// The counting allocator counts the bytes that were requested. The process takes more: stacks, and freed memory that
/// the allocator has not given back yet. docs/performance.md has the figures.
pub fn default_limit() -> u64 {
    available() / 100 * DEFAULT
}

/// The memory of the machine, or the limit of the process's control groups if that is lower, in bytes. 4 GiB if the
/// system does not say it.
pub(super) fn available() -> u64 {
    let machine = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|l| l.starts_with("MemTotal:"))?.split_whitespace().nth(1)?;
            line.parse::<u64>().ok().map(|kib| kib * 1024)
        })
        .unwrap_or(4 << 30);
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    group_limit(&groups, Path::new("/sys/fs/cgroup")).map_or(machine, |group| machine.min(group))
}

/// The smallest limit of the control groups in `/proc/self/cgroup` and of their parents. In a container a group's path
/// may be the host's. Then only the end of the path, or nothing, exists below `mounts`. A group that does not exist
/// there limits nothing.
fn group_limit(groups: &str, mounts: &Path) -> Option<u64> {
    let limits = groups.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        // Version 2 has one hierarchy and names no controllers. Beside version 1 it lies in a directory of its own.
        let (roots, file): (&[&str], &str) = match controllers {
            "" => (&["", "unified"], "memory.max"),
            names if names.split(',').any(|name| name == "memory") => (&["memory"], "memory.limit_in_bytes"),
            _ => (&[], ""),
        };
        let path = Path::new(path.trim_start_matches('/'));
        let files = roots.iter().flat_map(move |root| {
            path.ancestors().map(move |group| mounts.join(root).join(group).join(file))
        });
        files.filter_map(|file| std::fs::read_to_string(file).ok()?.trim().parse::<u64>().ok())
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit_of(groups: &str, files: &[(&str, &str)]) -> Option<u64> {
        let mounts = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = mounts.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        group_limit(groups, mounts.path())
    }

    #[test]
    fn the_smallest_limit_of_a_group_and_those_above_counts() {
        let files = [
            ("user.slice/memory.max", "3000\n"),
            ("user.slice/a.scope/memory.max", "max\n"),
            ("other/memory.max", "7\n"),
        ];
        assert_eq!(limit_of("0::/user.slice/a.scope\n", &files), Some(3000));
        assert_eq!(limit_of("0::/\n", &files), None);
        assert_eq!(limit_of("0::/\n", &[("memory.max", "5000\n")]), Some(5000), "in a container");
        let own = [("user.slice/memory.max", "3000\n"), ("user.slice/a.scope/memory.max", "200\n")];
        assert_eq!(limit_of("0::/user.slice/a.scope\n", &own), Some(200));
    }

    #[test]
    fn version_1_has_a_hierarchy_for_memory() {
        let groups = "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/\n";
        let unlimited = ("memory/memory.limit_in_bytes", "9223372036854771712\n");
        let own = ("memory/docker/abc/memory.limit_in_bytes", "1000\n");
        assert_eq!(limit_of(groups, &[unlimited, own]), Some(1000));
        assert_eq!(limit_of(groups, &[("memory/memory.limit_in_bytes", "800\n")]), Some(800));
        assert_eq!(limit_of("", &[own]), None);
    }
}
