//! A thread that compresses and writes the sub-blocks of a table while its builder encodes more.
//!
//! Sub-blocks travel in *batches*, because waking a thread costs as much as compressing a few of
//! them. The batches are a small ring: the builder fills one, the others wait for the helper or are
//! empty. A builder without an empty batch waits for the helper, so the memory is bounded.
//!
//! ```text
//! builder ── fills ──►  waiting  ── helper compresses and writes ──►  empty  ──► builder
//! ```
//!
//! The helper ends with its last batch, at its first error or with a panic, and leaves its outcome.
//! The builder gets an error with the next sub-block that it ends, or at the end; a panic goes on
//! in the builder's thread. A builder that is dropped ends its helper and waits for it.
//!
//! A fork has a copy of the builder and no helper. It must neither wait for one nor take the lock,
//! which the helper may have held at the fork.
//!
//! The builder encodes a sub-block in a chunk of its own and copies it to the batch. The lines of
//! the batch are in the helper's cache, and each waits to come back. The short writes of an encoder
//! would wait for one line after the other, and a copy waits for several at once.
//!
//! Invariant: the helper calls no code of the caller, and holds the lock only to exchange batches.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use foldb_env::{Process, Thread, Threads};

use crate::error::{Error, Result};
use crate::locks::rank::TABLE_BATCHES;
use crate::locks::{Condition, Lock};
use crate::table::block_writer::BlockWriter;
use crate::table::chunk::Chunk;
use crate::table::frame::FRAME_TRAILER;

/// Bytes of sub-blocks in a batch.
const BATCH: usize = 64 << 10;

/// Number of batches.
const BATCHES: usize = 4;

/// Bytes of most sub-blocks, with room for a few records that are larger.
const SUB_BLOCK: usize = 32 << 10;

/// Most bytes of memory that a builder takes for a helper.
pub(crate) const HELPER_BYTES: usize = BATCHES * (3 * BATCH) + 4 * SUB_BLOCK;

/// Most bytes that the file grows by for a sub-block, beside its payload and its separator: its
/// trailer, its entry in a directory, and a directory of one entry.
const MOST_AROUND: usize = FRAME_TRAILER + 30 + FRAME_TRAILER + 4;

/// The builder's side of a helper.
pub(super) struct Helper {
    shared: Arc<Shared>,
    /// `None` once it was joined.
    thread: Option<Thread>,
    process: Process,
    /// The sub-block that is being encoded.
    chunk: Chunk,
    /// The batch that is being filled.
    batch: Batch,
    /// Bytes that the file has at most once the other batches are written.
    written_at_most: u64,
    /// Bytes in memory beside the batch, at the last look.
    elsewhere: usize,
}

struct Shared {
    state: Lock<State, TABLE_BATCHES>,
    /// Signalled when a batch waits, and when no more will come.
    waiting: Condition,
    /// Signalled when a batch is empty, and when the helper has ended.
    emptied: Condition,
    /// Whether the helper has ended. The builder looks at it without the lock.
    has_ended: AtomicBool,
}

struct State {
    /// Before the helper's first step, and after its last one.
    writer: Option<BlockWriter>,
    waiting: VecDeque<Batch>,
    empty: Vec<Batch>,
    /// Whether no more batches come.
    is_closed: bool,
    /// The helper's first error.
    failed: Option<Error>,
    has_ended: bool,
    /// Bytes that the file has at most once all batches are written.
    at_most: u64,
    /// Bytes in memory of the helper's batch and writer.
    helper_bytes: usize,
}

/// Sub-blocks, one after the other.
struct Batch {
    chunk: Chunk,
    separators: Vec<u8>,
    /// Where the payload and the separator of each sub-block end.
    ends: Vec<(usize, usize)>,
}

