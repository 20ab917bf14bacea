//! Reading a recording: of a database that is open, closed, or whose process died.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use foldb_env::{Env, FileSystem};

use crate::encoding::ByteReader;
use crate::error::{Error, ErrorKind, Result};
use crate::files::FileNames;
use crate::recording::format::{EventRecord, Frames, KeyRecord, Record};
use crate::recording::pending::Why;
use crate::recording::ring::files_of;
use crate::stats::latency::BUCKETS;
use crate::stats::{Call, FigureKind, Histogram};

/// What the flight recorder of a database has recorded, oldest first.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("db");
/// use foldb::recorder::Recording;
///
/// let db = foldb::Db::create(&path)?;
/// for number in 0..1000u64 {
///     db.put(number.to_be_bytes(), "value")?;
/// }
/// std::thread::sleep(std::time::Duration::from_millis(1500));
/// // The database stays open. A program of its own would do the same.
/// let recording = Recording::read(&path)?;
/// let last = recording.samples.last().expect("a second has passed");
/// assert_eq!(last.figure("foldb_puts_total"), Some(1000.0));
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Recording {
    /// The processes that recorded.
    pub sessions: Vec<RecordedSession>,
    /// The figures, once a second while something happened.
    pub samples: Vec<RecordedSample>,
    /// The times of calls between two samples.
    pub calls: Vec<RecordedCalls>,
    /// Events.
    pub events: Vec<RecordedEvent>,
    /// Keys that stood out, every ten seconds.
    pub keys: Vec<RecordedKey>,
    /// Bytes at the ends of files that are no whole records. The newest file of a process that died
    /// may have some.
    pub unread_bytes: u64,
}

/// A process that opened the database and recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedSession {
    /// When the recording began.
    pub began: SystemTime,
    /// When the database was closed; `None` while it is open, or if the process died.
    pub ended: Option<SystemTime>,
    /// The last record.
    pub last: SystemTime,
    /// The process.
    pub process: u64,
    /// The version of foldb.
    pub version: String,
}

/// The figures of one moment. Their names are those of
/// [`Stats::to_prometheus`](crate::stats::Stats::to_prometheus).
#[derive(Clone, Debug)]
pub struct RecordedSample {
    at: SystemTime,
    session: usize,
    series: Arc<Vec<(String, FigureKind)>>,
    values: Vec<u64>,
}

impl RecordedSample {
    /// Returns when the sample was taken.
    pub fn at(&self) -> SystemTime {
        self.at
    }

    /// Returns the place of its process in [`Recording::sessions`].
    pub fn session(&self) -> usize {
        self.session
    }

    /// Returns a figure by its name, for example `foldb_level_bytes{level="0"}`. Times are seconds.
    pub fn figure(&self, name: &str) -> Option<f64> {
        let at = self.series.iter().position(|(own, _)| own == name)?;
        self.values.get(at).map(|value| shown(self.series[at].1, *value))
    }

    /// Returns all figures.
    pub fn figures(&self) -> impl Iterator<Item = (&str, f64)> {
        let pairs = self.series.iter().zip(&self.values);
        pairs.map(|((name, kind), value)| (name.as_str(), shown(*kind, *value)))
    }
}

fn shown(kind: FigureKind, value: u64) -> f64 {
    match kind {
        FigureKind::Micros => value as f64 / 1e6,
        FigureKind::Counter | FigureKind::Gauge => value as f64,
    }
}

/// The timed calls of one kind since the sample before.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedCalls {
    /// When they were counted.
    pub at: SystemTime,
    /// The kind of call.
    pub call: Call,
    /// How long they took.
    pub times: Histogram,
}

/// Events of one kind, keyspace and reason that happened since the sample before.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedEvent {
    /// When they were written, at most a second or two after they happened.
    pub at: SystemTime,
    /// The kind: that of [`Event::name`](crate::events::Event::name), `slow_read` or `long_fold`.
    pub name: String,
    /// The keyspace; empty if the event has none.
    pub keyspace: String,
    /// Why it happened, or what happened.
    pub detail: String,
    /// How many.
    pub count: u64,
    /// How long they took together.
    pub total: Duration,
    /// The longest.
    pub longest: Duration,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// The level that was written.
    pub level: Option<u64>,
}

