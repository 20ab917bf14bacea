//! Stalls, slowdowns, and the order of writers.
//!
//! A write passes seven gates, in this order. `writer_lock` and `pace` lie in `db/state`. At each
//! gate a write waits for one thing only:
//!
//! ```text
//!  gate          state                 left when                          slows
//!  writer_lock   press, queue, regain  the holder has written             one writer
//!  full_disk     NoSpace, or wait      the disk has space for the reserve all writes but deletes
//!  turn          wait                  a losing transaction had its turn  all writers but its own
//!  room          full: seal, wait      a flush has made a buffer free     writers of full buffers
//!  overlap       seal early            the next buffer fits into memory   none: it begins a flush
//!  pace          pause                 its time is over, or the pace fell writers of one keyspace,
//!                                                                         all if flushes are late
//!  memory        pause (the ledger)    other databases have flushed       writers of this database
//! ```
//!
//! [`admit`] decides at the gates from `room` on, after it has refused what a full disk does not
//! admit. [`room`] acts on its verdict. A write passes without a verdict while its buffer is ready,
//! the log is short and no look at the memory is due (`Core::writer_with_room`). So a new gate must
//! also make one of these three untrue.
//!
//! A writer releases the lock before it waits, so a stalled writer holds up no other writer. A
//! `deadline` ends the wait at every gate with `Busy`, and the write changes nothing. In
//! [`give_way`] the roles are reversed: garbage collection of value segments waits for reads and
//! writes.

mod admit;
pub(crate) mod full_disk;
pub(crate) mod give_way;
pub(crate) mod overlap;
pub(crate) mod room;
pub(crate) mod turn;