impl Helper {
    /// Starts a helper that goes on where `writer` is. Returns the writer if no thread starts.
    pub(super) fn start(
        threads: &dyn Threads,
        writer: BlockWriter,
    ) -> std::result::Result<Helper, Box<BlockWriter>> {
        let (at_most, helper_bytes) = (writer.offset(), writer.memory_bytes());
        let shared = Arc::new(Shared {
            state: Lock::new(State {
                writer: Some(writer),
                waiting: VecDeque::with_capacity(BATCHES),
                empty: std::iter::repeat_with(Batch::new).take(BATCHES - 1).collect(),
                is_closed: false,
                failed: None,
                has_ended: false,
                at_most,
                helper_bytes,
            }),
            waiting: Condition::default(),
            emptied: Condition::default(),
            has_ended: AtomicBool::new(false),
        });
        let own = Arc::clone(&shared);
        match threads.spawn("foldb-table", Box::new(move || own.run())) {
            Ok(Some(thread)) => Ok(Helper {
                shared,
                thread: Some(thread),
                process: Process::current(),
                chunk: Chunk::for_bytes(SUB_BLOCK),
                batch: Batch::new(),
                written_at_most: at_most,
                elsewhere: helper_bytes,
            }),
            Ok(None) | Err(_) => {
                let writer = shared.state.lock().writer.take();
                Err(Box::new(writer.expect("a helper that did not start took nothing")))
            }
        }
    }

    /// Returns the chunk that the next sub-block is encoded in.
    #[inline]
    pub(super) fn chunk(&mut self) -> &mut Chunk {
        &mut self.chunk
    }

    /// Returns the bytes that the file has at most with all sub-blocks so far.
    #[inline]
    pub(super) fn file_bytes(&self) -> u64 {
        self.written_at_most + self.batch.file_bytes() + self.chunk.position() as u64
    }

    /// Returns the bytes in memory, those of the helper included.
    pub(super) fn memory_bytes(&self) -> usize {
        self.elsewhere + self.batch.memory_bytes() + self.chunk.memory_bytes()
    }

    /// Ends the sub-block in the chunk.
    ///
    /// # Errors
    /// The error that ended the helper; `Forked` in a fork.
    pub(super) fn end_sub_block(&mut self, separator: &[u8]) -> Result<()> {
        // Relaxed: a hint that spares work. The outcome is read under the lock.
        if self.shared.has_ended.load(Ordering::Relaxed) {
            self.chunk.clear();
            self.check_process()?;
            return Err(self.reason());
        }
        self.batch.add(self.chunk.filled(), separator);
        self.chunk.clear();
        if self.batch.chunk.is_full() { self.hand_over() } else { Ok(()) }
    }

    /// Exchanges the batch for an empty one. Waits until there is one.
    fn hand_over(&mut self) -> Result<()> {
        self.check_process()?;
        let shared = &self.shared;
        let mut state = shared.state.lock();
        state.at_most += self.batch.file_bytes();
        state.waiting.push_back(std::mem::replace(&mut self.batch, Batch::new()));
        shared.waiting.notify_one();
        state =
            shared.emptied.wait_while(state, |state| state.empty.is_empty() && !state.has_ended);
        if state.has_ended {
            drop(state);
            return Err(self.reason());
        }
        self.batch = state.empty.pop().expect("the wait ended with an empty batch");
        self.written_at_most = state.at_most;
        let batches = state.waiting.iter().chain(&state.empty).map(Batch::memory_bytes);
        self.elsewhere = batches.sum::<usize>() + state.helper_bytes;
        Ok(())
    }

    /// Gives the helper the last batch and waits until all are written. Returns the writer.
    ///
    /// # Errors
    /// As [`Helper::end_sub_block`].
    pub(super) fn finish(&mut self) -> Result<BlockWriter> {
        self.check_process()?;
        let mut state = self.shared.state.lock();
        state.waiting.push_back(std::mem::replace(&mut self.batch, Batch::new()));
        state.is_closed = true;
        drop(state);
        self.shared.waiting.notify_one();
        self.join();
        let mut state = self.shared.state.lock();
        match &state.failed {
            Some(error) => Err(error.clone()),
            None => Ok(state.writer.take().expect(PANICKED)),
        }
    }

