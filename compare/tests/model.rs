//! Every job leaves the same database in foldb as in a map of the standard library, and as in the
//! peers that were built.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use foldb_compare::child;
use foldb_compare::digest::NOT_CHECKED;
use foldb_compare::engine::{Engine, Name, Nominal, Operator, Scan, State};
use foldb_compare::failure::Result;
use foldb_compare::scale::Scale;
use foldb_compare::store::{Key, Reads, Setup, Store, WideKey, WideValue};
use foldb_compare::workload::{self, JOBS, Job, StoreTask, Task};
use foldb_report::results::{BackgroundEvent, Run};

/// A database that is right and nothing else. It lives as long as the process, by directory, for
/// jobs open theirs twice.
struct Model {
    map: &'static Map,
    operator: Option<Operator>,
}

type Map = Mutex<BTreeMap<Vec<u8>, Vec<u8>>>;

static MAPS: Mutex<BTreeMap<std::path::PathBuf, &'static Map>> = Mutex::new(BTreeMap::new());

impl Engine for Model {
    fn open(nominal: &Nominal, directory: &Path) -> Result<Model> {
        let mut maps = MAPS.lock().unwrap();
        let map =
            maps.entry(directory.to_owned()).or_insert_with(|| Box::leak(Box::new(Map::default())));
        Ok(Model { map, operator: nominal.operator })
    }

    fn settings(_: &Nominal) -> String {
        "none".to_owned()
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.map.lock().unwrap().insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        let mut map = self.map.lock().unwrap();
        let value = map.get(key).map(Vec::as_slice);
        let value = self.operator.unwrap().apply(value, operand);
        map.insert(key.to_vec(), value);
        Ok(())
    }

    fn get<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        Ok(self.map.lock().unwrap().get(key).map(|value| read(value)))
    }

    fn scan(&self, scan: Scan<'_>, mut visit: impl FnMut(&[u8], &[u8]) -> bool) -> Result<()> {
        let map = self.map.lock().unwrap();
        let mut visit = |(key, value): (&Vec<u8>, &Vec<u8>)| visit(key, value);
        let _all = match scan {
            Scan::Forward => map.iter().all(&mut visit),
            Scan::Reverse => map.iter().rev().all(&mut visit),
            Scan::From(from) => map.range(from.to_vec()..).all(&mut visit),
        };
        Ok(())
    }

    fn rest(&self, _: bool) -> Result<()> {
        Ok(())
    }

    fn state(&self) -> State {
        State::default()
    }

    fn events(&self) -> Vec<BackgroundEvent> {
        Vec::new()
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}

/// Counters and wide entries in maps.
#[derive(Default)]
struct Counters(Mutex<BTreeMap<Key, u64>>, Mutex<BTreeMap<WideKey, WideValue>>);

impl Reads for &Counters {
    fn get<R>(&self, key: &WideKey, read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        Ok(self.1.lock().unwrap().get(key).map(|value| read(value)))
    }

    fn range(&mut self, from: &WideKey, most: usize, mut visit: impl FnMut(&[u8])) -> Result<()> {
        let entries = self.1.lock().unwrap();
        entries.range::<WideKey, _>(from..).take(most).for_each(|(_, value)| visit(value));
        Ok(())
    }
}

impl Store for Counters {
    type Reads<'a> = &'a Counters;

    fn open(_: &Setup, _: &Path) -> Result<Counters> {
        Ok(Counters::default())
    }

    fn settings(_: &Setup) -> String {
        "none".to_owned()
    }

    fn add(&self, key: &Key) -> Result<u64> {
        *self.0.lock().unwrap().entry(*key).or_default() += 1;
        Ok(1)
    }

    fn merge(&self, key: &Key) -> Result<u64> {
        self.add(key)
    }

    fn load(&self, entries: impl Iterator<Item = (Key, u64)>) -> Result<()> {
        self.0.lock().unwrap().extend(entries);
        Ok(())
    }

    fn each(&self, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        let counters = self.0.lock().unwrap();
        counters.iter().for_each(|(key, counter)| visit(key, &counter.to_le_bytes()));
        self.1.lock().unwrap().iter().for_each(|(key, value)| visit(key, value));
        Ok(())
    }

    fn append<'a>(
        &self,
        _: usize,
        entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()> {
        self.1.lock().unwrap().extend(entries.map(|(key, value)| (key, *value)));
        Ok(())
    }

    fn commit<'a>(
        &self,
        _: bool,
        entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()> {
        self.append(1, entries)
    }

    fn load_wide<'a>(&self, entries: impl Iterator<Item = (WideKey, &'a WideValue)>) -> Result<()> {
        self.append(1, entries)
    }

    fn remove(&self, keys: impl Iterator<Item = WideKey>) -> Result<()> {
        let mut entries = self.1.lock().unwrap();
        for key in keys {
            entries.remove(&key);
        }
        Ok(())
    }

    fn count(&self) -> Result<u64> {
        Ok(self.1.lock().unwrap().len() as u64)
    }

    fn rest(&self) -> Result<()> {
        Ok(())
    }

    fn reads(&self) -> Result<&Counters> {
        Ok(self)
    }
}

/// A store that forgets its first commit, and the last of its wide entries.
struct Forgetful(Counters, Mutex<bool>);

impl Store for Forgetful {
    type Reads<'a> = &'a Counters;

    fn open(setup: &Setup, directory: &Path) -> Result<Forgetful> {
        Ok(Forgetful(Counters::open(setup, directory)?, Mutex::default()))
    }

    fn settings(_: &Setup) -> String {
        "none".to_owned()
    }

