//! Programs that several platforms play in turn. Each stage begins with the files that the stage
//! before it left, perhaps on another platform.
//!
//! ```text
//!  DIR/STAGE/SEED/        the files of the database at the end of the stage
//!  DIR/STAGE/SEED.txt     the program, and the positions of its followers
//! ```
//!
//! A stage plays the parts of all stages before its own, because the model needs their writes. Then
//! it throws its database away and takes the carried one. No part loses power, so what the database
//! must hold does not depend on the moments of flushes, which may differ between platforms.
//!
//! Invariant: nothing is compared with bytes that this stage wrote. What a stage reads, another one
//! wrote, and the model says what it must be.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use foldb::env::{Env, FileSystem, MemFs};
use foldb::{Db, Options, repair};

use super::decode;
use super::open::options;
use super::program::{Key, Program, Step};
use super::run::Player;
use crate::support::{AnyDb, PATH};

/// Turns of one program: written, read and changed elsewhere, and read where it began.
pub(crate) const STAGES: usize = 3;

/// Bytes of a program. One takes some 200 steps.
const BYTES: usize = 1500;

/// Returns the program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    let mut rng = fastrand::Rng::with_seed(seed);
    let bytes: Vec<u8> = (0..BYTES).map(|_| rng.u8(..)).collect();
    let mut program = decode::program(&bytes);
    for step in &mut program.steps {
        if matches!(step, Step::Crash | Step::CrashPartly(_)) {
            *step = Step::Kill;
        }
    }
    program
}

/// Plays a stage, from 1 on, of the program of a seed. Below `root` lies what stages leave.
///
/// # Panics
/// When database and model differ.
pub(crate) fn play_stage(root: &Path, seed: u64, stage: usize) {
    let program = program(seed);
    let mut player = Player::open(program.settings);
    let part = program.steps.len().div_ceil(STAGES);
    for (number, steps) in (1..=stage).zip(program.steps.chunks(part)) {
        let carried = Carried { root, seed, stage: number - 1 };
        match number {
            1 => {}
            _ if number == stage => player.take(&carried, &program),
            _ => player.stop_and_reopen(seed),
        }
        steps.iter().for_each(|step| player.step(step));
        player.tick();
        player.check_all();
    }
    player.leave(&Carried { root, seed, stage }, &program);
}

/// Returns the endings of the files that a stage left.
pub(crate) fn endings(root: &Path, stage: usize) -> BTreeSet<String> {
    let entries = |path: &Path| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let databases = entries(&root.join(stage.to_string())).filter(|path| path.is_dir());
    let files = databases.flat_map(|database| entries(&database).collect::<Vec<_>>());
    let ending = |path: PathBuf| path.extension().map(|ending| ending.display().to_string());
    files.filter_map(ending).collect()
}

/// What one stage leaves of the program of a seed.
struct Carried<'a> {
    root: &'a Path,
    seed: u64,
    stage: usize,
}

impl Carried<'_> {
    fn files(&self) -> PathBuf {
        self.root.join(self.stage.to_string()).join(self.seed.to_string())
    }

    fn notes(&self) -> PathBuf {
        self.files().with_extension("txt")
    }

    /// Copies the files to another directory.
    fn copy_to(&self, target: &dyn FileSystem, to: &Path) {
        target.create_dir_all(to).unwrap();
        for entry in fs::read_dir(self.files()).unwrap() {
            let entry = entry.unwrap();
            let bytes = fs::read(entry.path()).unwrap();
            let file = target.create(&to.join(entry.file_name())).unwrap();
            file.write_at(&bytes, 0).unwrap();
        }
    }
}

impl Player {
    /// Ends the stage, and leaves its files.
    fn leave(&mut self, carried: &Carried<'_>, program: &Program) {
        let fs = self.stopped(carried.seed);
        fs::create_dir_all(carried.files()).unwrap();
        let directory = Path::new(PATH);
        for name in fs.list(directory).unwrap().into_iter().filter(|name| name != "LOCK") {
            let bytes = fs.read(&directory.join(&name)).unwrap();
            fs::write(carried.files().join(name), bytes).unwrap();
        }
        let feed = self.feed.as_ref().map(|feed| feed.notes());
        let notes = format!("{program:?}{}", feed.unwrap_or_default());
        fs::write(carried.notes(), notes).unwrap();
    }

    /// Begins a stage with the files of the one before.
    fn take(&mut self, carried: &Carried<'_>, program: &Program) {
        let notes = fs::read_to_string(carried.notes()).unwrap();
        let feed = notes.strip_prefix(&format!("{program:?}"));
        let feed = feed.expect("both stages play the same program");
        drop(self.stopped(carried.seed));
        self.check_on_disk(carried);
        let fs = MemFs::new();
        carried.copy_to(&fs, Path::new(PATH));
        self.reopen(fs, None);
        if let Some(own) = &mut self.feed {
            own.take_notes(feed);
        }
        self.continue_after_a_stop();
        for unsynced in [false, true] {
            self.step(&Step::Follow { unsynced, anew: true });
        }
        self.db.verify().expect("the carried database is sound");
    }

    /// Does what [`Player::take`] does with the player's own files.
    fn stop_and_reopen(&mut self, seed: u64) {
        let fs = self.stopped(seed);
        self.reopen(fs, None);
        self.continue_after_a_stop();
    }

    fn continue_after_a_stop(&mut self) {
        self.begin_feed();
        self.tick();
        self.now_durable();
        self.check_all();
    }

    /// Returns the files after a close, or for every second seed after a kill.
    fn stopped(&mut self, seed: u64) -> MemFs {
        if seed % 2 == 1 {
            let fs = self.fs.kill();
            self.drop_handles();
            return fs;
        }
        self.drop_handles();
        self.db.close().expect("close");
        self.fs.clone()
    }

    /// Opens the carried files on the file system of this platform: to verify, to read and to
    /// write.
    fn check_on_disk(&self, carried: &Carried<'_>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(PATH);
        let options = options(&self.fs, self.settings, &self.clock, 2000 + self.opens);
        let env = Env { fs: Env::system().fs, ..options.env.clone() };
        let options = Options { create_if_missing: false, env, ..options };
        carried.copy_to(&*options.env.fs, &path);
        let report = repair::verify(&path, options.clone()).expect("a verification");
        assert!(report.faults.is_empty(), "seed {}: {report:?}", carried.seed);
        let reader = Db::open_read_only(&path, options.clone()).expect("a read-only open");
        self.check_elsewhere(&reader);
        drop(reader);
        let writer = Db::open(&path, options).expect("an open");
        self.check_elsewhere(&writer);
        for key in Key::all().step_by(3) {
            writer.put(key, "on the disk").expect("a put");
        }
        writer.compact(..).expect("a compaction");
        writer.verified().expect("the changed database is sound");
        writer.close().expect("a close");
    }
}
