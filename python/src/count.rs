//! What a lookup of a count returns: a number that is read when it is used.
#![expect(unsafe_op_in_unsafe_fn, reason = "what pyo3 makes of methods that a macro writes")]

use pyo3::basic::CompareOp;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyType};

use crate::counters::{Counters, amount_of};

/// A count that was looked up, but not read yet. It behaves like its number, and each use reads the
/// number of that moment. `int()` makes a number of it that stays.
#[pyclass(module = "foldb")]
pub(crate) struct Count {
    counters: Py<Counters>,
    key: Py<PyAny>,
    /// What `+=` has added, until the assignment merges it.
    amount: Option<i64>,
}

impl Count {
    pub(crate) fn new(counters: &Bound<'_, Counters>, key: Bound<'_, PyAny>) -> Count {
        Count { counters: counters.clone().unbind(), key: key.unbind(), amount: None }
    }

    /// Takes the amount that was added to the count of a key.
    pub(crate) fn noted(
        slf: &Bound<'_, Count>,
        counters: &Bound<'_, Counters>,
        key: &Bound<'_, PyAny>,
    ) -> PyResult<Option<i64>> {
        let own = {
            let count = slf.borrow();
            if !count.counters.is(counters) {
                return Ok(None);
            }
            count.key.clone_ref(slf.py())
        };
        // The comparison may run code of the program.
        let is_own = own.bind(slf.py()).eq(key)?;
        Ok(if is_own { slf.borrow_mut().amount.take() } else { None })
    }

    fn number<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyInt>> {
        let stored = self.counters.get().read(py, self.key.bind(py))?.unwrap_or(0);
        let number = stored.wrapping_add(self.amount.unwrap_or(0));
        Ok(number.into_pyobject(py)?)
    }

    fn note(&mut self, amount: i64) -> PyResult<()> {
        self.amount = Some(self.amount.unwrap_or(0).checked_add(amount).ok_or_else(too_large)?);
        Ok(())
    }
}

#[cold]
fn too_large() -> PyErr {
    PyOverflowError::new_err("amount: expected an int of 64 bits")
}

/// Returns the number of a count, and anything else as it is.
fn plain(other: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    match other.cast::<Count>() {
        Ok(count) => Ok(count.borrow().number(other.py())?.into_any()),
        Err(_) => Ok(other),
    }
}

/// Gives a `Count` the operators of `int`, beside methods of its own. pyo3 takes one block of
/// methods for a class.
macro_rules! methods {
    (
        binary { $($binary:ident $reflected:ident $call:ident;)* }
        unary { $($unary:ident $own:ident;)* }
        named { $($named:ident $name:literal;)* }
        $($rest:tt)*
    ) => {
        #[pymethods]
        impl Count {
            $(
                fn $binary<'py>(
                    &self,
                    py: Python<'py>,
                    other: Bound<'py, PyAny>,
                ) -> PyResult<Bound<'py, PyAny>> {
                    self.number(py)?.$call(plain(other)?)
                }

                fn $reflected<'py>(
                    &self,
                    py: Python<'py>,
                    other: Bound<'py, PyAny>,
                ) -> PyResult<Bound<'py, PyAny>> {
                    other.$call(self.number(py)?)
                }
            )*
            $(
                fn $unary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                    self.number(py)?.$own()
                }
            )*
            $(
                fn $named<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                    self.number(py)?.call_method0($name)
                }
            )*
            $($rest)*
        }
    };
}

methods! {
    binary {
        __add__ __radd__ add;
        __sub__ __rsub__ sub;
        __mul__ __rmul__ mul;
        __truediv__ __rtruediv__ div;
        __floordiv__ __rfloordiv__ floor_div;
        __mod__ __rmod__ rem;
        __divmod__ __rdivmod__ divmod;
        __and__ __rand__ bitand;
        __or__ __ror__ bitor;
        __xor__ __rxor__ bitxor;
        __lshift__ __rlshift__ lshift;
        __rshift__ __rrshift__ rshift;
    }
    unary {
        __neg__ neg;
        __pos__ pos;
        __invert__ bitnot;
        __abs__ abs;
    }
    named {
        __trunc__ "__trunc__";
        __floor__ "__floor__";
        __ceil__ "__ceil__";
    }

    fn __pow__<'py>(
        &self,
        py: Python<'py>,
        other: Bound<'py, PyAny>,
        modulus: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let modulus = modulus.map(plain).transpose()?;
        self.number(py)?.pow(plain(other)?, modulus)
    }

    fn __rpow__<'py>(
        &self,
        py: Python<'py>,
        other: Bound<'py, PyAny>,
        modulus: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        other.pow(self.number(py)?, modulus)
    }

    #[pyo3(signature = (digits=None))]
    fn __round__<'py>(
        &self,
        py: Python<'py>,
        digits: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let number = self.number(py)?;
        match digits {
            None => Ok(number.into_any()),
            Some(digits) => number.call_method1("__round__", (digits,)),
        }
    }

    fn __iadd__(slf: &Bound<'_, Self>, amount: &Bound<'_, PyAny>) -> PyResult<()> {
        // The amount may be this count.
        let amount = amount_of(amount)?;
        slf.borrow_mut().note(amount)
    }

    fn __isub__(slf: &Bound<'_, Self>, amount: &Bound<'_, PyAny>) -> PyResult<()> {
        let amount = amount_of(amount)?.checked_neg().ok_or_else(too_large)?;
        slf.borrow_mut().note(amount)
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyInt>> {
        self.number(py)
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyInt>> {
        self.number(py)
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        self.number(py)?.extract()
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let number: f64 = self.number(py)?.extract()?;
        Ok(pyo3::types::PyComplex::from_doubles(py, number, 0.0).into_any())
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.number(py)?.is_truthy()
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.number(py)?.hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.number(py)?.to_string())
    }

    fn __format__<'py>(&self, py: Python<'py>, spec: &str) -> PyResult<Bound<'py, PyAny>> {
        self.number(py)?.call_method1("__format__", (spec,))
    }

    /// The other attributes are those of the number, such as `bit_length`.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if name.starts_with("__") {
            // Libraries ask for these to learn what an object is.
            let text = format!("'Count' object has no attribute '{name}'");
            return Err(pyo3::exceptions::PyAttributeError::new_err(text));
        }
        self.number(py)?.getattr(name)
    }

    /// A copy or pickle has the number of now.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyInt>,))> {
        Ok((py.get_type::<PyInt>(), (self.number(py)?,)))
    }

    fn __richcmp__<'py>(
        &self,
        py: Python<'py>,
        other: Bound<'py, PyAny>,
        op: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.number(py)?.rich_compare(plain(other)?, op)
    }
}
