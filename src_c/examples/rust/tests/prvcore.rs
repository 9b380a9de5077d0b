//! The crate against values that interval arithmetic gave, and its objects in several threads.
use prvcore::{delta, dpsgd_noise, epsilon, version, Accountant, Error, Mechanism, Neighbors, Options};
use std::thread;

/// Epsilon at delta 1e-7, of 1000 steps with noise 0.8 and probability 1e-3; a record is removed.
const TRUTH: f64 = 0.703708838718;

fn step() -> Result<Mechanism, Error> {
    Mechanism::gaussian(0.8)?.poisson_subsampled(1e-3)
}

#[test]
fn bounds_hold_the_truth() -> Result<(), Error> {
    let (step, options) = (step()?, Options::default());
    let found = epsilon(&[(&step, 1000)], 1e-7, &options)?;
    assert!(found.lower <= TRUTH + 1e-12 && TRUTH - 1e-12 <= found.upper && found.upper - found.lower <= 1e-3);
    let found = delta(&[(&step, 1000)], TRUTH, &options.neighbors(Neighbors::Remove))?;
    assert!(found.lower <= 1e-7 * (1.0 + 1e-10) && 1e-7 * (1.0 - 1e-10) <= found.upper);
    let noise = dpsgd_noise(1e-3, 1000, TRUTH, 1e-7)?;
    assert!((0.8 - 1e-9..0.8003).contains(&noise), "{noise}");
    Ok(())
}

#[test]
fn threads_share_mechanisms() -> Result<(), Error> {
    let step = step()?;
    let ask = |m: Mechanism| move || epsilon(&[(&m, 1000)], 1e-7, &Options::default());
    let threads: Vec<_> = (0..4).map(|_| thread::spawn(ask(step.clone()))).collect();
    let alone = epsilon(&[(&step, 1000)], 1e-7, &Options::default())?;
    drop(step);
    for t in threads {
        assert_eq!(t.join().expect("a thread")?, alone);
    }
    Ok(())
}

#[test]
fn accountants_hold_their_steps() -> Result<(), Error> {
    let (mut run, options) = (Accountant::new()?, Options::default());
    for _ in 0..10 {
        run.add(&step()?, 100)?;
    }
    let steps = run.steps();
    assert!(steps.len() == 1 && steps[0].1 == 1000 && steps[0].0 == step()?);
    let mut other = run.copy()?;
    other.add(&Mechanism::laplace(10.0, 1.0)?, 1)?;
    let (less, more) = (run.epsilon(1e-7, &options)?, other.epsilon(1e-7, &options)?);
    assert!(less.lower <= TRUTH + 1e-12 && TRUTH - 1e-12 <= less.upper && more.lower > less.upper);
    Ok(())
}

#[test]
fn mechanisms_of_others() -> Result<(), Error> {
    let base = Mechanism::gaussian(20.0)?;
    let whole = Mechanism::composed(&[(&base, 3), (&Mechanism::approximate_dp(0.01, 0.0)?, 1)])?;
    let batches = whole.random_allocation(10)?;
    drop(base);
    let (one, all) =
        (epsilon(&[(&batches, 1)], 1e-5, &Options::default())?, epsilon(&[(&whole, 1)], 1e-5, &Options::default())?);
    assert!(one.upper < all.lower);
    Ok(())
}

#[test]
fn failures_are_errors() {
    let error = Mechanism::gaussian(-1.0).err().expect("noise of -1 is refused");
    assert_eq!(error.to_string(), "noise_multiplier must be finite, and 0 or in (1e-150, 4e307)");
    assert_eq!(Options::default().fault(), None);
    assert_eq!(Options::default().eps_error(-1.0).fault(), Some("eps_error"));
    assert!(version().starts_with("0."));
}
