//! `demo`: counts words with merges, proves every count, and does the same with get + put.

mod job;
mod list;
mod report;
mod words;

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use foldb::Db;
use indicatif::ProgressBar;
use tempfile::TempDir;

use crate::args::{Common, Demo};
use crate::exit::{Exit, Outcome};
use crate::interrupt::Watch;
use crate::location::{self, Location};
use crate::output::Output;
use crate::progress;
use job::{Done, Way};
use report::Task;
use words::Corpus;

/// Words in the chart.
const TOP: usize = 12;

/// Runs the demo. Only the database of `--keep` remains afterwards.
pub(super) fn run(args: &Demo, common: &Common) -> Outcome {
    if let Some(dir) = &args.keep {
        check_free(dir)?;
    }
    let (corpus, total, texts) = corpus(args)?;
    let counts = corpus.counts(total);
    let task = Task { texts, text_words: corpus.len(), different: counts.len() as u64, total };
    let top = words::top(&counts, TOP);
    let mut output = Output::new();
    let mut tell = |text: String| {
        if common.json { Ok(()) } else { output.text(&text).and_then(|()| output.flush()) }
    };
    tell(report::announce(&task))?;

    let watch = Watch::start();
    let place = Place::new(args.keep.as_deref())?;
    let merge = do_job(Way::Merge, place.merges(), &corpus, total, &watch)?;
    let db = Db::open(place.merges(), Way::Merge.options())?;
    job::compare(&db, &counts)?;
    db.close()?;
    tell(format!("\n{}", report::chart(&top)))?;
    tell(format!(
        "\nClosed, reopened and compared with a hash map, both ways: all {} counts agree.\n",
        indicatif::HumanCount(task.different)
    ))?;
    tell(format!("\n{}", report::engine(&merge.stats)))?;

    let get_put = do_job(Way::GetPut, &place.get_puts(), &corpus, total, &watch)?;
    tell(format!("\n{}", report::times(total, merge.took, get_put.took)))?;
    if let Some(dir) = &args.keep {
        let dir = dir.display();
        tell(format!("\nThe database is kept; look at it: foldb scan {dir} --limit 10\n"))?;
    }
    if common.json {
        output.json(&report::to_json(&task, &top, &merge, &get_put))?;
    }
    output.flush()
}

/// Refuses a directory for `--keep` in which no database can be created.
fn check_free(dir: &Path) -> Outcome {
    match Location::of(dir)? {
        Location::Free => Ok(()),
        Location::Database => Err(Exit::failed(format!(
            "{} is a database already; --keep needs a new or an empty directory",
            location::shown(dir)
        ))),
    }
}

/// Returns the corpus, the number of words to count, and its name.
fn corpus(args: &Demo) -> Outcome<(Corpus, u64, String)> {
    let mut corpus = Corpus::default();
    if args.files.is_empty() {
        read_text(&mut corpus, Path::new("the word list"), list::text().as_bytes())?;
        return Ok((corpus, args.words, "foldb's own word list".to_owned()));
    }
    for file in &args.files {
        if file.as_os_str() == "-" {
            read_text(&mut corpus, Path::new("standard input"), io::stdin().lock())?;
        } else {
            let text = File::open(file).map_err(|error| cannot_read(file, &error))?;
            read_text(&mut corpus, file, BufReader::new(text))?;
        }
    }
    let total = corpus.len();
    if total == 0 {
        return Err(Exit::failed("the input has no word"));
    }
    let texts = match args.files.as_slice() {
        [file] if file.as_os_str() == "-" => "standard input".to_owned(),
        [file] => file.display().to_string(),
        files => format!("{} files", files.len()),
    };
    Ok((corpus, total, texts))
}

fn read_text(corpus: &mut Corpus, name: &Path, text: impl io::BufRead) -> Outcome {
    corpus.read(text).map_err(|error| cannot_read(name, &error))
}

fn cannot_read(file: &Path, error: &io::Error) -> Exit {
    Exit::failed(format!("cannot read {}: {error}", location::shown(file)))
}

/// Creates a database at `path`, counts into it and closes it.
fn do_job(way: Way, path: &Path, corpus: &Corpus, total: u64, watch: &Watch) -> Outcome<Done> {
    let title = match way {
        Way::Merge => "merge    ",
        Way::GetPut => "get + put",
    };
    let bar = progress_bar(title, total);
    let db = location::create(path, way.options())?;
    let done = job::count(way, &db, corpus, total, &bar, watch);
    bar.finish_and_clear();
    let closed = db.close();
    let done = done?;
    closed?;
    Ok(done)
}

fn progress_bar(title: &str, total: u64) -> ProgressBar {
    let template = "{prefix} {wide_bar} {human_pos} of {human_len} words, {rate}, {eta} left";
    progress::bar(total, title, template)
}

/// The places of the two databases: on one file system if possible, so that their times compare.
struct Place {
    temporary: TempDir,
    merges: PathBuf,
}

impl Place {
    fn new(keep: Option<&Path>) -> Outcome<Place> {
        let named = |builder: &mut tempfile::Builder<'_, '_>| match keep {
            Some(dir) => builder.tempdir_in(existing_ancestor(dir)).or_else(|_| builder.tempdir()),
            None => builder.tempdir(),
        };
        let temporary = named(tempfile::Builder::new().prefix("foldb-demo-")).map_err(|error| {
            Exit::failed(format!("cannot create a directory for the demo: {error}"))
        })?;
        let merges = keep.map_or_else(|| temporary.path().join("merge"), Path::to_owned);
        Ok(Place { temporary, merges })
    }

    fn merges(&self) -> &Path {
        &self.merges
    }

    fn get_puts(&self) -> PathBuf {
        self.temporary.path().join("get_put")
    }
}

/// Returns the directory in which `dir` will be created, never `dir` itself: that stays empty.
fn existing_ancestor(dir: &Path) -> &Path {
    let above = dir.ancestors().skip(1).find(|ancestor| ancestor.is_dir());
    above.unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_database_stands_beside_the_one_that_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let keep = dir.path().join("a/b/c");
        assert_eq!(existing_ancestor(&keep), dir.path());
        assert_eq!(existing_ancestor(Path::new("words.db")), Path::new("."));
    }

    #[test]
    fn keep_refuses_what_is_not_free() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(check_free(dir.path()), Ok(()));
        std::fs::write(dir.path().join("CURRENT"), "x").unwrap();
        assert_eq!(check_free(dir.path()).unwrap_err().code(), 1);
    }
}
