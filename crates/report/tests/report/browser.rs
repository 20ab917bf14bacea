//! The page in a browser, if one is installed. The test counts the series and values that it draws,
//! and checks that nothing is wider than the window. `FOLDB_REPORT_SCREENSHOTS=DIR` keeps pictures.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use foldb_report::page;
use serde::Deserialize;

use crate::{expected, fixture};

/// Browsers to try, in this order; `CHROMIUM` names another.
const PROGRAMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// Nothing but the page: no first run, no network, no updates.
const FLAGS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
];
/// Longest time of a browser for one page.
const PATIENCE: Duration = Duration::from_secs(120);
/// The page's rights in the browser; the counting script must be allowed.
const POLICY: &str = r#"<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">"#;

/// Widths that are tried: a wide window, a tablet, a telephone.
const WIDTHS: [u32; 3] = [1200, 700, 360];
/// Counts the drawn elements and tells the outer document.
const COUNTER: &str = r#"<script>
const count = (series) => {
    const letters = (shape, letter) => [...series.querySelectorAll(shape)]
        .reduce((sum, path) => sum + path.getAttribute("d").split(letter).length - 1, 0);
    return series.querySelectorAll(".p").length + letters(".steps", "H") + letters(".marks", "M");
};
const outside = (svg) => {
    const frame = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text, .p")].filter((drawn) => {
        const box = drawn.getBoundingClientRect();
        return box.left < frame.left - 1 || box.right > frame.right + 1
            || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
    }).map((drawn) => svg.dataset.plot + ": " + drawn.textContent);
};
const found = {
    series: [...document.querySelectorAll("[data-series]")].map((series) => {
        const plot = series.closest("svg").dataset;
        return {
            plot: plot.plot, workload: plot.workload ?? "", name: series.dataset.series,
            claimed: Number(series.dataset.points), counted: count(series),
        };
    }),
    outside: [...document.querySelectorAll("svg")].flatMap(outside),
    page_width: document.documentElement.scrollWidth,
    window_width: window.innerWidth,
    results: JSON.parse(document.getElementById("results").textContent).runs.length,
};
parent.postMessage([...new TextEncoder().encode(JSON.stringify(found))]
    .map((byte) => byte.toString(16).padStart(2, "0")).join(""), "*");
</script></body>"#;

/// Makes a document around the page, because no window is as narrow as a telephone. The document
/// writes down the counts that it receives.
fn frame(page: &str, width: u32, height: u32) -> String {
    format!(
        r#"<!DOCTYPE html><body style="margin:0"><iframe src="{page}" width="{width}" height="{height}"
        style="border:0"></iframe><pre id="found"></pre><script>
        addEventListener("message", (told) => found.textContent = told.data);</script></body>"#
    )
}

#[derive(Debug, Deserialize)]
struct Found {
    series: Vec<Drawn>,
    outside: Vec<String>,
    page_width: f64,
    window_width: f64,
    results: usize,
}

#[derive(Debug, Deserialize)]
struct Drawn {
    plot: String,
    workload: String,
    name: String,
    claimed: usize,
    counted: usize,
}

fn program() -> Option<PathBuf> {
    let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = || {
        let all = PROGRAMS.iter().flat_map(|name| {
            std::env::split_paths(&path).map(|directory| directory.join(name)).collect::<Vec<_>>()
        });
        all.into_iter().find(|file| file.is_file())
    };
    named.or_else(found)
}

/// Runs the browser on `file` with a profile in `directory`. Returns its output.
fn browse(program: &Path, directory: &Path, arguments: &[String], file: &Path) -> String {
    let (printed, told) = (directory.join("printed"), directory.join("told"));
    let mut browser = Command::new(program)
        .args(FLAGS)
        .arg(format!("--user-data-dir={}", directory.join("profile").display()))
        .args(arguments)
        .arg(format!("file://{}", file.display()))
        .stdout(File::create(&printed).unwrap())
        .stderr(File::create(&told).unwrap())
        .spawn()
        .expect("the browser starts");
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        match browser.try_wait().unwrap() {
            Some(status) => break status,
            None if Instant::now() < deadline => thread::sleep(Duration::from_millis(20)),
            None => {
                browser.kill().unwrap();
                panic!("{} has not come back", program.display());
            }
        }
    };
    assert!(status.success(), "{}: {}", program.display(), fs::read_to_string(told).unwrap());
    fs::read_to_string(printed).expect("a document is text")
}

/// Returns the drawn elements of `page` at `width`.
fn found(program: &Path, directory: &Path, page: &str, width: u32) -> Found {
    let file = directory.join("frame.html");
    fs::write(&file, frame(page, width, 1000)).unwrap();
    let arguments = ["--dump-dom".to_owned(), "--virtual-time-budget=2000".to_owned()];
    let document = browse(program, directory, &arguments, &file);
    let (_, rest) = document.split_once("<pre id=\"found\">").expect("the element is there");
    // In hexadecimal digits, which pass through a document unchanged.
    let digits = rest.split('<').next().unwrap().as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    serde_json::from_slice(&digits.map(byte).collect::<Vec<u8>>()).expect("the page told")
}

#[test]
fn a_browser_draws_every_series_and_value() {
    let Some(program) = program() else {
        println!("no chromium found: the page was not looked at in a browser");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let results = fixture::results();
    let page = page::html(&results);
    assert!(page.contains(POLICY));
    let counting = page.replace(POLICY, "").replace("</body>", COUNTER);
    fs::write(directory.path().join("counting.html"), counting).unwrap();

    for width in WIDTHS {
        let found = found(&program, directory.path(), "counting.html", width);
        let mut series = expected::Series::new();
        for drawn in found.series {
            assert_eq!(drawn.claimed, drawn.counted, "{} {}", drawn.plot, drawn.name);
            let key = (drawn.plot, drawn.workload, drawn.name);
            assert!(series.insert(key.clone(), drawn.counted).is_none(), "{key:?} is there twice");
        }
        assert_eq!(series, expected::series(&results));
        assert_eq!(found.results, results.runs.len());
        assert_eq!(found.outside, Vec::<String>::new(), "cut off at {width} pixels");
        assert_eq!(found.window_width, f64::from(width));
        assert_eq!(found.page_width, f64::from(width), "the page is wider than its window");
    }
    if let Some(pictures) = std::env::var_os("FOLDB_REPORT_SCREENSHOTS") {
        keep_pictures(&program, directory.path(), &page, Path::new(&pictures));
    }
}

/// Pictures of the whole page, wide and narrow, light and dark.
fn keep_pictures(program: &Path, directory: &Path, page: &str, pictures: &Path) {
    fs::write(directory.join("report.html"), page).unwrap();
    fs::create_dir_all(pictures).unwrap();
    for (name, width, height) in [("wide", 1200, 9000), ("narrow", 400, 16_000)] {
        let file = directory.join("frame.html");
        fs::write(&file, frame("report.html", width, height)).unwrap();
        for (scheme, flag) in [("light", "--disable-extensions"), ("dark", "--force-dark-mode")] {
            let picture = pictures.join(format!("{name}-{scheme}.png"));
            let arguments = [
                format!("--screenshot={}", picture.display()),
                format!("--window-size={},{height}", width.max(500)),
                flag.to_owned(),
            ];
            browse(program, directory, &arguments, &file);
            println!("{}", picture.display());
        }
    }
}
