//! The boundary between Java and Rust, and the only module with `unsafe` code: arrays are read and
//! made here, handles become references, errors and panics become Java exceptions.
//!
//! Three promises of the Java class `Native` make it sound. It passes arguments of the declared
//! types. It passes a handle only while the Java object that owns the handle is reachable, and not
//! after it was freed. It uses a cursor's handle under that cursor's lock.

use std::any::Any;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

use foldb::{Error, Result};
use jni_sys::{JNIEnv, jbyteArray, jlong, jlongArray, jsize, jstring, jvalue};

/// Bytes that a [`Scratch`] holds without an allocation.
const STACK: usize = 512;

/// The class of the exceptions, and the descriptor of its constructor: kind and message.
const EXCEPTION: &std::ffi::CStr = c"foldb/streams/engine/FoldbException";
const CONSTRUCTOR: &std::ffi::CStr = c"(Ljava/lang/String;Ljava/lang/String;)V";

/// Why a native method ends without a result.
#[derive(Debug)]
pub enum Failure {
    /// An error of the engine.
    Engine(Error),
    /// An argument of this name is null.
    Null(&'static str),
    /// Java has thrown an exception already.
    Pending,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Engine(error)
    }
}

/// A value that a native method returns. The default one goes with an exception.
pub trait Answer: Default {}

impl Answer for () {}
impl Answer for jlong {}

/// A `byte[]` of Java, or null.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Bytes(jbyteArray);

impl Default for Bytes {
    fn default() -> Bytes {
        Bytes(null_mut())
    }
}

impl Answer for Bytes {}

/// A `long[]` of Java, or null.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Longs(jlongArray);

impl Default for Longs {
    fn default() -> Longs {
        Longs(null_mut())
    }
}

impl Answer for Longs {}

/// A `long` of Java that stands for a `T`, or 0.
#[derive(Debug)]
#[repr(transparent)]
pub struct Handle<T>(jlong, PhantomData<*mut T>);

impl<T> Default for Handle<T> {
    fn default() -> Handle<T> {
        Handle(0, PhantomData)
    }
}

impl<T> Answer for Handle<T> {}

impl<T> Handle<T> {
    /// Hands a value to Java.
    pub fn of(value: T) -> Handle<T> {
        Handle(Box::into_raw(Box::new(value)) as jlong, PhantomData)
    }

    /// Returns the number that Java keeps.
    pub fn number(&self) -> jlong {
        self.0
    }

    /// Returns the value.
    ///
    /// # Errors
    /// [`Failure::Null`] for 0.
    #[inline]
    pub fn value(&self) -> Result<&T, Failure> {
        // SAFETY: 0, or a value of `Handle::of` that Java has not freed, as the module promises.
        unsafe { (self.0 as *const T).as_ref() }.ok_or(Failure::Null("handle"))
    }

    /// Returns the value, to change it.
    ///
    /// # Errors
    /// [`Failure::Null`] for 0.
    pub fn value_mut(&mut self) -> Result<&mut T, Failure> {
        // SAFETY: as in `value`. Java holds the lock of the object that owns the handle.
        unsafe { (self.0 as *mut T).as_mut() }.ok_or(Failure::Null("handle"))
    }

    /// Takes the value back from Java. For 0 there is none.
    pub fn take(self) -> Option<Box<T>> {
        // SAFETY: as in `value`. Java forgets the handle.
        (self.0 != 0).then(|| unsafe { Box::from_raw(self.0 as *mut T) })
    }
}

/// Memory for the bytes of one argument. Short arrays need no allocation.
#[derive(Debug)]
pub struct Scratch {
    stack: [MaybeUninit<u8>; STACK],
    heap: Vec<u8>,
}

impl Scratch {
    /// Returns empty memory.
    #[inline]
    pub fn new() -> Scratch {
        Scratch { stack: [MaybeUninit::uninit(); STACK], heap: Vec::new() }
    }
}

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch::new()
    }
}

/// The environment of a native method's thread, during the call.
#[derive(Debug)]
pub struct Env(*mut JNIEnv);

