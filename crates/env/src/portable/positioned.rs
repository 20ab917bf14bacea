//! Reads and writes at an offset. The standard library has them under other names on each system,
//! and one call may transfer only a part.

use std::fs::File;
use std::io;

#[cfg(not(any(unix, windows)))]
compile_error!("foldb has no positioned reads and writes for this operating system");

#[cfg(unix)]
mod calls {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::FileExt;

    pub(super) fn read(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        file.read_at(buf, offset)
    }

    pub(super) fn write(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
        file.write_at(bytes, offset)
    }
}

/// These calls also move the position of the handle, which this crate never uses.
#[cfg(windows)]
mod calls {
    use std::fs::File;
    use std::io;
    use std::os::windows::fs::FileExt;

    pub(super) fn read(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        file.seek_read(buf, offset)
    }

    pub(super) fn write(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
        file.seek_write(bytes, offset)
    }
}

/// Fills `buf` from `offset`.
pub(super) fn read_exact_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<()> {
    let len = buf.len();
    let read = |done: usize| calls::read(file, &mut buf[done..], offset + done as u64);
    repeat(len, io::ErrorKind::UnexpectedEof, read)
}

/// Writes all of `bytes` at `offset`.
pub(super) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    let write = |done: usize| calls::write(file, &bytes[done..], offset + done as u64);
    repeat(bytes.len(), io::ErrorKind::WriteZero, write)
}

/// Repeats `call` until it has transferred `len` bytes. `call` gets the number of bytes transferred
/// so far.
fn repeat(
    len: usize,
    at_end: io::ErrorKind,
    mut call: impl FnMut(usize) -> io::Result<usize>,
) -> io::Result<()> {
    let mut done = 0;
    while done < len {
        match call(done) {
            Ok(0) => return Err(at_end.into()),
            Ok(more) => done += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_or_interrupted_call_is_repeated_for_the_rest() {
        let mut asked = Vec::new();
        let answers = [Ok(3), Err(io::ErrorKind::Interrupted), Ok(2), Ok(5)];
        let mut answers = answers.into_iter();
        let call = |done| {
            asked.push(done);
            answers.next().expect("no call after the last byte").map_err(io::Error::from)
        };
        repeat(10, io::ErrorKind::WriteZero, call).unwrap();
        assert_eq!(asked, [0, 3, 3, 5]);
    }

    #[test]
    fn a_call_that_transfers_nothing_ends_the_repetition() {
        let ended = repeat(2, io::ErrorKind::UnexpectedEof, |done| Ok(1 - done)).unwrap_err();
        assert_eq!(ended.kind(), io::ErrorKind::UnexpectedEof);
    }
}
