//! Writes a table. Its parts are in [`crate::table`].
//!
//! Invariant: the index gets the entry of a block when the next key is known. Its key can then be a
//! short one between the last key of the block and the next.

use crate::Order;
use crate::block::BlockBuilder;
use crate::filter::{FilterBuilder, Policy};
use crate::table::{Footer, Handle, Packer, trailer};

/// The file of a table.
pub trait Output {
    /// Why a write fails.
    type Error;

    /// Appends bytes.
    ///
    /// # Errors
    /// Fails if the write does.
    fn append(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Called after each data block.
    ///
    /// # Errors
    /// Fails if the write does.
    fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// The choices of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes that fill a data block.
    pub block_size: usize,
    /// Entries of a data block between two restarts.
    pub restart_interval: usize,
    /// Whether Snappy compresses the blocks.
    pub compress: bool,
}

/// LevelDB's defaults.
impl Default for Settings {
    fn default() -> Settings {
        Settings { block_size: 4 << 10, restart_interval: 16, compress: true }
    }
}

/// A table being written. After an error, the table is of no use.
#[derive(Debug)]
pub struct TableBuilder<F, O, P> {
    file: Blocks<F>,
    order: O,
    settings: Settings,
    filter: Option<FilterBuilder<P>>,
    data: BlockBuilder,
    index: BlockBuilder,
    last_key: Vec<u8>,
    entries: u64,
    /// The last data block, if it has no entry in the index yet. Then `data` is empty.
    unlisted: Option<Handle>,
}

impl<F: Output, O: Order, P: Policy> TableBuilder<F, O, P> {
    /// Begins a table.
    pub fn new(file: F, order: O, policy: Option<P>, settings: Settings) -> Self {
        TableBuilder {
            file: Blocks { file, packer: Packer::default(), offset: 0 },
            order,
            settings,
            filter: policy.map(FilterBuilder::new),
            data: BlockBuilder::new(settings.restart_interval),
            // Every entry of the index is a restart: a search then needs no scan.
            index: BlockBuilder::new(1),
            last_key: Vec::new(),
            entries: 0,
            unlisted: None,
        }
    }

    /// Sets the choices from the next entry on.
    pub fn set(&mut self, settings: Settings) {
        self.settings = settings;
        self.data.set_interval(settings.restart_interval);
    }

    /// Returns the file.
    pub fn file(&self) -> &F {
        &self.file.file
    }

    /// Gives the file back.
    pub fn into_file(self) -> F {
        self.file.file
    }

    /// Returns the number of added entries.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Returns the bytes of the blocks that are written.
    pub fn written(&self) -> u64 {
        self.file.offset
    }

    /// Returns the bytes of the table so far, with the data block that is not written yet.
    pub fn len(&self) -> u64 {
        self.file.offset + self.data.len() as u64
    }

    /// Returns whether no entry was added.
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Adds an entry. Its key is behind the last one.
    ///
    /// # Errors
    /// Fails if a write does.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), F::Error> {
        debug_assert!(
            self.entries == 0 || self.order.compare(key, &self.last_key).is_gt(),
            "the keys do not ascend"
        );
        if let Some(block) = self.unlisted.take() {
            self.order.separator(&mut self.last_key, key);
            add_handle(&mut self.index, &self.last_key, block);
        }
        if let Some(filter) = &mut self.filter {
            filter.add(key);
        }
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        self.entries += 1;
        self.data.add(key, value);
        if self.data.len() >= self.settings.block_size { self.flush() } else { Ok(()) }
    }

    /// Ends the present data block.
    ///
    /// # Errors
    /// Fails if a write does.
    pub fn flush(&mut self) -> Result<(), F::Error> {
        if self.data.is_empty() {
            return Ok(());
        }
        let block = self.file.write(self.data.finish(), self.settings.compress)?;
        self.data.clear();
        self.unlisted = Some(block);
        self.file.file.flush()?;
        if let Some(filter) = &mut self.filter {
            filter.start_block(self.file.offset);
        }
        Ok(())
    }

    /// Writes the rest of the table.
    ///
    /// # Errors
    /// Fails if a write does.
    pub fn finish(&mut self) -> Result<(), F::Error> {
        self.flush()?;
        let mut metaindex = BlockBuilder::new(self.settings.restart_interval);
        if let Some(filter) = self.filter.take() {
            let (name, block) = filter.finish();
            let block = self.file.write(&block, false)?;
            add_handle(&mut metaindex, &name, block);
        }
        let metaindex = self.file.write(metaindex.finish(), self.settings.compress)?;
        if let Some(block) = self.unlisted.take() {
            self.order.successor(&mut self.last_key);
            add_handle(&mut self.index, &self.last_key, block);
        }
        let index = self.file.write(self.index.finish(), self.settings.compress)?;
        self.file.append(&Footer { metaindex, index }.encode())
    }
}

fn add_handle(block: &mut BlockBuilder, key: &[u8], handle: Handle) {
    let mut value = Vec::with_capacity(20);
    handle.append(&mut value);
    block.add(key, &value);
}

/// A file of blocks.
#[derive(Debug)]
struct Blocks<F> {
    file: F,
    packer: Packer,
    /// Bytes that were written.
    offset: u64,
}

