//! The operating system's figures of the machine, this process and files, from Linux' `/proc`. A
//! missing figure is `None` or empty.

use std::fs;
use std::path::Path;

use crate::results::Machine;

/// Describes the machine, with the file system that holds `directory`.
pub fn machine(directory: &Path) -> Machine {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kernel = |name| fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    Machine {
        processor: field(&processors, "model name").unwrap_or_default().to_owned(),
        cores: u32::try_from(cores).unwrap_or(u32::MAX),
        memory: kilobytes(&memory, "MemTotal").unwrap_or_default(),
        system: format!("{} {}", kernel("ostype").trim(), kernel("osrelease").trim())
            .trim()
            .to_owned(),
        file_system: file_system(directory).unwrap_or_default(),
    }
}

/// Returns the text after the first `NAME:` that begins a line.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(found, _)| found.trim_end() == name).map(|(_, value)| value.trim())
}

/// Returns a field in kilobytes, as bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let number: u64 = field(text, name)?.strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

/// Returns the type of the mount whose mount point is the longest prefix of `directory`.
fn file_system(directory: &Path) -> Option<String> {
    let directory = directory.canonicalize().ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let holding = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (point, kind) = (fields.next()?, fields.next()?);
        directory.starts_with(point).then_some((point.len(), kind))
    });
    // If two mounts have the same mount point, the later one is visible.
    holding.max_by_key(|(length, _)| *length).map(|(_, kind)| kind.to_owned())
}

/// Bytes that this process wrote so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Passed to write calls (`wchar` of `/proc/self/io`).
    pub calls: u64,
    /// Sent to the device (`write_bytes`).
    pub device: u64,
}

impl Moved {
    /// Returns the bytes until now.
    pub fn now() -> Option<Moved> {
        Moved::parse(&fs::read_to_string("/proc/self/io").ok()?)
    }

    fn parse(text: &str) -> Option<Moved> {
        let number = |name| field(text, name)?.parse().ok();
        Some(Moved { calls: number("wchar")?, device: number("write_bytes")? })
    }

    /// Returns the bytes since `before`.
    pub fn since(self, before: Moved) -> Moved {
        Moved {
            calls: self.calls.saturating_sub(before.calls),
            device: self.device.saturating_sub(before.device),
        }
    }
}

/// Returns the most memory of this process that was resident since its start or since
/// [`forget_peak_memory`], in bytes (`VmHWM`).
pub fn peak_memory() -> Option<u64> {
    kilobytes(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM")
}

/// Returns the bytes of this process that are resident now (`VmRSS`).
pub fn resident_memory() -> Option<u64> {
    kilobytes(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS")
}

/// Returns the number of file descriptors that this process has open.
pub fn open_handles() -> Option<u64> {
    // The directory itself is open while it is read.
    Some(fs::read_dir("/proc/self/fd").ok()?.count() as u64 - 1)
}

/// Restarts [`peak_memory`]. Returns false if the system does not allow it.
pub fn forget_peak_memory() -> bool {
    // Documented in proc_pid_clear_refs(5): 5 resets the peak and touches nothing else.
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// Returns the bytes of all blocks of the files below `directory`; `None` if the directory cannot
/// be read.
pub fn space(directory: &Path) -> Option<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory).ok()? {
        let entry = entry.ok()?;
        // A file that has just been deleted takes no space.
        let Ok(metadata) = entry.metadata() else { continue };
        bytes += match metadata.is_dir() {
            true => space(&entry.path()).unwrap_or_default(),
            false => allocated(&metadata),
        };
    }
    Some(bytes)
}

/// Returns the bytes of all blocks of a file.
#[cfg(unix)]
fn allocated(metadata: &fs::Metadata) -> u64 {
    /// Bytes of a block as `stat` counts them, whatever the file system's own blocks are.
    const STAT_BLOCK: u64 = 512;
    std::os::unix::fs::MetadataExt::blocks(metadata) * STAT_BLOCK
}

/// Returns the length of a file: the standard library does not tell its blocks here.
#[cfg(not(unix))]
fn allocated(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_names() {
        let text = "rchar: 1\nwchar: 2\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\n";
        assert_eq!(Moved::parse(text), Some(Moved { calls: 2, device: 6 }));
        assert_eq!(Moved::parse("wchar: 2\n"), None);
        assert_eq!(kilobytes("VmPeak: 9 kB\nVmHWM:\t  3 kB\n", "VmHWM"), Some(3072));
    }

    #[test]
    fn blocks_of_files_in_all_directories_count() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("inner")).unwrap();
        fs::write(directory.path().join("inner/file"), vec![1; 10_000]).unwrap();
        fs::File::open(directory.path().join("inner/file")).unwrap().sync_all().unwrap();
        let space = space(directory.path()).unwrap();
        assert!((10_000..100_000).contains(&space), "{space}");
        assert_eq!(super::space(&directory.path().join("absent")), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn linux_tells_all() {
        let machine = machine(Path::new("/proc"));
        assert!(machine.cores > 0 && machine.memory > 0, "{machine:?}");
        assert!(machine.system.starts_with("Linux "), "{machine:?}");
        assert_eq!(machine.file_system, "proc");
        assert!(peak_memory().unwrap() > 1 << 20);
        assert!(resident_memory().unwrap() <= peak_memory().unwrap());
        let before = open_handles().unwrap();
        let _files: Vec<_> = (0..100).map(|_| fs::File::open("/proc/self/status")).collect();
        assert!(open_handles().unwrap() >= before + 50, "other tests may close some meanwhile");
    }
}