    /// Returns why the helper has ended early. Its panic goes on here.
    #[cold]
    fn reason(&mut self) -> Error {
        self.join();
        let state = self.shared.state.lock();
        state.failed.clone().expect(PANICKED)
    }

    /// Waits for the helper's end. Its panic goes on here.
    fn join(&mut self) {
        let ended = self.thread.take().map_or(Ok(()), Thread::join);
        ended.unwrap_or_else(|panic| resume_unwind(panic));
    }

    fn check_process(&self) -> Result<()> {
        if self.process.is_current() { Ok(()) } else { Err(Error::forked()) }
    }
}

const PANICKED: &str = "the helper that wrote this table has panicked";

impl Drop for Helper {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if !self.process.is_current() {
            // It is a thread of the parent.
            std::mem::forget(thread);
            return;
        }
        let mut state = self.shared.state.lock();
        state.is_closed = true;
        state.waiting.clear();
        drop(state);
        self.shared.waiting.notify_one();
        // The table is given up, and a panic with it.
        let _panicked = thread.join();
    }
}

impl Shared {
    /// The helper: writes batches until no more come.
    fn run(&self) {
        // Dropped last, also by a panic.
        let _end = End(self);
        let Some(mut writer) = self.state.lock().writer.take() else { return };
        while let Some(batch) = self.next() {
            let outcome = batch.write_to(&mut writer);
            let mut state = self.state.lock();
            if let Err(error) = outcome {
                state.failed = Some(error);
                return;
            }
            state.give_back(batch, &writer);
            drop(state);
            self.emptied.notify_one();
        }
        self.state.lock().writer = Some(writer);
    }

    /// Waits for a batch; `None` if no more come.
    fn next(&self) -> Option<Batch> {
        let mut state = self
            .waiting
            .wait_while(self.state.lock(), |state| state.waiting.is_empty() && !state.is_closed);
        let batch = state.waiting.pop_front()?;
        state.helper_bytes += batch.memory_bytes();
        Some(batch)
    }
}

/// Tells the builder, when dropped, that the helper has ended.
struct End<'a>(&'a Shared);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.state.lock().has_ended = true;
        self.0.has_ended.store(true, Ordering::Relaxed);
        self.0.emptied.notify_one();
    }
}

impl State {
    /// Takes a batch that is written.
    fn give_back(&mut self, mut batch: Batch, writer: &BlockWriter) {
        batch.clear();
        self.empty.push(batch);
        self.at_most = self.waiting.iter().map(Batch::file_bytes).sum::<u64>() + writer.offset();
        self.helper_bytes = writer.memory_bytes();
    }
}

impl Batch {
    fn new() -> Batch {
        let (separators, ends) = (Vec::new(), Vec::new());
        Batch { chunk: Chunk::for_bytes(BATCH), separators, ends }
    }

    fn add(&mut self, payload: &[u8], separator: &[u8]) {
        self.chunk.put(payload);
        self.separators.extend_from_slice(separator);
        self.ends.push((self.chunk.position(), self.separators.len()));
    }

    /// Returns the bytes that it takes in the file at most.
    #[inline]
    fn file_bytes(&self) -> u64 {
        let around = self.separators.len() + MOST_AROUND * self.ends.len();
        (self.chunk.position() + around) as u64
    }

    fn memory_bytes(&self) -> usize {
        let ends = self.ends.capacity() * size_of::<(usize, usize)>();
        self.chunk.memory_bytes() + self.separators.capacity() + ends
    }

    fn write_to(&self, writer: &mut BlockWriter) -> Result<()> {
        let (mut payload, mut separator) = (0, 0);
        for &(payload_end, separator_end) in &self.ends {
            writer.add_sub_block(
                &self.chunk.filled()[payload..payload_end],
                &self.separators[separator..separator_end],
            )?;
            (payload, separator) = (payload_end, separator_end);
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.chunk.clear();
        self.separators.clear();
        self.ends.clear();
    }
}
