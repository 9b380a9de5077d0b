//! prvcore for Rust: what programs ask most of `prvcore.h`, with objects that free themselves and failures as `Result`.
//!
//! Arguments, ranges, units and costs are those of the C functions of the same names. More of them follow the same
//! pattern: a declaration in `c.rs`, and a function here that owns what it makes.
mod c;

use std::ffi::CStr;
use std::fmt;
use std::ptr::{null_mut, NonNull};

/// The version of the library that runs.
pub fn version() -> &'static str {
    text(unsafe { c::prv_version() })
}

/// A string of the library, in static storage.
fn text(string: *const std::os::raw::c_char) -> &'static str {
    unsafe { CStr::from_ptr(string) }.to_str().unwrap_or("")
}

/// A rule of `prvcore.h` that was broken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Error {
    /// The `prv_status` that the library returned.
    pub status: i32,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(text(unsafe { c::prv_status_message(self.status) }))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} (status {})", self.status)
    }
}

impl std::error::Error for Error {}

fn check(status: i32) -> Result<(), Error> {
    if status == 0 {
        Ok(())
    } else {
        Err(Error { status })
    }
}

/// Lower bound, estimate and upper bound. Report the upper bound.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    pub lower: f64,
    pub estimate: f64,
    pub upper: f64,
}

/// A mechanism, never modified once made: clones share it.
pub struct Mechanism(NonNull<c::prv_mechanism>);

// prvcore.h, "threads": any number of threads may share a mechanism, and its references are counted atomically.
unsafe impl Send for Mechanism {}
unsafe impl Sync for Mechanism {}

impl Mechanism {
    fn made(by: impl FnOnce(*mut *mut c::prv_mechanism) -> i32) -> Result<Self, Error> {
        let mut made = null_mut();
        check(by(&mut made))?;
        Ok(Mechanism(NonNull::new(made).expect("a mechanism, as the status is PRV_OK")))
    }

    pub fn gaussian(noise_multiplier: f64) -> Result<Self, Error> {
        Self::made(|m| unsafe { c::prv_mechanism_gaussian(noise_multiplier, m) })
    }
    pub fn laplace(scale: f64, sensitivity: f64) -> Result<Self, Error> {
        Self::made(|m| unsafe { c::prv_mechanism_laplace(scale, sensitivity, m) })
    }
    pub fn approximate_dp(epsilon: f64, delta: f64) -> Result<Self, Error> {
        Self::made(|m| unsafe { c::prv_mechanism_approximate_dp(epsilon, delta, m) })
    }
    pub fn composed(steps: &[(&Mechanism, u64)]) -> Result<Self, Error> {
        let steps = steps_of(steps);
        Self::made(|m| unsafe { c::prv_mechanism_composed(steps.as_ptr(), steps.len(), m) })
    }
    pub fn poisson_subsampled(&self, sampling_probability: f64) -> Result<Self, Error> {
        Self::made(|m| unsafe { c::prv_mechanism_poisson_subsampled(self.0.as_ptr(), sampling_probability, m) })
    }
    pub fn random_allocation(&self, batches: u64) -> Result<Self, Error> {
        Self::made(|m| unsafe { c::prv_mechanism_random_allocation(self.0.as_ptr(), batches, m) })
    }
}

impl Clone for Mechanism {
    fn clone(&self) -> Self {
        Mechanism(NonNull::new(unsafe { c::prv_mechanism_retain(self.0.as_ptr()) }).expect("the same mechanism"))
    }
}

impl Drop for Mechanism {
    fn drop(&mut self) {
        unsafe { c::prv_mechanism_free(self.0.as_ptr()) }
    }
}

/// Made by the same constructor with equal arguments.
impl PartialEq for Mechanism {
    fn eq(&self, other: &Self) -> bool {
        unsafe { c::prv_mechanism_equal(self.0.as_ptr(), other.0.as_ptr()) != 0 }
    }
}

/// Which data sets are neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbors {
    AddOrRemove = 0,
    Add,
    Remove,
    ReplaceOne,
}

/// How close bounds shall be, and for which neighbours; begins with `prv_options_default`.
#[derive(Clone, Copy)]
pub struct Options(c::prv_options);

// Its pointers are NULL: no caller can set them.
unsafe impl Send for Options {}
unsafe impl Sync for Options {}

impl Default for Options {
    fn default() -> Self {
        Options(unsafe { c::prv_options_default() })
    }
}

