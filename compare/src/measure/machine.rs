//! Which machine this is, and which foldb.

use std::fs;
use std::path::Path;
use std::process::Command;

use foldb_report::results::Machine;

/// The machine, with the file system under `directory`.
pub fn machine(directory: &Path) -> Machine {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "model name").then(|| value.trim().to_owned())
    });
    Machine {
        processor: model.unwrap_or_default(),
        cores: std::thread::available_parallelism().map_or(0, |cores| cores.get() as u32),
        memory: memory().unwrap_or(0),
        system: system(),
        file_system: file_system(directory).unwrap_or_default(),
    }
}

fn memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

fn system() -> String {
    let read = |name| fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
    format!("{} {}", read("ostype").trim(), read("osrelease").trim())
}

/// The type of the mount that holds `directory`: the one whose point is the longest beginning.
fn file_system(directory: &Path) -> Option<String> {
    let directory = directory.canonicalize().ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mounts = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (point, kind) = (fields.next()?, fields.next()?);
        directory.starts_with(point).then_some((point.len(), kind))
    });
    mounts.max_by_key(|(length, _)| *length).map(|(_, kind)| kind.to_owned())
}

/// The commit of foldb this program was built from, `-dirty` if files differ from it.
pub fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(arguments)
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return "unknown".to_owned();
    };
    match git(&["status", "--porcelain", "--untracked-files=no"]) {
        Some(changes) if !changes.is_empty() => format!("{commit}-dirty"),
        _ => commit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described() {
        let machine = machine(Path::new("/proc"));
        assert!(machine.cores > 0 && machine.memory > 0, "{machine:?}");
        assert!(machine.system.starts_with("Linux "), "{machine:?}");
        assert_eq!(machine.file_system, "proc");
    }
}
