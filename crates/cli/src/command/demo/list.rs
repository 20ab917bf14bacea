//! The text that the demo counts without a FILE, made of a list of English words.
//!
//! A text uses few words often and many words rarely: the word at rank n about once for each n
//! times that it uses the first one. The made text does so too, so its counters are as hot as real
//! ones.

/// The words, most frequent first.
const WORDS: &str = include_str!("words.txt");

/// Words in the made text.
const LEN: usize = 50_000;

/// Returns the text. It is the same at each call.
pub(super) fn text() -> String {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut text = String::new();
    for _ in 0..LEN {
        // xorshift64: its upper bits give a number from 0 to 1.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let exponent = (state >> 11) as f64 / (1_u64 << 53) as f64;
        let rank = (words.len() as f64).powf(exponent) as usize;
        text += words[rank.clamp(1, words.len()) - 1];
        text.push(' ');
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use super::*;

    #[test]
    fn the_list_has_each_word_once() {
        let words: Vec<&str> = WORDS.split_whitespace().collect();
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
    }

    #[test]
    fn the_text_uses_few_words_often_and_many_rarely() {
        let text = text();
        let mut counts = HashMap::new();
        for word in text.split_whitespace() {
            *counts.entry(word).or_insert(0) += 1;
        }
        let mut counts: Vec<usize> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(counts.iter().sum::<usize>(), LEN);
        assert!(counts.len() > 800, "{} words", counts.len());
        assert!(counts[0] > 10 * counts[20] && counts[20] > 10 * counts[400], "{counts:?}");
    }
}
