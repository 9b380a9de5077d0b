// Epsilon of 1000 steps of DP-SGD at delta 1e-7, in Rust: rustc epsilon.rs -L <folder of libprvcore> -l prvcore
use std::ffi::{c_char, c_int, c_void, CStr};
use std::ptr;

#[repr(C)]
struct Mechanism {
    _private: [u8; 0],
}

#[repr(C)]
struct FftProvider {
    _private: [u8; 0],
}

#[repr(C)]
struct Step {
    mechanism: *const Mechanism,
    count: u64,
}

// The fields of prv_options, in their order.
#[repr(C)]
struct Options {
    discretization: c_int,
    engine: c_int,
    neighbors: c_int,
    eps_error: f64,
    eps_relative_error: f64,
    eps_floor: f64,
    delta_error: f64,
    delta_relative_error: f64,
    threshold: f64,
    mesh_size: f64,
    memory_limit: usize,
    fft: *const FftProvider,
    progress: Option<extern "C" fn(context: *mut c_void, progress: *const c_void) -> c_int>,
    progress_context: *mut c_void,
}

const PRV_BRACKETING: c_int = 0;
const PRV_ENGINE_AUTO: c_int = 0;
const PRV_REMOVE: c_int = 2;

#[repr(C)]
#[derive(Default)]
struct Bounds {
    lower: f64,
    estimate: f64,
    upper: f64,
}

extern "C" {
    fn prv_status_message(status: c_int) -> *const c_char;
    fn prv_fft_provider_new(provider: *mut *mut FftProvider) -> c_int;
    fn prv_fft_provider_free(provider: *mut FftProvider);
    fn prv_mechanism_gaussian(noise_multiplier: f64, mechanism: *mut *mut Mechanism) -> c_int;
    fn prv_mechanism_poisson_subsampled(
        base: *const Mechanism, sampling_probability: f64, mechanism: *mut *mut Mechanism,
    ) -> c_int;
    fn prv_mechanism_free(mechanism: *mut Mechanism);
    fn prv_epsilon(
        steps: *const Step, step_count: usize, options: *const Options, deltas: *const f64, length: usize,
        bounds: *mut Bounds, reports: *mut c_void,
    ) -> c_int;
}

fn check(status: c_int) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    // Static storage, never null.
    let message = unsafe { CStr::from_ptr(prv_status_message(status)) };
    Err(message.to_string_lossy().into_owned())
}

struct OwnedMechanism(*mut Mechanism);

impl OwnedMechanism {
    fn gaussian(noise_multiplier: f64) -> Result<Self, String> {
        let mut mechanism = ptr::null_mut();
        check(unsafe { prv_mechanism_gaussian(noise_multiplier, &mut mechanism) })?;
        Ok(OwnedMechanism(mechanism))
    }

    fn poisson_subsampled(&self, sampling_probability: f64) -> Result<Self, String> {
        let mut mechanism = ptr::null_mut();
        check(unsafe { prv_mechanism_poisson_subsampled(self.0, sampling_probability, &mut mechanism) })?;
        Ok(OwnedMechanism(mechanism))
    }
}

impl Drop for OwnedMechanism {
    fn drop(&mut self) {
        unsafe { prv_mechanism_free(self.0) }
    }
}

struct OwnedFft(*mut FftProvider);

impl OwnedFft {
    fn new() -> Result<Self, String> {
        let mut provider = ptr::null_mut();
        check(unsafe { prv_fft_provider_new(&mut provider) })?;
        Ok(OwnedFft(provider))
    }
}

impl Drop for OwnedFft {
    fn drop(&mut self) {
        unsafe { prv_fft_provider_free(self.0) }
    }
}

fn main() -> Result<(), String> {
    let mechanism = OwnedMechanism::gaussian(0.8)?.poisson_subsampled(1e-3)?;
    let fft = OwnedFft::new()?;
    let step = Step { mechanism: mechanism.0, count: 1000 };
    let options = Options {
        discretization: PRV_BRACKETING,
        engine: PRV_ENGINE_AUTO,
        neighbors: PRV_REMOVE,
        eps_error: 0.0,
        eps_relative_error: 1e-3,
        eps_floor: 1e-3,
        delta_error: 0.0,
        delta_relative_error: 0.0,
        threshold: 0.0,
        mesh_size: 0.0,
        memory_limit: 1 << 30,
        fft: fft.0,
        progress: None,
        progress_context: ptr::null_mut(),
    };
    let delta = 1e-7;
    let mut epsilon = Bounds::default();
    check(unsafe { prv_epsilon(&step, 1, &options, &delta, 1, &mut epsilon, ptr::null_mut()) })?;
    println!("{} <= epsilon <= {}", epsilon.lower, epsilon.upper);
    Ok(())
}