    fn add(&self, key: &Key) -> Result<u64> {
        let is_first = !std::mem::replace(&mut *self.1.lock().unwrap(), true);
        if is_first { Ok(1) } else { self.0.add(key) }
    }

    fn merge(&self, key: &Key) -> Result<u64> {
        self.add(key)
    }

    fn load(&self, entries: impl Iterator<Item = (Key, u64)>) -> Result<()> {
        self.0.load(entries)
    }

    fn append<'a>(
        &self,
        batch: usize,
        entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()> {
        self.0.append(batch, entries)?;
        self.0.1.lock().unwrap().pop_last();
        Ok(())
    }

    fn commit<'a>(
        &self,
        _: bool,
        entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()> {
        self.append(1, entries)
    }

    fn load_wide<'a>(&self, entries: impl Iterator<Item = (WideKey, &'a WideValue)>) -> Result<()> {
        self.append(1, entries)
    }

    fn remove(&self, keys: impl Iterator<Item = WideKey>) -> Result<()> {
        self.0.remove(keys)
    }

    fn count(&self) -> Result<u64> {
        self.0.count()
    }

    fn rest(&self) -> Result<()> {
        Ok(())
    }

    fn reads(&self) -> Result<&Counters> {
        self.0.reads()
    }

    fn each(&self, visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        self.0.each(visit)
    }
}

fn by_model(job: &Job) -> Vec<Run> {
    let directory = tempfile::tempdir().unwrap();
    if is_of_a_store(job) {
        workload::run_store::<Counters>(job, Name::Foldb, Scale::Tiny, directory.path()).unwrap()
    } else {
        workload::run::<Model>(job, Scale::Tiny, directory.path()).unwrap()
    }
}

fn is_of_a_store(job: &Job) -> bool {
    matches!(job.task, Task::Store { .. })
}

/// Jobs of foldb alone check themselves: each call must return what it should.
fn checks_itself(job: &Job) -> bool {
    matches!(job.task, Task::Store { task: StoreTask::Queue { .. } | StoreTask::Call(_), .. })
}

fn by(engine: Name, job: &Job) -> Vec<Run> {
    let directory = tempfile::tempdir().unwrap();
    child::dispatch(job, engine, Scale::Tiny, directory.path()).unwrap()
}

fn digests(runs: &[Run]) -> Vec<(&str, &str)> {
    runs.iter().map(|run| (run.workload.as_str(), run.digest.as_str())).collect()
}

#[test]
fn foldb_holds_what_the_model_holds_after_every_job() {
    for job in JOBS {
        let foldb = by(Name::Foldb, job);
        if !checks_itself(job) {
            assert_eq!(digests(&foldb), digests(&by_model(job)));
        }
        let rows: Vec<_> = foldb.iter().map(|run| run.workload.as_str()).collect();
        assert_eq!(rows, job.rows.iter().map(|row| row.name).collect::<Vec<_>>());
        assert!(foldb.iter().all(|run| run.operations > 0 && run.seconds > 0.0), "{}", job.name);
    }
}

#[test]
fn peers_that_were_built_hold_it_too() {
    for job in JOBS.iter().filter(|job| !checks_itself(job)) {
        let model = by_model(job);
        let peers = job.engines[1..].iter().copied();
        for peer in peers.filter(|peer| *peer != Name::MergeDb && peer.absent().is_none()) {
            let held = by(peer, job);
            for run in held.iter().filter(|run| run.digest != NOT_CHECKED) {
                let modelled = model.iter().find(|model| model.workload == run.workload).unwrap();
                assert_eq!(run.digest, modelled.digest, "{} on {peer:?}", job.name);
            }
            assert!(!held.is_empty(), "{} on {peer:?}", job.name);
        }
    }
}

#[test]
fn a_store_that_forgets_commits_fails_its_run() {
    for name in ["store/transact-4", "store/synced-1", "store/count-4"] {
        let directory = tempfile::tempdir().unwrap();
        let job = workload::find(name).unwrap();
        let run = workload::run_store::<Forgetful>(job, Name::Foldb, Scale::Tiny, directory.path());
        let failure = run.unwrap_err().to_string();
        assert!(failure.starts_with("the store holds 1000 entries with the sum "), "{failure}");
    }
}

#[test]
fn a_store_that_forgets_an_entry_fails_the_reads_and_the_inserts_of_it() {
    let failure = |name: &str| {
        let directory = tempfile::tempdir().unwrap();
        let job = workload::find(name).unwrap();
        let run = workload::run_store::<Forgetful>(job, Name::Foldb, Scale::Tiny, directory.path());
        run.unwrap_err().to_string()
    };
    let read = failure("store/read");
    assert!(read.starts_with("Range(10): Found { entries: "), "{read}");
    for name in ["store/insert-in-order-puts", "store/insert-in-order-batches"] {
        assert_eq!(failure(name), "the store does not show the last entry");
    }
}

/// The digest sees a single bit of a single value.
#[test]
fn a_database_with_one_value_changed_has_another_digest() {
    let directory = tempfile::tempdir().unwrap();
    let model = Model::open(
        &workload::find("scan-8b").unwrap().sizes(Scale::Tiny).nominal,
        directory.path(),
    )
    .unwrap();
    for number in 0..1000_u64 {
        model.put(&number.to_be_bytes(), b"value").unwrap();
    }
    let before = foldb_compare::digest::of(&model).unwrap();
    model.put(&500_u64.to_be_bytes(), b"valud").unwrap();
    assert_ne!(foldb_compare::digest::of(&model).unwrap(), before);
}
