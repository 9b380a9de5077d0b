//! What prvcore.h declares, as far as this crate calls it. The header has the contracts.
#![allow(non_camel_case_types)]
use std::marker::{PhantomData, PhantomPinned};
use std::os::raw::{c_char, c_int, c_void};

/// An enum of C: whatever the library returns is a value of it.
pub type prv_status = c_int;

/// A struct whose fields only the library knows.
macro_rules! opaque {
    ($($name:ident),*) => {$(
        #[repr(C)]
        pub struct $name {
            _fields: [u8; 0],
            _not_send: PhantomData<(*mut u8, PhantomPinned)>,
        }
    )*};
}
opaque!(prv_mechanism, prv_accountant);

#[repr(C)]
pub struct prv_step {
    pub mechanism: *const prv_mechanism,
    pub count: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct prv_options {
    pub discretization: c_int,
    pub engine: c_int,
    pub neighbors: c_int,
    pub eps_error: f64,
    pub eps_relative_error: f64,
    pub eps_floor: f64,
    pub delta_error: f64,
    pub delta_relative_error: f64,
    pub threshold: f64,
    pub mesh_size: f64,
    pub memory_limit: usize,
    pub fft: *const c_void,
    pub progress: Option<extern "C" fn(*mut c_void, *const c_void) -> c_int>,
    pub progress_context: *mut c_void,
    pub reserved: [u64; 8],
}

#[repr(C)]
pub struct prv_calibration {
    pub factor: f64,
    pub eps_error: f64,
    pub epsilon: crate::Bounds,
    pub next_factor: f64,
    pub next_eps_error: f64,
    pub next_epsilon: crate::Bounds,
    pub monotone: c_int,
    pub compositions: usize,
    pub fine: usize,
    pub reserved: [u64; 8],
}

type question<T> =
    unsafe extern "C" fn(*const prv_step, usize, *const prv_options, *const f64, usize, *mut T, *mut c_void) -> prv_status;
/// `prv_epsilon` or `prv_delta`.
pub type prv_question = question<crate::Bounds>;

extern "C" {
    pub fn prv_version() -> *const c_char;
    pub fn prv_status_message(status: prv_status) -> *const c_char;
    pub fn prv_options_default() -> prv_options;
    pub fn prv_options_fault(options: *const prv_options) -> *const c_char;
    pub fn prv_mechanism_free(mechanism: *mut prv_mechanism);
    pub fn prv_mechanism_retain(mechanism: *const prv_mechanism) -> *mut prv_mechanism;
    pub fn prv_mechanism_equal(first: *const prv_mechanism, second: *const prv_mechanism) -> c_int;
    pub fn prv_mechanism_gaussian(noise_multiplier: f64, mechanism: *mut *mut prv_mechanism) -> prv_status;
    pub fn prv_mechanism_laplace(scale: f64, sensitivity: f64, mechanism: *mut *mut prv_mechanism) -> prv_status;
    pub fn prv_mechanism_approximate_dp(epsilon: f64, delta: f64, mechanism: *mut *mut prv_mechanism) -> prv_status;
    pub fn prv_mechanism_poisson_subsampled(
        base: *const prv_mechanism,
        sampling_probability: f64,
        mechanism: *mut *mut prv_mechanism,
    ) -> prv_status;
    pub fn prv_mechanism_random_allocation(
        base: *const prv_mechanism,
        batches: u64,
        mechanism: *mut *mut prv_mechanism,
    ) -> prv_status;
    pub fn prv_mechanism_composed(steps: *const prv_step, step_count: usize, mechanism: *mut *mut prv_mechanism) -> prv_status;
    pub fn prv_epsilon(
        steps: *const prv_step,
        step_count: usize,
        options: *const prv_options,
        deltas: *const f64,
        length: usize,
        bounds: *mut crate::Bounds,
        reports: *mut c_void,
    ) -> prv_status;
    pub fn prv_delta(
        steps: *const prv_step,
        step_count: usize,
        options: *const prv_options,
        epsilons: *const f64,
        length: usize,
        bounds: *mut crate::Bounds,
        reports: *mut c_void,
    ) -> prv_status;
    pub fn prv_dpsgd_noise(
        sampling_probability: f64,
        steps: u64,
        epsilon: f64,
        delta: f64,
        noise: *mut prv_calibration,
    ) -> prv_status;
    pub fn prv_accountant_new(accountant: *mut *mut prv_accountant) -> prv_status;
    pub fn prv_accountant_free(accountant: *mut prv_accountant);
    pub fn prv_accountant_copy(accountant: *const prv_accountant, copy: *mut *mut prv_accountant) -> prv_status;
    pub fn prv_accountant_add(accountant: *mut prv_accountant, mechanism: *const prv_mechanism, count: u64) -> prv_status;
    pub fn prv_accountant_steps(accountant: *const prv_accountant, step_count: *mut usize) -> *const prv_step;
    pub fn prv_accountant_epsilon(
        accountant: *mut prv_accountant,
        options: *const prv_options,
        deltas: *const f64,
        length: usize,
        bounds: *mut crate::Bounds,
        reports: *mut c_void,
    ) -> prv_status;
}
