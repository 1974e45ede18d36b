//! The one mapping from faults to Python exceptions.

use pyo3::import_exception;
use pyo3::prelude::*;

use crate::core::fault::Fault;

import_exception!(wire.errors, UsageError);
import_exception!(wire.errors, MalformedMessage);

/// The exception for a fault. Fields are named by the caller who knows the message.
pub fn raise(fault: Fault) -> PyErr {
    match fault {
        Fault::Usage(message) => UsageError::new_err(message),
        Fault::Malformed { message, offset } => MalformedMessage::new_err((message, "", offset)),
    }
}

/// A `UsageError`.
pub fn usage(message: impl Into<String>) -> PyErr {
    UsageError::new_err(message.into())
}

/// An argument of a class that does not belong here, for example of another backend.
pub fn wrong_class(object: &Bound<'_, PyAny>, wanted: &str) -> PyErr {
    let found = object.get_type().fully_qualified_name();
    let found = found.map_or_else(|_| "an unknown class".into(), |name| name.to_string());
    usage(format!("{wanted} of the native backend is needed here, not {found}"))
}

/// What every secret answers when it is about to leak.
pub fn refuse<T>(what: &str) -> PyResult<T> {
    Err(usage(format!("a secret cannot be {what}: call reveal() where that is really meant")))
}