impl Options {
    #[must_use]
    pub fn neighbors(mut self, neighbors: Neighbors) -> Self {
        self.0.neighbors = neighbors as i32;
        self
    }
    /// The greatest `upper - lower`, nats.
    #[must_use]
    pub fn eps_error(mut self, width: f64) -> Self {
        self.0.eps_error = width;
        self
    }
    /// Bytes, of the largest buffers together.
    #[must_use]
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.0.memory_limit = bytes;
        self
    }
    /// The name of the first option that is out of its range.
    pub fn fault(&self) -> Option<&'static str> {
        let name = unsafe { c::prv_options_fault(&self.0) };
        if name.is_null() {
            None
        } else {
            Some(text(name))
        }
    }
}

fn steps_of(steps: &[(&Mechanism, u64)]) -> Vec<c::prv_step> {
    steps.iter().map(|&(m, count)| c::prv_step { mechanism: m.0.as_ptr(), count }).collect()
}

fn ask(question: c::prv_question, steps: &[(&Mechanism, u64)], value: f64, options: &Options) -> Result<Bounds, Error> {
    let (steps, mut bounds) = (steps_of(steps), Bounds::default());
    check(unsafe { question(steps.as_ptr(), steps.len(), &options.0, &value, 1, &mut bounds, null_mut()) })?;
    Ok(bounds)
}

/// Bounds of the least epsilon with which the composition is (epsilon, delta)-DP.
pub fn epsilon(steps: &[(&Mechanism, u64)], delta: f64, options: &Options) -> Result<Bounds, Error> {
    ask(c::prv_epsilon, steps, delta, options)
}

/// Bounds of delta at this epsilon.
pub fn delta(steps: &[(&Mechanism, u64)], epsilon: f64, options: &Options) -> Result<Bounds, Error> {
    ask(c::prv_delta, steps, epsilon, options)
}

/// The least noise multiplier with which so many steps of DP-SGD are (epsilon, delta)-DP.
pub fn dpsgd_noise(sampling_probability: f64, steps: u64, epsilon: f64, delta: f64) -> Result<f64, Error> {
    let mut found = std::mem::MaybeUninit::<c::prv_calibration>::zeroed();
    check(unsafe { c::prv_dpsgd_noise(sampling_probability, steps, epsilon, delta, found.as_mut_ptr()) })?;
    Ok(unsafe { found.assume_init() }.factor)
}

/// What has run so far, whose next epsilon costs only what was added.
pub struct Accountant(NonNull<c::prv_accountant>);

// What changes it takes it by &mut; prvcore.h lets copies and looks at the steps run together.
unsafe impl Send for Accountant {}
unsafe impl Sync for Accountant {}

impl Accountant {
    fn made(by: impl FnOnce(*mut *mut c::prv_accountant) -> i32) -> Result<Self, Error> {
        let mut made = null_mut();
        check(by(&mut made))?;
        Ok(Accountant(NonNull::new(made).expect("an accountant, as the status is PRV_OK")))
    }
    pub fn new() -> Result<Self, Error> {
        Self::made(|a| unsafe { c::prv_accountant_new(a) })
    }
    pub fn copy(&self) -> Result<Self, Error> {
        Self::made(|a| unsafe { c::prv_accountant_copy(self.0.as_ptr(), a) })
    }
    pub fn add(&mut self, mechanism: &Mechanism, count: u64) -> Result<(), Error> {
        check(unsafe { c::prv_accountant_add(self.0.as_ptr(), mechanism.0.as_ptr(), count) })
    }
    /// Each mechanism once, in the order in which they first ran.
    pub fn steps(&self) -> Vec<(Mechanism, u64)> {
        let mut length = 0;
        let steps = unsafe { c::prv_accountant_steps(self.0.as_ptr(), &mut length) };
        let shared = |step: &c::prv_step| unsafe { c::prv_mechanism_retain(step.mechanism) };
        let each = (0..length).map(|i| unsafe { &*steps.add(i) });
        each.map(|step| (Mechanism(NonNull::new(shared(step)).expect("a mechanism")), step.count)).collect()
    }
    pub fn epsilon(&mut self, delta: f64, options: &Options) -> Result<Bounds, Error> {
        let mut bounds = Bounds::default();
        let a = self.0.as_ptr();
        check(unsafe { c::prv_accountant_epsilon(a, &options.0, &delta, 1, &mut bounds, null_mut()) })?;
        Ok(bounds)
    }
}

impl Drop for Accountant {
    fn drop(&mut self) {
        unsafe { c::prv_accountant_free(self.0.as_ptr()) }
    }
}
