//! What our library has and the original lacks: merges, limits, refused directories. The programs
//! check by themselves.

use crate::library::{compiler, ours};
use crate::program::{Link, Program, printed};

const MERGE: Program = Program { name: "merge", directories: &["merge"] };
pub(crate) const MERGE_IN_C: Program = Program { name: "merge_c", directories: &["merge_c"] };
const DATABASE: Program = Program { name: "database", directories: &["database"] };

/// The program prints its last line only if all its checks pass.
fn passes(program: Program, flags: &[&str], last: &str) {
    let Some(compiler) = compiler() else { return };
    let dir = tempfile::tempdir().unwrap();
    for link in [Link::Shared, Link::Static] {
        let built = program.build(&compiler, ours(), link, flags, dir.path());
        assert_eq!(printed(&built, ours(), dir.path(), &[]).text, last, "{link:?}");
    }
}

/// Programs that use LevelDB are often compiled without typeinfo.
#[test]
fn merges_in_cpp_without_typeinfo() {
    passes(MERGE, &["-fno-rtti"], "every merge is as it should be\n");
}

#[test]
fn merges_in_c() {
    passes(MERGE_IN_C, &[], "every merge is as it should be\n");
}

#[test]
fn databases_keep_their_limits_and_refuse_other_engines() {
    passes(DATABASE, &[], "every database is as it should be\n");
}
