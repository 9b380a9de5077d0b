//! Epsilon of 1000 steps of DP-SGD at delta 1e-7, in Rust.
use prvcore::{epsilon, Error, Mechanism, Options};

fn main() -> Result<(), Error> {
    let step = Mechanism::gaussian(0.8)?.poisson_subsampled(1e-3)?;
    let epsilon = epsilon(&[(&step, 1000)], 1e-7, &Options::default())?;
    println!("{} <= epsilon <= {}", epsilon.lower, epsilon.upper);
    Ok(())
}