/// A key that stood out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedKey {
    /// When it was written.
    pub at: SystemTime,
    /// Why.
    pub why: Remarkable,
    /// The keyspace.
    pub keyspace: String,
    /// The key, or its first 64 bytes.
    pub key: Vec<u8>,
    /// Bytes of the whole key.
    pub len: u64,
}

/// Why a key is in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remarkable {
    /// So many of the timed calls were for it. About one call in 64 is timed.
    Hot(u64),
    /// A timed call for it took so long.
    Slow(Duration),
    /// A read folded so many operands of it.
    LongChain(u64),
    /// A timed call read or wrote so many bytes of it, with those of the key.
    Large(u64),
}

impl Recording {
    /// Reads what is recorded in the directory of a database. It opens no database and takes no
    /// lock. A database that never recorded for a second has no recording: all lists are empty.
    ///
    /// # Errors
    /// `DatabaseMissing` if there is neither a database nor a recording. `Io`; `Unsupported` for a
    /// file of another version. Damaged bytes are no error, but [`Recording::unread_bytes`] counts
    /// them.
    pub fn read(directory: impl AsRef<Path>) -> Result<Recording> {
        Recording::read_in(&Env::system(), directory.as_ref())
    }

    /// Does the same as [`Recording::read`] in another environment.
    ///
    /// # Errors
    /// As [`Recording::read`].
    pub fn read_in(env: &Env, directory: &Path) -> Result<Recording> {
        let names = FileNames::at(&*env.fs, directory)?;
        let files = match files_of(&*env.fs, &names) {
            Err(_) if !env.fs.exists(names.directory()) => Vec::new(),
            files => files?,
        };
        if files.is_empty() && !env.fs.exists(&names.current()) {
            let message = "the directory holds no database and no recording";
            return Err(Error::new(ErrorKind::DatabaseMissing, message).in_file(directory));
        }
        let mut reader = Reader::default();
        for (number, _) in files {
            reader.file(&*env.fs, &names, number)?;
        }
        Ok(reader.recording)
    }

    /// Returns the part of the recording from a moment on.
    pub fn since(&self, from: SystemTime) -> Recording {
        fn late<T: Clone>(all: &[T], from: SystemTime, at: impl Fn(&T) -> SystemTime) -> Vec<T> {
            all.iter().filter(|it| at(it) >= from).cloned().collect()
        }
        Recording {
            sessions: self.sessions.clone(),
            samples: late(&self.samples, from, |it| it.at),
            calls: late(&self.calls, from, |it| it.at),
            events: late(&self.events, from, |it| it.at),
            keys: late(&self.keys, from, |it| it.at),
            unread_bytes: self.unread_bytes,
        }
    }

    /// Returns the times of all recorded calls of each kind together.
    pub fn times(&self) -> BTreeMap<&'static str, Histogram> {
        let mut times: BTreeMap<&'static str, Histogram> = BTreeMap::new();
        for calls in &self.calls {
            times.entry(calls.call.name()).or_default().add(&calls.times);
        }
        times
    }
}

/// The state between two records.
#[derive(Default)]
struct Reader {
    recording: Recording,
    series: Arc<Vec<(String, FigureKind)>>,
    values: Vec<u64>,
}

impl Reader {
    fn file(&mut self, fs: &dyn FileSystem, names: &FileNames, number: u64) -> Result<()> {
        let path = names.flight(number);
        let bytes = match fs.read(&path) {
            // The recorder has removed its oldest file since.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            bytes => bytes.map_err(|error| Error::io(&path, "read", &error))?,
        };
        self.bytes(&bytes).map_err(|error| error.in_file(&path))
    }

