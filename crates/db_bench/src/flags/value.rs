//! Conversions between the text and the value of a flag.

/// A type that flags can have.
pub(super) trait FlagValue: Sized {
    /// Booleans take a value only after `=` and may be negated with `no`.
    const BOOLEAN: bool = false;
    /// The expected text, for messages: `a whole number`.
    const EXPECTED: &'static str;

    /// Parses `text`.
    fn parse(text: &str) -> Option<Self>;

    /// Returns the value as text, for the help page.
    fn show(&self) -> String;
}

impl FlagValue for bool {
    const BOOLEAN: bool = true;
    const EXPECTED: &'static str = "true or false";

    fn parse(text: &str) -> Option<bool> {
        match text.to_ascii_lowercase().as_str() {
            "1" | "t" | "true" | "y" | "yes" => Some(true),
            "0" | "f" | "false" | "n" | "no" => Some(false),
            _ => None,
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl FlagValue for i64 {
    const EXPECTED: &'static str = "a whole number";

    fn parse(text: &str) -> Option<i64> {
        match text.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl FlagValue for u64 {
    const EXPECTED: &'static str = "a whole number of at least 0";

    fn parse(text: &str) -> Option<u64> {
        i64::parse(text).and_then(|number| u64::try_from(number).ok())
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl FlagValue for f64 {
    const EXPECTED: &'static str = "a number";

    fn parse(text: &str) -> Option<f64> {
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl FlagValue for String {
    const EXPECTED: &'static str = "text";

    fn parse(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn show(&self) -> String {
        self.clone()
    }
}

/// `None` if the flag is not given: then the engine's default applies.
impl<T: FlagValue> FlagValue for Option<T> {
    const BOOLEAN: bool = T::BOOLEAN;
    const EXPECTED: &'static str = T::EXPECTED;

    fn parse(text: &str) -> Option<Option<T>> {
        T::parse(text).map(Some)
    }

    fn show(&self) -> String {
        self.as_ref().map_or_else(|| "foldb's own".to_owned(), T::show)
    }
}
