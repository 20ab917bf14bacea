//! The calls of Windows that the standard library lacks. All `unsafe` code of `portable` is here.

use std::io;
use std::os::windows::ffi::OsStrExt;
use std::path::{Component, Path, Prefix};

use windows_sys::Win32::Foundation::ERROR_ACCESS_DENIED;
use windows_sys::Win32::Storage::FileSystem::{
    GetDiskFreeSpaceExW, MOVEFILE_REPLACE_EXISTING, MOVEFILE_WRITE_THROUGH, MoveFileExW,
};

/// Renames a file and replaces the target. The new name is on the disk when this returns, if the
/// file system can do that.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    let flags = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
    let (old, new) = (wide(from)?, wide(to)?);
    // SAFETY: both end with a zero and live until the call returns.
    if unsafe { MoveFileExW(old.as_ptr(), new.as_ptr(), flags) } != 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(ERROR_ACCESS_DENIED as i32) {
        // An older Windows lets this call replace no open file. The standard library then replaces
        // it in the way of POSIX.
        return std::fs::rename(from, to);
    }
    Err(error)
}

/// Returns the free bytes that the caller may take on the disk of a directory.
pub(super) fn free_space(directory: &Path) -> Option<u64> {
    let directory = wide(directory).ok()?;
    let mut free = 0;
    let unwanted = std::ptr::null_mut();
    // SAFETY: the path ends with a zero, `free` takes the answer, and the other two may be null.
    let is_known =
        unsafe { GetDiskFreeSpaceExW(directory.as_ptr(), &mut free, unwanted, unwanted) };
    (is_known != 0).then_some(free)
}

/// Returns a path as Windows takes it: UTF-16 and a zero. A path from the root gets the prefix that
/// lifts the limit of 260 characters.
fn wide(path: &Path) -> io::Result<Vec<u16>> {
    let path = std::path::absolute(path)?;
    let whole: Vec<u16> = path.as_os_str().encode_wide().collect();
    if whole.contains(&0) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path holds a zero"));
    }
    let (prefix, rest) = match path.components().next() {
        Some(Component::Prefix(prefix)) => match prefix.kind() {
            Prefix::Disk(_) => (r"\\?\", &whole[..]),
            // `\\server\share`
            Prefix::UNC(..) => (r"\\?\UNC\", &whole[2..]),
            _ => ("", &whole[..]),
        },
        _ => ("", &whole[..]),
    };
    Ok(prefix.encode_utf16().chain(rest.iter().copied()).chain([0]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str) -> String {
        let wide = wide(Path::new(path)).unwrap();
        String::from_utf16(wide.strip_suffix(&[0]).unwrap()).unwrap()
    }

    #[test]
    fn a_path_from_the_root_may_be_long() {
        assert_eq!(text(r"C:\a\b"), r"\\?\C:\a\b");
        assert_eq!(text("C:/a/./b"), r"\\?\C:\a\b");
        assert_eq!(text(r"\\server\share\a"), r"\\?\UNC\server\share\a");
        assert_eq!(text(r"\\?\C:\a"), r"\\?\C:\a");
        assert_eq!(text(r"\\?\UNC\server\share\a"), r"\\?\UNC\server\share\a");
        assert_eq!(text(r"\\.\pipe\a"), r"\\.\pipe\a");
        assert!(text("a").starts_with(r"\\?\"), "a relative path becomes absolute");
        assert!(wide(Path::new("a\0b")).is_err());
    }

    #[test]
    fn the_free_space_of_a_disk_is_known() {
        let directory = tempfile::tempdir().unwrap();
        assert!(free_space(directory.path()).is_some_and(|free| free > 0));
        assert_eq!(free_space(&directory.path().join("missing")), None);
    }
}