    /// Reads the bytes of a file.
    fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let mut frames = match Frames::new(bytes) {
            Ok(frames) => frames,
            // A file that has just begun may lack its header. A power loss may take it: no file of
            // a recording is synced.
            Err(error) if error.kind() == ErrorKind::Corruption => {
                self.recording.unread_bytes += bytes.len() as u64;
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        for records in frames.by_ref() {
            let mut reader = ByteReader::new(records);
            while !reader.is_empty() {
                match Record::decode(&mut reader) {
                    Ok(Some(record)) => self.record(record),
                    // The frame is of a later version, or no encoder wrote it.
                    Ok(None) | Err(_) => {
                        self.recording.unread_bytes += reader.remaining() as u64;
                        break;
                    }
                }
            }
        }
        self.recording.unread_bytes += frames.rest() as u64;
        Ok(())
    }

    fn record(&mut self, record: Record<'_>) {
        match record {
            Record::Session { micros, process, version } => self.begin(micros, process, version),
            Record::Series { kind, name } => {
                Arc::make_mut(&mut self.series).push((name.to_owned(), kind));
                self.values.push(0);
            }
            Record::Sample { micros, changes } => {
                for (series, change) in changes {
                    if let Some(value) = self.values.get_mut(series as usize) {
                        *value = value.wrapping_add_signed(change);
                    }
                }
                let (series, values) = (Arc::clone(&self.series), self.values.clone());
                let session = self.recording.sessions.len().saturating_sub(1);
                let at = self.seen(micros);
                self.recording.samples.push(RecordedSample { at, session, series, values });
            }
            Record::Calls { micros, call, nanos, buckets } => {
                let at = self.seen(micros);
                let Some(call) = Call::ALL.into_iter().find(|own| own.name() == call) else {
                    return;
                };
                let mut times = Histogram { nanos, ..Histogram::default() };
                for (bucket, calls) in buckets {
                    times.buckets[(bucket as usize).min(BUCKETS - 1)] = calls;
                }
                self.recording.calls.push(RecordedCalls { at, call, times });
            }
            Record::Event { micros, event } => {
                let at = self.seen(micros);
                self.recording.events.push(event_of(at, &event));
            }
            Record::Key { micros, key } => {
                let at = self.seen(micros);
                self.recording.keys.extend(key_of(at, &key));
            }
            Record::End { micros } => {
                let at = self.seen(micros);
                if let Some(session) = self.recording.sessions.last_mut() {
                    session.ended = Some(at);
                }
            }
        }
    }

    /// Begins a session, or goes on with the one that the same process began in an older file.
    fn begin(&mut self, micros: u64, process: u64, version: &str) {
        (self.series, self.values) = Default::default();
        let at = moment(micros);
        let goes_on = |last: &&mut RecordedSession| last.process == process && last.ended.is_none();
        if let Some(last) = self.recording.sessions.last_mut().filter(goes_on) {
            last.last = at;
            return;
        }
        let version = version.to_owned();
        let session = RecordedSession { began: at, ended: None, last: at, process, version };
        self.recording.sessions.push(session);
    }

    /// Notes the time of a record in its session.
    fn seen(&mut self, micros: u64) -> SystemTime {
        let at = moment(micros);
        if let Some(session) = self.recording.sessions.last_mut() {
            session.last = at;
        }
        at
    }
}

fn event_of(at: SystemTime, event: &EventRecord<'_>) -> RecordedEvent {
    RecordedEvent {
        at,
        name: event.name.to_owned(),
        keyspace: event.keyspace.to_owned(),
        detail: event.detail.to_owned(),
        count: event.count,
        total: Duration::from_micros(event.total_micros),
        longest: Duration::from_micros(event.longest_micros),
        bytes_read: event.bytes_read,
        bytes_written: event.bytes_written,
        level: event.level,
    }
}

fn key_of(at: SystemTime, key: &KeyRecord<'_>) -> Option<RecordedKey> {
    let why = match key.why {
        why if why == Why::Hot as u8 => Remarkable::Hot(key.figure),
        why if why == Why::Slow as u8 => Remarkable::Slow(Duration::from_nanos(key.figure)),
        why if why == Why::LongChain as u8 => Remarkable::LongChain(key.figure),
        why if why == Why::Large as u8 => Remarkable::Large(key.figure),
        _ => return None,
    };
    let keyspace = key.keyspace.to_owned();
    Some(RecordedKey { at, why, keyspace, key: key.key.to_vec(), len: key.len })
}

fn moment(micros: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_micros(micros)).unwrap_or(UNIX_EPOCH)
}

/// Reads any bytes as a file of a recording, for fuzz targets.
#[cfg(any(test, feature = "internals"))]
pub(crate) fn decode_any(bytes: &[u8]) {
    let _result = Reader::default().bytes(bytes);
    // Bytes without a checksum reach the records too.
    let mut reader = ByteReader::new(bytes);
    while !reader.is_empty() {
        match Record::decode(&mut reader) {
            Ok(Some(record)) => {
                let mut encoded = Vec::new();
                record.encode(&mut encoded);
                let again = Record::decode(&mut ByteReader::new(&encoded));
                assert_eq!(again.ok().flatten(), Some(record), "a record is what its bytes say");
            }
            Ok(None) | Err(_) => break,
        }
    }
}
