//! Picks the segment files to rewrite next.

use crate::segment::map::FileUse;

/// The bounds that the files should keep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    /// Largest share of dead bytes in all files together.
    pub(crate) dead_fraction: f64,
    /// Bytes at which a file is full. A full file takes no more values.
    pub(crate) segment_size: u64,
}

/// A *crumb* is a file shorter than `segment_size` divided by this number.
const CRUMB: u64 = 8;

/// Most crumbs that garbage collection leaves alone.
const MOST_CRUMBS: usize = 16;

/// Returns the files to rewrite into one, largest dead share first. Stops when the bound would hold
/// or when the new file is full. If the bound holds already, returns crumbs if there are more than
/// [`MOST_CRUMBS`], and otherwise nothing.
pub(crate) fn pick(files: impl IntoIterator<Item = FileUse>, bound: Bound) -> Vec<FileUse> {
    let mut files: Vec<FileUse> = files.into_iter().collect();
    let mut all: u64 = files.iter().map(|file| file.used()).sum();
    let mut dead: u64 = files.iter().map(|file| file.dead()).sum();
    let holds = |dead: u64, all: u64| dead as f64 <= bound.dead_fraction * all as f64;
    if holds(dead, all) {
        return crumbs(files, bound);
    }
    files.retain(|file| file.dead() > 0);
    files.sort_by(|a, b| b.dead_fraction().total_cmp(&a.dead_fraction()));
    let (mut victims, mut live) = (Vec::new(), 0);
    for file in files {
        if holds(dead, all) || (live > 0 && live + file.live > bound.segment_size) {
            break;
        }
        live += file.live;
        dead -= file.dead();
        all -= file.dead();
        victims.push(file);
    }
    victims
}

fn crumbs(mut files: Vec<FileUse>, bound: Bound) -> Vec<FileUse> {
    files.retain(|file| file.end < bound.segment_size / CRUMB);
    if files.len() <= MOST_CRUMBS {
        return Vec::new();
    }
    files.truncate(CRUMB as usize);
    files
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::segment::SegmentFiles;

    const BOUND: Bound = Bound { dead_fraction: 0.25, segment_size: 1000 };

    /// Makes a file with this number of used bytes and of live bytes.
    fn file(number: u64, used: u64, live: u64) -> FileUse {
        let segment_files: Arc<SegmentFiles> = Arc::default();
        FileUse {
            file: segment_files.get(number),
            end: used + crate::segment::format::FILE_HEADER_LEN,
            live,
            segments: Vec::new(),
        }
    }

    fn picked(files: &[(u64, u64)]) -> Vec<u64> {
        let files = files.iter().zip(1..).map(|(&(used, live), number)| file(number, used, live));
        pick(files, BOUND).iter().map(|file| file.file.number()).collect()
    }

    #[test]
    fn nothing_is_rewritten_while_the_bound_holds() {
        assert!(picked(&[]).is_empty());
        assert!(picked(&[(1000, 750), (1000, 751)]).is_empty());
        assert!(picked(&[(1000, 1000), (1000, 500)]).is_empty(), "a quarter of all bytes is dead");
    }

    #[test]
    fn files_with_most_dead_bytes_go_first_until_the_bound_holds() {
        assert_eq!(picked(&[(1000, 900), (1000, 100), (1000, 300)]), [2, 3]);
        assert_eq!(picked(&[(1000, 900), (1000, 300), (1000, 900)]), [2]);
    }

    #[test]
    fn what_is_rewritten_fits_one_file() {
        assert_eq!(picked(&[(1000, 600), (1000, 600), (1000, 600)]), [1]);
        assert_eq!(picked(&[(1000, 400), (1000, 500), (1000, 600)]), [1, 2]);
    }

    #[test]
    fn crumbs_are_gathered_when_they_get_many() {
        assert!(picked(&[(50, 50); 16]).is_empty());
        assert_eq!(picked(&[(50, 50); 17]).len(), 8);
    }
}
