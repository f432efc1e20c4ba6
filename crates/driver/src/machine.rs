//! Finds out how much memory this process may use: all memory of the machine, or less if a container or the shell
//! allows less.

use std::{fs, path::Path};

/// The memory that this process may use, in bytes; `None` if the system does not tell.
pub(crate) fn memory() -> Option<u64> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let all = [
        field(&read("/proc/meminfo"), "MemTotal:"),
        container(Path::new("/sys/fs/cgroup"), &read("/proc/self/cgroup")),
        shell(&read("/proc/self/limits")),
    ];
    all.into_iter().flatten().min()
}

/// Reads a number of bytes from a line such as `MemTotal:       24576000 kB` of a file in `/proc`.
pub(crate) fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Finds the smallest memory limit among this process's control group and all groups that contain it.
///
/// For version 2 of control groups, a line of `groups` is `0::/a/b`, and the limits are in `ROOT/a/b/memory.max` and in
/// the folders above. For version 1 it is `N:memory:/a/b`, and the limits are in
/// `ROOT/memory/a/b/memory.limit_in_bytes` and in the folders above. In a container, `root` itself is often the folder
/// of the process's own group, even if `groups` has another path.
fn container(root: &Path, groups: &str) -> Option<u64> {
    let of_line = |line: &str| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let (root, file) = match controllers {
            "" => (root.to_path_buf(), "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => (root.join("memory"), "memory.limit_in_bytes"),
            _ => return None,
        };
        let group = root.join(path.trim_start_matches('/'));
        let around = group.ancestors().take_while(|folder| folder.starts_with(&root));
        // A file may contain the word `max`, which means that there is no limit. The word does not parse as a number,
        // so the file is skipped.
        let limit = |folder: &Path| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
        around.filter_map(limit).min()
    };
    groups.lines().filter_map(of_line).min()
}

/// Reads what `ulimit` has set, from a line such as `Max address space     unlimited      unlimited bytes`. The first
/// of the two limits is in effect.
fn shell(limits: &str) -> Option<u64> {
    let rows = ["Max address space", "Max data size"];
    let limit = |row: &str| {
        let line = limits.lines().find_map(|line| line.strip_prefix(row))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    rows.iter().filter_map(|row| limit(row)).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_the_limits_around_a_process_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("a/b/memory.max", "max\n");
        write("a/memory.max", "1000000\n");
        write("memory/c/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/memory.limit_in_bytes", "2000000\n");
        for (groups, expected) in [
            ("0::/a/b\n", Some(1_000_000)),
            ("0::/elsewhere\n", None),
            ("12:cpu,cpuacct:/c\n4:memory:/c\n", Some(2_000_000)),
            ("4:memory:/c\n0::/a/b\n", Some(1_000_000)),
            ("", None),
            ("nonsense", None),
        ] {
            assert_eq!(container(root.path(), groups), expected, "{groups}");
        }
    }

    #[test]
    fn what_the_system_says_is_understood() {
        let memory_info = "MemTotal:       24576 kB\nMemFree: 1 kB\n";
        assert_eq!(field(memory_info, "MemTotal:"), Some(24576 * 1024));
        let status = "Name:\tstrait\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n";
        assert_eq!(field(status, "VmHWM:"), Some(2048 * 1024));
        assert_eq!(field("Name:\tstrait\n", "VmHWM:"), None);
        let limits = |space: &str, data: &str| {
            format!(
                "Limit  Soft Limit  Hard Limit  Units\nMax data size  {data}  unlimited  bytes\nMax address space  {space}  unlimited  bytes\n"
            )
        };
        assert_eq!(shell(&limits("unlimited", "unlimited")), None);
        assert_eq!(shell(&limits("4096", "unlimited")), Some(4096));
        assert_eq!(shell(&limits("4096", "1024")), Some(1024));
        assert_eq!(memory().is_some(), cfg!(target_os = "linux"));
    }
}