/// Calls a function of the environment.
macro_rules! jni {
    ($env:expr, $function:ident $(, $argument:expr)*) => {
        ((**$env.0).v1_1.$function)($env.0 $(, $argument)*)
    };
}

/// Runs the body of a native method. An error or a panic becomes an exception.
///
/// # Safety
/// `env` is the environment that Java passed to the native method on this thread.
#[inline]
pub unsafe fn call<A: Answer>(
    env: *mut JNIEnv,
    body: impl FnOnce(&Env) -> Result<A, Failure>,
) -> A {
    let env = Env(env);
    // A call leaves nothing half changed that a later call could see: the engine takes panics of
    // operators into account, and a cursor that panicked only reads.
    match catch_unwind(AssertUnwindSafe(|| body(&env))) {
        Ok(Ok(answer)) => answer,
        Ok(Err(failure)) => {
            env.throw(&failure);
            A::default()
        }
        Err(panic) => {
            env.throw_named("Panic", &message_of(&*panic));
            A::default()
        }
    }
}

/// Returns what a panic said.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("a bug in foldb: {}", text.unwrap_or("a panic without a message"))
}

impl Env {
    /// Copies the bytes of an array. Returns `None` for null.
    #[inline]
    pub fn read<'a>(&self, array: Bytes, into: &'a mut Scratch) -> Option<&'a [u8]> {
        if array.0.is_null() {
            return None;
        }
        // SAFETY: not null, and a `byte[]`, as the module promises.
        let length = unsafe { jni!(self, GetArrayLength, array.0) };
        Some(self.read_prefix(array, length, into))
    }

    /// Copies the bytes of an array that may not be null.
    ///
    /// # Errors
    /// [`Failure::Null`], with the name of the argument.
    #[inline]
    pub fn required<'a>(
        &self,
        array: Bytes,
        name: &'static str,
        into: &'a mut Scratch,
    ) -> Result<&'a [u8], Failure> {
        self.read(array, into).ok_or(Failure::Null(name))
    }

    /// Copies the first bytes of an array that may not be null.
    ///
    /// # Errors
    /// [`Failure::Null`], with the name of the argument. `InvalidArgument` for a length that the
    /// array does not have.
    pub fn required_prefix<'a>(
        &self,
        array: Bytes,
        length: jsize,
        name: &'static str,
        into: &'a mut Scratch,
    ) -> Result<&'a [u8], Failure> {
        if array.0.is_null() {
            return Err(Failure::Null(name));
        }
        // SAFETY: not null, and a `byte[]`, as the module promises.
        let whole = unsafe { jni!(self, GetArrayLength, array.0) };
        if !(0..=whole).contains(&length) {
            let message = format!("{name} has {whole} bytes, fewer than {length}");
            return Err(Error::invalid_argument(message).into());
        }
        Ok(self.read_prefix(array, length, into))
    }

    /// Copies the first `length` bytes of an array that has them.
    #[inline]
    fn read_prefix<'a>(&self, array: Bytes, length: jsize, into: &'a mut Scratch) -> &'a [u8] {
        let size = usize::try_from(length).unwrap_or(0);
        let to: *mut u8 = if size <= STACK {
            into.stack.as_mut_ptr().cast()
        } else {
            into.heap.clear();
            into.heap.reserve(size);
            into.heap.as_mut_ptr()
        };
        // SAFETY: the array has `length` bytes, and there are as many places at `to`. Java writes
        // all of them, so the slice is initialised. It borrows `into`.
        unsafe {
            jni!(self, GetByteArrayRegion, array.0, 0, length, to.cast());
            std::slice::from_raw_parts(to, size)
        }
    }

    /// Makes an array with these bytes.
    ///
    /// # Errors
    /// [`Failure::Pending`] if Java has no memory for it. An error for 2 GiB or more.
    #[inline]
    pub fn bytes(&self, bytes: &[u8]) -> Result<Bytes, Failure> {
        let length = jsize::try_from(bytes.len()).map_err(|_| too_long(bytes.len()))?;
        // SAFETY: the length is not negative.
        let array = unsafe { jni!(self, NewByteArray, length) };
        if array.is_null() {
            return Err(Failure::Pending);
        }
        // SAFETY: the new array has `length` bytes, as has the slice.
        unsafe { jni!(self, SetByteArrayRegion, array, 0, length, bytes.as_ptr().cast()) };
        Ok(Bytes(array))
    }

    /// Makes an array with these bytes, or null for `None`.
    ///
    /// # Errors
    /// As [`Env::bytes`].
    #[inline]
    pub fn optional(&self, bytes: Option<impl AsRef<[u8]>>) -> Result<Bytes, Failure> {
        bytes.map_or(Ok(Bytes::default()), |bytes| self.bytes(bytes.as_ref()))
    }

    /// Makes an array with these numbers. Larger numbers than a `long` holds become the largest.
    ///
    /// # Errors
    /// [`Failure::Pending`] if Java has no memory for it.
    pub fn longs<const N: usize>(&self, numbers: [u64; N]) -> Result<Longs, Failure> {
        let numbers = numbers.map(|number| jlong::try_from(number).unwrap_or(jlong::MAX));
        // SAFETY: the length is not negative. Java throws if it is too long, and returns null.
        let array = unsafe { jni!(self, NewLongArray, N as jsize) };
        if array.is_null() {
            return Err(Failure::Pending);
        }
        // SAFETY: both have N numbers.
        unsafe { jni!(self, SetLongArrayRegion, array, 0, N as jsize, numbers.as_ptr()) };
        Ok(Longs(array))
    }

    #[cold]
    fn throw(&self, failure: &Failure) {
        match failure {
            Failure::Engine(error) => {
                self.throw_named(&format!("{:?}", error.kind()), &error.to_string());
            }
            Failure::Null(name) => {
                self.throw_named("InvalidArgument", &format!("{name} cannot be null"));
            }
            Failure::Pending => {}
        }
    }

    /// Throws an exception of a kind. If Java cannot make it, Java's own error is pending instead.
    #[cold]
    fn throw_named(&self, kind: &str, message: &str) {
        let (Some(kind), Some(message)) = (self.string(kind), self.string(message)) else { return };
        // SAFETY: each pointer is checked before the next call. The descriptor is that of the
        // constructor called, and its two arguments are strings.
        unsafe {
            let class = jni!(self, FindClass, EXCEPTION.as_ptr());
            if class.is_null() {
                return;
            }
            let constructor =
                jni!(self, GetMethodID, class, c"<init>".as_ptr(), CONSTRUCTOR.as_ptr());
            if constructor.is_null() {
                return;
            }
            let arguments = [jvalue { l: kind }, jvalue { l: message }];
            let exception = jni!(self, NewObjectA, class, constructor, arguments.as_ptr());
            if !exception.is_null() {
                jni!(self, Throw, exception);
            }
        }
    }

    fn string(&self, text: &str) -> Option<jstring> {
        let units: Vec<u16> = text.encode_utf16().collect();
        let length = jsize::try_from(units.len()).ok()?;
        // SAFETY: there are `length` units at the pointer.
        let string = unsafe { ((**self.0).v1_2.NewString)(self.0, units.as_ptr(), length) };
        (!string.is_null()).then_some(string)
    }
}

#[cold]
fn too_long(length: usize) -> Error {
    Error::invalid_argument(format!("{length} bytes do not fit into an array of Java"))
}

/// Declares a native method of the Java class `foldb.streams.engine.Native`.
macro_rules! native {
    ($(#[$doc:meta])* fn $name:ident($env:ident $(, $argument:ident: $type:ty)* $(,)?)
        -> $answer:ty $body:block) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// Only Java calls it, as the native method that it is.
        #[unsafe(no_mangle)]
        pub unsafe extern "system" fn $name(
            env: *mut jni_sys::JNIEnv,
            _class: jni_sys::jclass,
            $($argument: $type,)*
        ) -> $answer {
            // SAFETY: Java passes the environment of this thread.
            unsafe { crate::java::call(env, |$env: &crate::java::Env| $body) }
        }
    };
}
pub(crate) use native;
