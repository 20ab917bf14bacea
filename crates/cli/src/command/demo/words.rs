//! Splits texts into words: runs of alphabetic characters, in lower case.

use std::collections::HashMap;
use std::io::{self, BufRead};

/// The words of some texts in their order, each spelling kept once.
#[derive(Debug, Default)]
pub(super) struct Corpus {
    spellings: Vec<String>,
    numbers: HashMap<String, u32>,
    sequence: Vec<u32>,
}

impl Corpus {
    /// Appends the words of a text. Bytes that are not UTF-8 end a word.
    pub(super) fn read(&mut self, mut text: impl BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        let mut word = String::new();
        while text.read_until(b'\n', &mut line)? > 0 {
            for character in String::from_utf8_lossy(&line).chars() {
                if character.is_alphabetic() {
                    word.extend(character.to_lowercase());
                } else {
                    self.add(&mut word);
                }
            }
            line.clear();
        }
        self.add(&mut word);
        Ok(())
    }

    fn add(&mut self, word: &mut String) {
        if word.is_empty() {
            return;
        }
        let number = match self.numbers.get(word.as_str()) {
            Some(&number) => number,
            None => {
                let number = self.spellings.len() as u32;
                self.spellings.push(word.clone());
                self.numbers.insert(word.clone(), number);
                number
            }
        };
        self.sequence.push(number);
        word.clear();
    }

    /// Number of words; a repeated word counts each time.
    pub(super) fn len(&self) -> u64 {
        self.sequence.len() as u64
    }

    /// The first `total` words, beginning again at the first after the last.
    pub(super) fn words(&self, total: u64) -> impl Iterator<Item = &str> {
        let numbers = self.sequence.iter().cycle().take(total as usize);
        numbers.map(|&number| self.spellings[number as usize].as_str())
    }

    /// Counts each word among the first `total` words: the true counts.
    pub(super) fn counts(&self, total: u64) -> HashMap<&str, u64> {
        let mut counts = HashMap::new();
        for word in self.words(total) {
            *counts.entry(word).or_insert(0) += 1;
        }
        counts
    }
}

/// Returns the `n` most frequent words, most frequent first. Equal counts are in alphabetic order.
pub(super) fn top<'a>(counts: &HashMap<&'a str, u64>, n: usize) -> Vec<(&'a str, u64)> {
    let mut all: Vec<_> = counts.iter().map(|(&word, &count)| (word, count)).collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    all.truncate(n);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus(text: &[u8]) -> Corpus {
        let mut corpus = Corpus::default();
        corpus.read(text).unwrap();
        corpus
    }

    #[test]
    fn words_are_alphabetic_runs_in_lower_case() {
        let corpus = corpus("The ÉTÉ, it's 2nd\nthe\u{301} 日本語".as_bytes());
        let words: Vec<_> = corpus.words(corpus.len()).collect();
        assert_eq!(words, ["the", "été", "it", "s", "nd", "the", "日本語"]);
    }

    #[test]
    fn bytes_that_are_no_text_end_a_word() {
        let corpus = corpus(b"ab\xffcd");
        assert_eq!(corpus.words(2).collect::<Vec<_>>(), ["ab", "cd"]);
    }

    #[test]
    fn a_corpus_is_read_through_again() {
        let corpus = corpus(b"a b b");
        assert_eq!(corpus.len(), 3);
        assert_eq!(corpus.words(5).collect::<Vec<_>>(), ["a", "b", "b", "a", "b"]);
        assert_eq!(corpus.counts(5), HashMap::from([("a", 2), ("b", 3)]));
    }

    #[test]
    fn top_words_are_in_one_order() {
        let counts = HashMap::from([("b", 2), ("a", 2), ("c", 3), ("d", 1)]);
        assert_eq!(top(&counts, 3), [("c", 3), ("a", 2), ("b", 2)]);
    }
}
