// Epsilon of 1000 steps of DP-SGD at delta 1e-7, in Rust: rustc epsilon.rs -L <folder of libprvcore> -l prvcore
#[repr(C)]
#[derive(Default)]
struct Bounds {
    lower: f64,
    _estimate: f64,
    upper: f64,
}

extern "C" {
    fn prv_dpsgd_epsilon(noise_multiplier: f64, sampling_probability: f64, steps: u64, delta: f64, epsilon: *mut Bounds) -> i32;
}

fn main() {
    let mut epsilon = Bounds::default();
    let status = unsafe { prv_dpsgd_epsilon(0.8, 1e-3, 1000, 1e-7, &mut epsilon) };
    assert_eq!(status, 0);
    println!("{} <= epsilon <= {}", epsilon.lower, epsilon.upper);
}
