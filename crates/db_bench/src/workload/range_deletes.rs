//! The range deletes between the writes of fills and of background writers.

use foldb::WriteBatch;

use crate::flags::Flags;
use crate::keys::{Key, KeyForm};
use crate::recorder::Recorder;

/// Deletes a range each time that the writer has made the number of writes of a flag.
pub(super) struct RangeDeletes<'a> {
    flags: &'a Flags,
    first: Key,
    last: Key,
    written: u64,
    deletes: u64,
}

impl<'a> RangeDeletes<'a> {
    /// Returns the range deletes of the flags; `None` if there are none.
    pub(super) fn new(flags: &'a Flags, form: KeyForm) -> Option<RangeDeletes<'a>> {
        let (first, last) = (Key::new(form), Key::new(form));
        let some = flags.writes_per_range_tombstone > 0;
        some.then_some(RangeDeletes { flags, first, last, written: 0, deletes: 0 })
    }

    /// Counts a write, and returns itself if a range delete follows it.
    pub(super) fn after_write<'b>(
        this: &'b mut Option<RangeDeletes<'a>>,
    ) -> Option<&'b mut RangeDeletes<'a>> {
        let deletes = this.as_mut()?;
        deletes.are_due().then_some(deletes)
    }

    fn are_due(&mut self) -> bool {
        self.written += 1;
        let every = self.flags.writes_per_range_tombstone;
        let Some(after) = self.written.checked_sub(self.flags.writes_before_delete_range) else {
            return false;
        };
        after > 0 && after % every == 0 && after / every <= self.flags.max_num_range_tombstones
    }

    /// Deletes the keys from `begin` on.
    pub(super) fn add_to(&mut self, batch: &mut WriteBatch, begin: u64) {
        self.deletes += 1;
        let end = begin.saturating_add(self.flags.range_tombstone_width);
        if self.flags.expand_range_tombstones {
            for number in begin..end {
                batch.delete(self.first.set(number));
            }
        } else if begin < end {
            batch.delete_range(self.first.set(begin)..self.last.set(end));
        }
    }

    /// Notes how many there were.
    pub(super) fn tell(&self, recorder: &mut Recorder) {
        if self.deletes > 0 {
            recorder.note(format!("Number of range deletions: {}", self.deletes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_delete_follows_every_so_many_writes_until_there_are_enough() {
        let flags = Flags {
            writes_before_delete_range: 10,
            writes_per_range_tombstone: 5,
            max_num_range_tombstones: 2,
            ..Flags::default()
        };
        let form = KeyForm { size: 16, ..KeyForm::default() };
        let mut deletes = RangeDeletes::new(&flags, form).unwrap();
        let due: Vec<u64> = (1..=40).filter(|_| deletes.are_due()).collect();
        assert_eq!(due, [15, 20]);
        assert!(RangeDeletes::new(&Flags::default(), form).is_none());
    }
}
