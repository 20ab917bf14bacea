//! Splits chunks of input into lines.

use crate::exit::Outcome;

/// Longest line, in bytes. It bounds the memory that any input takes.
pub(super) const MAX_LEN: usize = 64 << 20;

/// A line went beyond [`MAX_LEN`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineTooLong;

/// Cuts chunks at newlines. Lines end in `\n` or `\r\n`; the last line may have no line end.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The bytes so far of the line that the next chunk continues.
    begun: Vec<u8>,
}

impl Lines {
    /// Passes the lines that end in `chunk` to `each`, until `each` returns an error.
    pub(super) fn feed(
        &mut self,
        chunk: &[u8],
        each: &mut dyn FnMut(&[u8]) -> Outcome,
    ) -> Result<Outcome, LineTooLong> {
        let mut rest = chunk;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, behind) = (&rest[..end], &rest[end + 1..]);
            let outcome = if self.begun.is_empty() {
                each(without_return(line))
            } else {
                self.extend(line)?;
                let outcome = each(without_return(&self.begun));
                self.begun.clear();
                outcome
            };
            if outcome.is_err() {
                return Ok(outcome);
            }
            rest = behind;
        }
        self.extend(rest)?;
        Ok(Ok(()))
    }

    /// Passes the last line to `each`, if it has no newline.
    pub(super) fn finish(
        &mut self,
        each: &mut dyn FnMut(&[u8]) -> Outcome,
    ) -> Result<Outcome, LineTooLong> {
        let last = std::mem::take(&mut self.begun);
        Ok(if last.is_empty() { Ok(()) } else { each(&last) })
    }

    /// Whether the input ended inside a line.
    pub(super) fn is_inside(&self) -> bool {
        !self.begun.is_empty()
    }

    fn extend(&mut self, part: &[u8]) -> Result<(), LineTooLong> {
        if self.begun.len() + part.len() > MAX_LEN {
            return Err(LineTooLong);
        }
        self.begun.extend_from_slice(part);
        Ok(())
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    fn split(input: &[u8], chunk_len: usize) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        let mut each = |line: &[u8]| {
            found.push(line.to_vec());
            Ok(())
        };
        let mut lines = Lines::default();
        for chunk in input.chunks(chunk_len) {
            lines.feed(chunk, &mut each).unwrap().unwrap();
        }
        lines.finish(&mut each).unwrap().unwrap();
        found
    }

    #[test]
    fn lines_are_the_same_however_the_input_is_cut() {
        let input = b"a\r\nb\n\n\r\n\xff\0\tx\ty\r\r\nlast\r";
        let expected: [&[u8]; 6] = [b"a", b"b", b"", b"", b"\xff\0\tx\ty\r", b"last\r"];
        for chunk_len in 1..=input.len() {
            assert_eq!(split(input, chunk_len), expected, "chunks of {chunk_len}");
        }
        assert!(split(b"", 1).is_empty());
    }

    #[test]
    fn a_refused_line_is_the_last() {
        let mut seen = 0;
        let mut each = |line: &[u8]| {
            seen += 1;
            if line == b"b" { Err(Exit::failed("no")) } else { Ok(()) }
        };
        let outcome = Lines::default().feed(b"a\nb\nc\n", &mut each);
        assert_eq!(outcome, Ok(Err(Exit::failed("no"))));
        assert_eq!(seen, 2);
    }

    #[test]
    fn a_huge_line_is_refused() {
        let mut lines = Lines::default();
        let chunk = vec![b'x'; 1 << 20];
        let mut each = |_: &[u8]| panic!("no line ends here");
        for _ in 0..64 {
            lines.feed(&chunk, &mut each).unwrap().unwrap();
        }
        assert_eq!(lines.feed(b"x", &mut each), Err(LineTooLong));
    }
}
