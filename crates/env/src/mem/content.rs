//! The bytes of one file, in two images: the current one, and the one on the medium.
//!
//! An image is sparse pages shared by reference, so that a sync, a crash or a copy of the whole
//! file system costs pointers. Invariants: no page of an image lies beyond its length, the last
//! page is zero beyond it, and a page in which the two images differ is `dirty` or `abandoned`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

/// Bytes that reach the medium together.
pub(super) const PAGE: u64 = 4096;

type Page = [u8; PAGE as usize];

/// One state of a file. Missing pages read as zeroes.
#[derive(Clone, Default)]
struct Image {
    len: u64,
    pages: BTreeMap<u64, Arc<Page>>,
}

impl Image {
    /// Fills `buf` from `offset`; both end within the image.
    fn read(&self, mut buf: &mut [u8], mut offset: u64) {
        while !buf.is_empty() {
            let (page, start, count) = within_page(offset, buf.len());
            let (head, rest) = buf.split_at_mut(count);
            match self.pages.get(&page) {
                Some(bytes) => head.copy_from_slice(&bytes[start..start + count]),
                None => head.fill(0),
            }
            buf = rest;
            offset += count as u64;
        }
    }

    fn write(&mut self, mut bytes: &[u8], mut offset: u64) {
        self.len = self.len.max(offset + bytes.len() as u64);
        while !bytes.is_empty() {
            let (page, start, count) = within_page(offset, bytes.len());
            let (head, rest) = bytes.split_at(count);
            let target = self.pages.entry(page).or_insert_with(|| Arc::new([0; PAGE as usize]));
            Arc::make_mut(target)[start..start + count].copy_from_slice(head);
            bytes = rest;
            offset += count as u64;
        }
    }

    fn set_len(&mut self, len: u64) {
        self.len = len;
        self.pages.split_off(&len.div_ceil(PAGE));
        if let Some(tail) = self.pages.get_mut(&(len / PAGE)) {
            Arc::make_mut(tail)[(len % PAGE) as usize..].fill(0);
        }
    }

    /// Copies one page of `other`, present or missing; the length stays.
    fn copy_page(&mut self, page: u64, other: &Image) {
        match other.pages.get(&page) {
            Some(bytes) => self.pages.insert(page, Arc::clone(bytes)),
            None => self.pages.remove(&page),
        };
    }
}

/// Returns the page of `offset`, the offset in it, and how many of `wanted` bytes follow in it.
fn within_page(offset: u64, wanted: usize) -> (u64, usize, usize) {
    let start = (offset % PAGE) as usize;
    (offset / PAGE, start, wanted.min(PAGE as usize - start))
}

/// Both images of a file, and the pages in which they may differ.
#[derive(Clone, Default)]
pub(super) struct Content {
    current: Image,
    durable: Image,
    /// Pages written or cut since the last sync.
    dirty: BTreeSet<u64>,
    /// Pages whose sync failed: the kernel takes them for clean, so no later sync writes them.
    abandoned: BTreeSet<u64>,
    /// Smallest length since the last sync.
    floor: u64,
}

impl Content {
    /// Makes a file whose bytes are all on the medium: both images are `image`.
    fn settled(image: Image) -> Content {
        Content { floor: image.len, current: image.clone(), durable: image, ..Content::default() }
    }

    pub(super) fn len(&self) -> u64 {
        self.current.len
    }

    pub(super) fn read_exact(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let end = offset.checked_add(buf.len() as u64);
        if end.is_none_or(|end| end > self.current.len) && !buf.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.current.read(buf, offset);
        Ok(())
    }

    pub(super) fn write(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let end = offset.checked_add(bytes.len() as u64).filter(|end| *end <= i64::MAX as u64);
        let end = end.ok_or(io::ErrorKind::FileTooLarge)?;
        self.current.write(bytes, offset);
        self.dirty.extend(offset / PAGE..=(end - 1) / PAGE);
        Ok(())
    }

    /// Extends the file to `len` if it is shorter.
    pub(super) fn extend(&mut self, len: u64) {
        self.current.len = self.current.len.max(len);
    }

    pub(super) fn truncate(&mut self, len: u64) {
        if let Some((&last, _)) = self.current.pages.last_key_value() {
            self.dirty.extend(len / PAGE..=last);
        }
        self.current.set_len(len);
        self.floor = self.floor.min(len);
    }

    pub(super) fn sync(&mut self) {
        for page in std::mem::take(&mut self.dirty) {
            self.durable.copy_page(page, &self.current);
        }
        self.durable.set_len(self.current.len);
        self.floor = self.current.len;
    }

    /// Fails a sync: no dirty page reaches the medium, and no later sync writes these pages.
    pub(super) fn fail_sync(&mut self) {
        self.abandoned.append(&mut self.dirty);
    }

    /// Returns the outcome of a power loss in which nothing unsynced survived.
    pub(super) fn crash(&self) -> Content {
        Content::settled(self.durable.clone())
    }

    /// Returns a random possible outcome of a power loss.
    pub(super) fn crash_with(&self, rng: &mut fastrand::Rng) -> Content {
        let mut image = self.durable.clone();
        let fate = Fate::draw(rng);
        for page in self.dirty.union(&self.abandoned) {
            if fate.survives(rng) {
                image.copy_page(*page, &self.current);
            }
        }
        image.set_len(self.surviving_len(rng));
        Content::settled(image)
    }

    /// Returns the synced length, the current length, or a multiple of the page size that the file
    /// may have had in between.
    fn surviving_len(&self, rng: &mut fastrand::Rng) -> u64 {
        let (current, durable) = (self.current.len, self.durable.len);
        debug_assert!(self.floor <= durable, "a file's floor is a length that it had at a sync");
        let ceiling = current.max(durable);
        match rng.u8(..3) {
            0 => durable,
            1 => current,
            _ => {
                let pages = rng.u64(self.floor.div_ceil(PAGE)..=ceiling.div_ceil(PAGE));
                (pages * PAGE).min(ceiling)
            }
        }
    }
}

/// The effect of a power loss on a file's unsynced pages, or on a directory's unsynced changes.
/// "All" and "none" are separate cases: a random choice for each page of a large file would
/// practically never produce them.
pub(super) enum Fate {
    None,
    All,
    Some,
}

impl Fate {
    pub(super) fn draw(rng: &mut fastrand::Rng) -> Fate {
        match rng.u8(..4) {
            0 => Fate::None,
            1 => Fate::All,
            _ => Fate::Some,
        }
    }

    pub(super) fn survives(&self, rng: &mut fastrand::Rng) -> bool {
        match self {
            Fate::None => false,
            Fate::All => true,
            Fate::Some => rng.bool(),
        }
    }
}
