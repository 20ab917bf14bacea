//! `cargo xtask dist`: everything that a release has, for each platform, with checksums.
//!
//! [`platform`] says what is built for which platform, [`build`] builds it, [`pack`] makes
//! archives, [`smoke`] tries each archive, and [`manifest`] lists them. An archive is tried as a
//! user would try it: unpacked elsewhere, and on its own platform or under its emulator.

mod build;
mod manifest;
mod pack;
mod platform;
mod smoke;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::arguments::Dist;
use crate::prefix::target_directory;
use crate::shared_library::told;
use crate::step::Step;
use crate::version;
use manifest::{Entry, Missing};
pub(crate) use platform::{PLATFORMS, Part, Platform};

/// Builds, tries and lists all artifacts.
///
/// # Errors
/// A platform that was not skipped lacks an artifact; the manifest names it too.
pub(crate) fn run(own: &Dist) -> Result<(), String> {
    if cfg!(not(all(target_arch = "x86_64", target_os = "linux"))) {
        return Err("nothing was built: dist knows x86-64 Linux only".to_owned());
    }
    let chosen = chosen(own)?;
    let begin = Instant::now();
    let mut release = Release::begin(own)?;
    if !own.no_packages {
        Step::new("cargo xtask package --allow-dirty").run()?;
        release.times.push(("crates' packages".to_owned(), begin.elapsed()));
    }
    for platform in PLATFORMS.iter().filter(|platform| chosen.contains(&platform.target)) {
        release.add(platform);
    }
    for platform in PLATFORMS.iter().filter(|platform| !chosen.contains(&platform.target)) {
        release.missing.push(Missing::skipped(platform.target));
    }
    release.finish(begin.elapsed())
}

/// Returns the targets to build for.
fn chosen(own: &Dist) -> Result<Vec<&'static str>, String> {
    let known: Vec<&str> = PLATFORMS.iter().map(|platform| platform.target).collect();
    if let Some(unknown) = own.skip.iter().chain(&own.targets).find(|own| !known.contains(&&***own))
    {
        return Err(format!("dist has no target '{unknown}'; there are {}", known.join(", ")));
    }
    let is_named =
        |target: &&str| own.targets.is_empty() || own.targets.iter().any(|own| own == target);
    let is_skipped = |target: &&str| own.skip.iter().any(|own| own == target);
    Ok(known.into_iter().filter(|target| is_named(target) && !is_skipped(target)).collect())
}

/// What a run has built so far.
struct Release {
    directory: PathBuf,
    profile: String,
    commit: manifest::Commit,
    entries: Vec<Entry>,
    missing: Vec<Missing>,
    times: Vec<(String, Duration)>,
}

impl Release {
    /// Empties the directory of the release, so that no artifact of another build stays.
    fn begin(own: &Dist) -> Result<Release, String> {
        let directory = match &own.out {
            Some(out) => std::path::absolute(out).map_err(|error| told("find", out, error))?,
            None => target_directory()?.join("releases").join(version::PRESENT),
        };
        if directory.exists() {
            if !directory.join(manifest::NAME).exists() {
                let path = directory.display();
                return Err(format!("'{path}' is not empty, and no release: remove it yourself"));
            }
            fs::remove_dir_all(&directory).map_err(|error| told("remove", &directory, error))?;
        }
        fs::create_dir_all(&directory).map_err(|error| told("create", &directory, error))?;
        // From now on the directory is one of a release, even if the run ends early.
        manifest::begin(&directory)?;
        Ok(Release {
            directory,
            profile: own.profile.clone(),
            commit: manifest::Commit::present()?,
            entries: Vec::new(),
            missing: Vec::new(),
            times: Vec::new(),
        })
    }

    /// Adds the artifacts of a platform. One that cannot be built is missing; the others follow.
    fn add(&mut self, platform: &'static Platform) {
        println!("\n== {}", platform.target);
        let begin = Instant::now();
        let installed = tools::install(platform);
        self.times.push((format!("tools for {}", platform.target), begin.elapsed()));
        if let Err(why) = installed {
            println!("xtask: {why}");
            self.missing.push(Missing::new(platform.target, "everything", &why));
            return;
        }
        for part in platform.parts {
            let begin = Instant::now();
            match self.artifact(platform, *part) {
                Ok(entry) => self.entries.push(entry),
                Err(why) => {
                    println!("xtask: {why}");
                    self.missing.push(Missing::new(platform.target, part.name(), &why));
                }
            }
            let what = format!("{} for {}", part.name(), platform.target);
            self.times.push((what, begin.elapsed()));
        }
    }

    fn artifact(&self, platform: &'static Platform, part: Part) -> Result<Entry, String> {
        println!("\n== {} for {}", part.name(), platform.target);
        let build = build::Build { platform, profile: &self.profile };
        let made = build.make(part)?;
        let file = match &made {
            build::Made::Tree(tree) => pack::archive(tree, &self.directory, self.commit.time)?,
            build::Made::File(file) => pack::copied(file, &self.directory)?,
        };
        let tried = smoke::tried(platform, part, &file);
        let entry =
            tried.and_then(|tried| Entry::of(&file, part, platform, &self.commit, &made, tried));
        if entry.is_err() {
            // What does not work is no part of the release.
            fs::remove_file(&file).map_err(|error| told("remove", &file, error))?;
        }
        entry
    }

    /// Writes the manifest, and prints the time of everything.
    fn finish(mut self, all: Duration) -> Result<(), String> {
        self.times.push(("all".to_owned(), all));
        manifest::write(&self.directory, &self.entries, &self.missing)?;
        println!("\n== {}", self.directory.display());
        for (what, time) in &self.times {
            println!("{:5} s  {what}", time.as_secs());
        }
        verdict(&self.missing, &self.directory)
    }
}

fn verdict(missing: &[Missing], directory: &Path) -> Result<(), String> {
    let failed: Vec<String> = missing.iter().filter_map(Missing::failure).collect();
    if failed.is_empty() {
        return Ok(());
    }
    let list = failed.join(", ");
    let manifest = directory.join(manifest::NAME);
    Err(format!(
        "the release lacks {list}; '{}' says why, and '--skip TARGET' leaves a platform out",
        manifest.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dist(targets: &[&str], skip: &[&str]) -> Dist {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Dist { targets: owned(targets), skip: owned(skip), ..Dist::default() }
    }

    #[test]
    fn skipped_platforms_are_not_chosen() {
        let all: Vec<&str> = PLATFORMS.iter().map(|platform| platform.target).collect();
        assert_eq!(chosen(&dist(&[], &[])).unwrap(), all);
        assert_eq!(chosen(&dist(&[], &[all[0]])).unwrap(), all[1..]);
        assert_eq!(chosen(&dist(&[all[1]], &[])).unwrap(), [all[1]]);
        let refusal = chosen(&dist(&[], &["vax"])).unwrap_err();
        assert!(refusal.contains("'vax'") && refusal.contains(all[0]), "{refusal}");
    }

    #[test]
    fn a_release_that_lacks_an_artifact_fails_unless_its_platform_was_skipped() {
        let here = Path::new("release");
        assert!(verdict(&[Missing::skipped("a-b-c")], here).is_ok());
        let missing = Missing::new("a-b-c", "wheel", "there is no zig");
        let refusal = verdict(&[missing], here).unwrap_err();
        assert!(refusal.contains("wheel for a-b-c") && refusal.contains("--skip"), "{refusal}");
    }
}
