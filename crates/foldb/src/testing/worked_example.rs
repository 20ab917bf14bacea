//! Files shown byte for byte on the pages of `docs/format`.
//!
//! A page shows a file in its `hex` fences. Each line has an offset, a colon, bytes, and their
//! meaning after a bar.

/// Returns the bytes of the page's file.
pub(crate) fn bytes_on_the_page(page: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match (inside, line.strip_prefix("```")) {
            (_, Some(language)) => inside = language == "hex",
            (true, None) => {
                let (offset, hex) = line.split_once(':').expect("an offset before a colon");
                assert_eq!(offset.trim().parse(), Ok(bytes.len()), "offset of '{line}'");
                let hex = hex.split('|').next().unwrap_or_default().split_whitespace();
                bytes.extend(hex.map(|byte| u8::from_str_radix(byte, 16).expect("a hex byte")));
            }
            (false, None) => {}
        }
    }
    bytes
}

/// Asserts that the page shows this file.
pub(crate) fn assert_page_shows(page: &str, file: &[u8]) {
    let dump = |bytes: &[u8]| {
        let lines = bytes.chunks(16).enumerate();
        lines.map(|(i, line)| format!("{:3}: {line:02x?}\n", 16 * i)).collect::<String>()
    };
    assert_eq!(dump(file), dump(&bytes_on_the_page(page)));
}
