//! The texts that the demo counts where no file is given: foldb's own documents.

/// Name and text of each.
pub const DOCUMENTS: &[(&str, &str)] = &[("sample.md", include_str!("sample.md"))];
