//! The entries of a stretch: an array that is made once.
//!
//! A large array, as each flush makes one, has pages of its own. They return to the system with it.
//! The allocator may keep freed memory of such sizes: glibc keeps it in an arena for each thread
//! that ever flushed. (Measured: 65 MB of holes after five flushes on nine threads.)

use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

use crate::order::stretch::Entry;

/// From this size on an array has pages of its own.
const MAPPED_FROM: usize = 64 << 10;

/// From this size on an array asks for huge pages: for a million keys the system maps 8 of them
/// instead of 4096 small ones.
#[cfg(all(target_os = "linux", not(miri)))]
const HUGE_FROM: usize = 4 << 20;

pub(crate) struct Entries {
    len: usize,
    memory: Memory,
}

enum Memory {
    Heap(Box<[Entry]>),
    /// Holds at least `len` entries, all written.
    Mapped(MmapMut),
}

impl Entries {
    /// Collects the entries that an iterator gives; there are `len` of them.
    ///
    /// # Panics
    /// Panics if the iterator gives more or fewer.
    pub(crate) fn of(len: usize, entries: impl Iterator<Item = Entry>) -> Entries {
        let bytes = len * size_of::<Entry>();
        let mapped = if bytes < MAPPED_FROM { None } else { map(bytes) };
        let memory = match mapped {
            Some(mut pages) => {
                fill(&mut pages, len, entries);
                Memory::Mapped(pages)
            }
            None => {
                let mut array = Vec::with_capacity(len);
                array.extend(entries);
                assert_eq!(array.len(), len, "as many entries as announced");
                Memory::Heap(array.into())
            }
        };
        Entries { len, memory }
    }
}

fn map(bytes: usize) -> Option<MmapMut> {
    let pages = MmapMut::map_anon(bytes).ok()?;
    #[cfg(all(target_os = "linux", not(miri)))]
    if bytes >= HUGE_FROM {
        // Advice. A system without huge pages refuses it, and the array has small ones.
        let _ = pages.advise(memmap2::Advice::HugePage);
    }
    Some(pages)
}

fn fill(pages: &mut MmapMut, len: usize, entries: impl Iterator<Item = Entry>) {
    // SAFETY: any bytes are valid as `MaybeUninit`.
    let (before, slots, _) = unsafe { pages.align_to_mut::<MaybeUninit<Entry>>() };
    assert!(before.is_empty() && slots.len() >= len, "pages are aligned for entries");
    let mut written = 0;
    for (slot, entry) in slots[..len].iter_mut().zip(entries) {
        slot.write(entry);
        written += 1;
    }
    assert_eq!(written, len, "as many entries as announced");
}

impl Deref for Entries {
    type Target = [Entry];

    #[inline]
    fn deref(&self) -> &[Entry] {
        match &self.memory {
            Memory::Heap(entries) => entries,
            // SAFETY: `of` wrote `len` entries there, at the start of a page.
            Memory::Mapped(pages) => unsafe {
                std::slice::from_raw_parts(pages.as_ptr().cast(), self.len)
            },
        }
    }
}

impl DerefMut for Entries {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Entry] {
        match &mut self.memory {
            Memory::Heap(entries) => entries,
            // SAFETY: as above; and borrowed mutably, as the pages are.
            Memory::Mapped(pages) => unsafe {
                std::slice::from_raw_parts_mut(pages.as_mut_ptr().cast(), self.len)
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(n: usize) -> Entry {
        Entry { prefix: n as u64 * 3, node: n as u32 }
    }

    #[test]
    fn an_array_holds_what_it_was_made_of_whatever_its_size() {
        let least_mapped = MAPPED_FROM / size_of::<Entry>();
        for len in [0, 1, least_mapped - 1, least_mapped, least_mapped + 4097] {
            let mut entries = Entries::of(len, (0..len).map(entry));
            assert_eq!(entries.len(), len);
            entries.reverse();
            let reversed = entries.iter().enumerate();
            assert!(reversed.clone().all(|(at, entry)| entry.node as usize == len - 1 - at));
            assert!(reversed.clone().all(|(_, entry)| entry.prefix == u64::from(entry.node) * 3));
        }
    }

    #[test]
    #[should_panic(expected = "as many entries as announced")]
    fn entries_that_were_announced_and_are_missing_are_no_array() {
        Entries::of(MAPPED_FROM, (0..10).map(entry));
    }
}
