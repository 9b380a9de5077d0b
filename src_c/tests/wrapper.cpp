// prvcore.hpp: copies, comparisons, accountants, and failures that are thrown.
#include <prvcore.hpp>

#include <cstdio>

static int failures = 0;

static void check(bool right, const char *text)
{
    if (right) return;
    std::printf("FAILED %s\n", text);
    failures++;
}

// Epsilon of 1000 steps at noise 0.8 and probability 1e-3, at delta 1e-7: test_dpsgd.c.
static bool holds_truth(const prv_bounds &a)
{
    return a.lower <= 0.703708838719 && a.upper >= 0.703708838717 && a.upper - a.lower <= 1e-3;
}

static bool same(const prv_bounds &a, const prv_bounds &b)
{
    return a.lower == b.lower && a.estimate == b.estimate && a.upper == b.upper;
}

static void mechanisms()
{
    const prv::mechanism step = prv::gaussian(0.8).poisson_subsampled(1e-3);
    const prv_description &made = step.description();
    check(made.kind == PRV_KIND_POISSON_SUBSAMPLED && made.sampling_probability == 1e-3, "a mechanism is read");
    const prv::mechanism base = prv::mechanism::share(made.parts[0].mechanism);
    check(base == prv::gaussian(0.8) && base != step && base.description().noise == 0.8, "and so is its base");
    try {
        prv::gaussian(-1.0);
        check(false, "noise of -1 is refused");
    } catch (const prv::error &error) {
        check(error.status() == PRV_ERR_NOISE_MULTIPLIER, "noise of -1 is refused as such");
    }
}

static void accountants()
{
    prv::accountant run;
    for (int i = 0; i < 10; i++) run.add(prv::gaussian(0.8).poisson_subsampled(1e-3), 100);
    check(run.steps().size() == 1 && run.steps()[0].count == 1000, "equal steps are one");
    const prv_bounds epsilon = run.epsilon(1e-7);
    check(holds_truth(epsilon), "the epsilon of an accountant");
    check(holds_truth(prv::composition(run.steps()).epsilon(1e-7)), "the epsilon of its steps");
    prv::accountant other = run, last = prv::accountant();
    other.add(prv::laplace(10.0));
    check(run.steps().size() == 1 && other.steps().size() == 2, "copies go on by themselves");
    check(other.delta(1.0).upper > run.delta(1.0).upper, "more steps tell more");
    last = other;
    check(same(last.epsilon(1e-7), other.epsilon(1e-7)), "copies are assigned");
    prv::accountant read = prv::accountant::from_json(other.to_json());
    check(read.steps().size() == 2 && same(read.epsilon(1e-7), other.epsilon(1e-7)), "what was saved goes on");
    try {
        prv::accountant::from_json("{}");
        check(false, "no accountant is refused");
    } catch (const prv::error &error) {
        check(error.status() == PRV_ERR_JSON, "no accountant is refused as such");
    }
    last = std::move(run);
    check(same(last.epsilon(1e-7), epsilon), "and moved");
}

int main()
{
    mechanisms();
    accountants();
    return failures == 0 ? 0 : 1;
}
