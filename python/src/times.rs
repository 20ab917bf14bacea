//! Moments and UUIDs: the classes of the standard library that keys have.

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::keys::wrong;

/// The classes of the standard library that keys have.
pub(crate) struct Times {
    datetime: Py<PyAny>,
    timedelta: Py<PyAny>,
    /// 1970 in UTC.
    epoch: Py<PyAny>,
    pub(crate) uuid: Py<PyAny>,
}

static TIMES: PyOnceLock<Times> = PyOnceLock::new();

impl Times {
    pub(crate) fn get(py: Python<'_>) -> PyResult<&Times> {
        TIMES.get_or_try_init(py, || {
            let module = py.import("datetime")?;
            let datetime = module.getattr("datetime")?;
            let utc = module.getattr("timezone")?.getattr("utc")?;
            let epoch = datetime.call1((1970, 1, 1, 0, 0, 0, 0, utc))?;
            Ok(Times {
                datetime: datetime.unbind(),
                timedelta: module.getattr("timedelta")?.unbind(),
                epoch: epoch.unbind(),
                uuid: py.import("uuid")?.getattr("UUID")?.unbind(),
            })
        })
    }

    /// Returns the seconds and nanoseconds since 1970.
    pub(crate) fn parts(&self, moment: &Bound<'_, PyAny>, name: &str) -> PyResult<(i64, u32)> {
        let py = moment.py();
        if !moment.is_instance(self.datetime.bind(py))? {
            return Err(wrong(moment, name, "datetime"));
        }
        if moment.call_method0(intern!(py, "utcoffset"))?.is_none() {
            return Err(PyValueError::new_err(format!(
                "{name}: a datetime without a time zone is no moment: give it a tzinfo"
            )));
        }
        // A timestamp of pandas is a datetime that may be finer.
        if !moment.get_type().is(&self.datetime)
            && moment.hasattr("nanosecond")?
            && moment.getattr("nanosecond")?.is_truthy()?
        {
            return Err(PyValueError::new_err(format!(
                "{name}: a key keeps microseconds, and this moment has nanoseconds"
            )));
        }
        let since = moment.sub(self.epoch.bind(py))?;
        let days: i64 = since.getattr(intern!(py, "days"))?.extract()?;
        let seconds: i64 = since.getattr(intern!(py, "seconds"))?.extract()?;
        let micros: u32 = since.getattr(intern!(py, "microseconds"))?.extract()?;
        Ok((days * 86_400 + seconds, micros * 1000))
    }

    /// Returns a moment in UTC, to the microsecond.
    pub(crate) fn moment<'py>(
        &self,
        py: Python<'py>,
        seconds: i64,
        nanos: u32,
    ) -> PyResult<Bound<'py, PyAny>> {
        let since = self.timedelta.bind(py).call1((0, seconds, nanos / 1000))?;
        self.epoch.bind(py).add(since)
    }
}

/// Returns a moment as a datetime in UTC, to the microsecond.
pub(crate) fn moment_of<'py>(
    py: Python<'py>,
    seconds: i64,
    nanos: u32,
) -> PyResult<Bound<'py, PyAny>> {
    Times::get(py)?.moment(py, seconds, nanos)
}
