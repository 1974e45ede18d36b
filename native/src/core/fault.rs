//! What can go wrong, before it becomes a Python exception.

use std::fmt;

/// Why an operation was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The calling code is wrong.
    Usage(String),
    /// Received bytes do not decode.
    Malformed {
        /// What is wrong with them.
        message: String,
        /// Where, in bytes from the start.
        offset: usize,
    },
}

impl Fault {
    /// A fault of the calling code; the message says what to change.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// Bytes that no honest encoder produces.
    pub fn malformed(message: impl Into<String>, offset: usize) -> Self {
        Self::Malformed { message: message.into(), offset }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) => f.write_str(message),
            Self::Malformed { message, offset } => write!(f, "{message} (at byte {offset})"),
        }
    }
}

impl std::error::Error for Fault {}