impl<F: Output> Blocks<F> {
    /// Writes a block, compressed if that is asked and worth it. Returns where it is.
    fn write(&mut self, contents: &[u8], compress: bool) -> Result<Handle, F::Error> {
        let packed = compress.then(|| self.packer.pack(contents)).flatten();
        let stored = packed.unwrap_or(contents);
        let trailer = trailer(stored, packed.is_some());
        let handle = Handle { offset: self.offset, len: stored.len() as u64 };
        self.file.append(stored)?;
        self.file.append(&trailer)?;
        self.offset += handle.len + trailer.len() as u64;
        Ok(handle)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), F::Error> {
        self.file.append(bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}

/// The policy of a table without filters.
#[derive(Clone, Copy, Debug)]
pub enum NoPolicy {}

impl Policy for NoPolicy {
    fn name(&self) -> &[u8] {
        match *self {}
    }

    fn create(&self, _: &[&[u8]], _: &mut Vec<u8>) {
        match *self {}
    }

    fn may_match(&self, _: &[u8], _: &[u8]) -> bool {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bytewise;
    use crate::cursor::{Source, TableCursor};
    use crate::table::{Contents, Damage, FOOTER, TRAILER, unpack};

    impl Output for Vec<u8> {
        type Error = std::convert::Infallible;

        fn append(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
            self.extend_from_slice(bytes);
            Ok(())
        }
    }

    /// A table in memory.
    struct Bytes<'a>(&'a [u8]);

    impl Source for Bytes<'_> {
        type Block = Vec<u8>;
        type Error = Damage;
        type Order = Bytewise;

        fn order(&self) -> &Bytewise {
            &Bytewise
        }

        fn block(&mut self, handle: Handle) -> Result<Vec<u8>, Damage> {
            let stored = handle.stored(self.0.len() as u64).ok_or(Damage::Outside)?;
            let stored = &self.0[handle.offset as usize..][..stored];
            Ok(match unpack(stored, true)? {
                Contents::Plain => stored[..stored.len() - TRAILER].to_vec(),
                Contents::Decompressed(contents) => contents,
            })
        }

        fn damaged(&mut self, damage: Damage, _: Option<Handle>) -> Damage {
            damage
        }
    }

    type Entries = Vec<(Vec<u8>, Vec<u8>)>;

    fn entries() -> Entries {
        let entry = |n: u32| (format!("key{n:05}").into_bytes(), vec![n as u8; n as usize % 70]);
        (0..3000).map(entry).collect()
    }

    fn table(settings: Settings) -> Vec<u8> {
        let mut builder = TableBuilder::new(Vec::new(), Bytewise, None::<NoPolicy>, settings);
        for (key, value) in entries() {
            let Ok(()) = builder.add(&key, &value);
        }
        let Ok(()) = builder.finish();
        assert_eq!((builder.entries(), builder.written()), (3000, builder.file().len() as u64));
        builder.into_file()
    }

    fn cursor(table: &[u8]) -> Result<TableCursor<Bytes<'_>>, Damage> {
        let at = table.len().checked_sub(FOOTER).ok_or(Damage::FooterLength)?;
        let mut source = Bytes(table);
        let index = source.block(Footer::decode(&table[at..])?.index)?;
        Ok(TableCursor::new(source, index))
    }

    fn forward(cursor: &mut TableCursor<Bytes<'_>>) -> Entries {
        let mut found = Vec::new();
        cursor.first();
        while cursor.is_valid() {
            found.push((cursor.key().to_vec(), cursor.value().to_vec()));
            cursor.next();
        }
        found
    }

    #[test]
    fn a_table_is_read_as_written_in_both_directions() {
        for (block_size, restart_interval, compress) in
            [(1, 1, false), (300, 4, true), (4096, 16, true), (1 << 20, 16, false)]
        {
            let table = table(Settings { block_size, restart_interval, compress });
            let mut cursor = cursor(&table).unwrap();
            assert!(forward(&mut cursor) == entries());
            cursor.last();
            for (key, value) in entries().iter().rev() {
                assert_eq!((cursor.key(), cursor.value()), (&key[..], &value[..]));
                cursor.prev();
            }
            assert!(!cursor.is_valid());
            cursor.seek(b"key01234x");
            assert_eq!(cursor.key(), b"key01235");
            cursor.seek(b"z");
            assert!(!cursor.is_valid() && cursor.seek_index(b"z").is_none());
            cursor.find_in_block(b"z");
            assert!(!cursor.is_valid() && cursor.seek_index(b"key01234x").is_some());
            cursor.find_in_block(b"key01234x");
            assert!([&b"key01235"[..], b""].contains(&cursor.key()));
            assert_eq!((cursor.error(), cursor.index_damage()), (None, None));
        }
    }

    #[test]
    fn a_damaged_block_is_skipped_and_reported() {
        let mut table = table(Settings::default());
        let mut whole = cursor(&table).unwrap();
        whole.seek(b"key01500");
        let damaged = whole.handle().unwrap();
        table[damaged.offset as usize + 20] ^= 1;
        let mut cursor = cursor(&table).unwrap();
        let found = forward(&mut cursor);
        assert!(!found.is_empty() && found.len() < 3000);
        assert_eq!(cursor.error(), Some(&Damage::Checksum));
        assert!(found.iter().all(|entry| entries().binary_search(entry).is_ok()));
        assert_eq!(cursor.take_error(), Some(Damage::Checksum));
    }

    #[test]
    fn no_damage_panics() {
        let good = table(Settings { block_size: 2000, ..Settings::default() });
        for at in (0..good.len()).step_by(7).chain(good.len() - 400..good.len()) {
            let mut table = good.clone();
            table[at] ^= 0x21;
            if let Ok(mut cursor) = cursor(&table) {
                cursor.first();
                cursor.last();
                cursor.seek(b"key01500");
                cursor.prev();
            }
            let _ = cursor(&good[..at]).map(|mut cursor| cursor.first());
        }
    }
}
