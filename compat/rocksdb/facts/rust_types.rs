//! C declarations as Rust types.
//!
//! A declaration is one line of the lists: no attributes, one space between words, a `*` beside the
//! type. Parameters may lack a name only inside the type of a callback.

use std::collections::BTreeMap;

/// C types of numbers and bytes, and what they are in Rust.
const NUMBERS: [(&str, &str); 14] = [
    ("void", "c_void"),
    ("char", "c_char"),
    ("unsigned char", "c_uchar"),
    ("bool", "bool"),
    ("int", "c_int"),
    ("unsigned int", "c_uint"),
    ("unsigned", "c_uint"),
    ("uint8_t", "u8"),
    ("int32_t", "i32"),
    ("uint32_t", "u32"),
    ("int64_t", "i64"),
    ("uint64_t", "u64"),
    ("size_t", "usize"),
    ("double", "f64"),
];

/// Knows the types that declarations may name.
pub(crate) struct Types {
    /// A name in C, and the Rust type.
    known: BTreeMap<String, String>,
}

impl Types {
    /// Returns the types that C itself has.
    pub(crate) fn of_c() -> Types {
        let known = NUMBERS.map(|(c, rust)| (c.to_owned(), rust.to_owned()));
        Types { known: known.into() }
    }

    /// Adds an object. Its type has the same name in Rust.
    pub(crate) fn add_object(&mut self, name: &str) {
        self.known.insert(name.to_owned(), name.to_owned());
    }

    /// Adds a type of callbacks, `RESULT (*NAME)(PARAMETERS)`.
    ///
    /// # Errors
    /// A declaration that cannot be read.
    pub(crate) fn add_callback(&mut self, declaration: &str) -> Result<(), String> {
        let (name, rust) = self.callback(declaration)?;
        self.known.insert(name.to_owned(), rust);
        Ok(())
    }

    /// Returns the name of a function, and its type as a function pointer of Rust.
    ///
    /// # Errors
    /// A declaration that cannot be read.
    pub(crate) fn function<'a>(&self, declaration: &'a str) -> Result<(&'a str, String), String> {
        let unreadable = || format!("'{declaration}' is not RESULT NAME(PARAMETERS)");
        let (before, parameters) = declaration.split_once('(').ok_or_else(unreadable)?;
        let (result, name) = before.rsplit_once(' ').ok_or_else(unreadable)?;
        let parameters = parameters.strip_suffix(')').ok_or_else(unreadable)?;
        Ok((name, self.pointer(result, parameters)?))
    }

    /// Returns the name and the type of a parameter that is a callback.
    fn callback<'a>(&self, declaration: &'a str) -> Result<(&'a str, String), String> {
        let unreadable = || format!("'{declaration}' is not RESULT (*NAME)(PARAMETERS)");
        let (result, rest) = declaration.split_once("(*").ok_or_else(unreadable)?;
        let (name, parameters) = rest.split_once(")(").ok_or_else(unreadable)?;
        let parameters = parameters.strip_suffix(')').ok_or_else(unreadable)?;
        // A program may pass NULL for any callback.
        Ok((name, format!("Option<{}>", self.pointer(result, parameters)?)))
    }

    fn pointer(&self, result: &str, parameters: &str) -> Result<String, String> {
        let parameters = match parameters {
            "void" => Vec::new(),
            listed => split(listed),
        };
        let types: Result<Vec<String>, String> =
            parameters.into_iter().map(|parameter| self.parameter(parameter)).collect();
        let result = match self.written(&words(result))?.as_str() {
            "c_void" => String::new(),
            rust => format!(" -> {rust}"),
        };
        Ok(format!("unsafe extern \"C\" fn({}){result}", types?.join(", ")))
    }

    fn parameter(&self, parameter: &str) -> Result<String, String> {
        if parameter.contains("(*") {
            return self.callback(parameter).map(|(_, rust)| rust);
        }
        let mut words = words(parameter);
        // `[` is in no name: such a parameter is written as the pointer that it is.
        let is_identifier =
            |word: &str| word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let is_name =
            |word: &str| is_identifier(word) && word != "const" && !self.known.contains_key(word);
        words.pop_if(|word| is_name(word));
        self.written(&words)
    }

    /// Returns the Rust type of the words of a C type.
    fn written(&self, words: &[&str]) -> Result<String, String> {
        let stars = words.iter().position(|word| *word == "*").unwrap_or(words.len());
        let (pointee, pointers) = words.split_at(stars);
        let name: Vec<&str> = pointee.iter().copied().filter(|word| *word != "const").collect();
        let name = name.join(" ");
        let known = self.known.get(&name);
        let mut rust = known.ok_or_else(|| format!("'{name}' is an unknown type"))?.clone();
        let mut is_const = pointee.contains(&"const");
        for word in pointers {
            match *word {
                "const" => is_const = true,
                "*" => {
                    rust = format!("*{} {rust}", if is_const { "const" } else { "mut" });
                    is_const = false;
                }
                other => return Err(format!("'{other}' is no part of a type")),
            }
        }
        Ok(rust)
    }
}

/// Returns the words of a type, of which each `*` is one.
fn words(text: &str) -> Vec<&str> {
    let is_star = |c: char| c == '*';
    let parts = text.split_whitespace().flat_map(|word| word.split_inclusive(is_star));
    let mut words = Vec::new();
    for part in parts {
        let name = part.trim_end_matches(is_star);
        if !name.is_empty() {
            words.push(name);
        }
        if name.len() < part.len() {
            words.push("*");
        }
    }
    words
}

/// Splits parameters at the commas that no callback contains.
fn split(parameters: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0);
    for (at, c) in parameters.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(parameters[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(parameters[begin..].trim());
    parts
}
