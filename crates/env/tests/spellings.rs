//! Paths that Windows spells in several ways, and long ones.
#![cfg(windows)]

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use foldb_env::{FileSystem, PortableFs};

/// Other spellings of the directory `db`.
fn spellings(db: &Path) -> Vec<PathBuf> {
    let text = db.to_str().unwrap();
    let parent = db.parent().unwrap();
    vec![
        PathBuf::from(text.to_uppercase()),
        PathBuf::from(text.to_lowercase()),
        PathBuf::from(text.replace('\\', "/")),
        PathBuf::from(format!(r"\\?\{text}")),
        parent.join(".").join("db"),
        parent.join("db").join("..").join("DB"),
    ]
}

#[test]
fn the_lock_excludes_every_spelling_of_its_directory() {
    let parent = tempfile::tempdir().unwrap();
    let db = parent.path().join("db");
    PortableFs.create_dir_all(&db).unwrap();
    let held = PortableFs.lock(&db.join("LOCK")).unwrap();
    for other in spellings(&db) {
        for name in ["LOCK", "lock"] {
            let error = PortableFs.lock(&other.join(name)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WouldBlock, "{}: {error}", other.display());
        }
    }
    drop(held);
    for other in spellings(&db) {
        drop(PortableFs.lock(&other.join("LOCK")).unwrap());
    }
}

#[test]
fn a_path_may_have_more_than_260_characters() {
    let parent = tempfile::tempdir().unwrap();
    let mut deep = parent.path().to_owned();
    while deep.as_os_str().len() < 400 {
        deep.push("a name of thirty-two characters.x");
    }
    PortableFs.create_dir_all(&deep).unwrap();
    let (next, current) = (deep.join("next"), deep.join("CURRENT"));
    for text in ["first", "second"] {
        let file = PortableFs.create(&next).unwrap();
        file.write_at(text.as_bytes(), 0).unwrap();
        assert!(file.free_space().is_some_and(|free| free > 0));
        drop(file);
        PortableFs.rename(&next, &current).unwrap();
        PortableFs.sync_dir(&deep).unwrap();
        assert_eq!(PortableFs.read(&current).unwrap(), text.as_bytes());
    }
    let held = PortableFs.lock(&deep.join("LOCK")).unwrap();
    assert_eq!(PortableFs.lock(&deep.join("LOCK")).unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(held);
    PortableFs.remove(&deep.join("LOCK")).unwrap();
    PortableFs.remove(&current).unwrap();
    assert_eq!(PortableFs.list(&deep).unwrap(), [""; 0]);
    PortableFs.remove_dir(&deep).unwrap();
}
