/* Bayes risks against closed forms and exact tables, and calibrations to risks. */
#include "asking.h"

#include "questions/calibration_risk.h"

static prv_options options_for(double eps_error)
{
    prv_options o = options_of(eps_error);
    o.eps_relative_error = o.eps_floor = 1e-3;
    return o;
}

/* Of N(0, 1) against N(mu, 1): the test rejects above z = log((1 - m) / m) / mu + mu / 2. */
static long double gaussian_risk(long double prior, long double mu)
{
    const long double m = prior < 0.5L ? prior : 1.0L - prior;
    const long double z = (log1pl(-m) - logl(m)) / mu + 0.5L * mu;
    return m * normal_upper(mu - z) + (1.0L - m) * normal_upper(z);
}

static int holds(const prv_bounds *b, long double truth)
{
    const long double rounding = 1e-15L * truth;
    return b->lower <= truth + rounding && truth - rounding <= b->upper && 0.0 <= b->lower &&
           b->lower <= b->estimate && b->estimate <= b->upper;
}

static void gaussians(void)
{
    static const double priors[] = {1e-300, 1e-9, 0.01, 0.3, 0.5, 0.7, 0.99, 1.0 - 0x1p-40};
    static const double noises[] = {0.2, 1.0, 3.0, 50.0};
    enum { PRIORS = sizeof priors / sizeof *priors };
    for (size_t i = 0; i < sizeof noises / sizeof *noises; i++) {
        prv_mechanism *m = gaussian(noises[i]);
        for (int relation = 0; relation < 4; relation++) {
            prv_options o = options_for(0.0);
            o.neighbors = (prv_neighbors)relation;
            const prv_step step = {m, 4};
            const long double mu = (relation == PRV_REPLACE_ONE ? 4.0L : 2.0L) / noises[i];
            prv_bounds b[PRIORS];
            const prv_status status = prv_bayes_risk(&step, 1, &o, priors, PRIORS, b, NULL);
            int sound = status == PRV_OK;
            double worst = 0.0;
            for (size_t j = 0; j < PRIORS && sound; j++) {
                const long double truth = gaussian_risk(priors[j], mu);
                sound = holds(&b[j], truth);
                if (truth > 1e-6L * fmin(priors[j], 1.0 - priors[j]))
                    worst = fmax(worst, (double)((b[j].upper - b[j].lower) / truth));
            }
            check(sound, "Gaussian of noise %g, relation %d: Bayes risk within its bounds", noises[i],
                  relation);
            check(worst < 0.1, "... which are narrow (relatively %.2g)", worst);
        }
        prv_mechanism_free(m);
    }
}

/* Any table: the sum of the lesser of both joint probabilities; */
static void tables(void)
{
    int sound = 1, tried = 0;
    const int trials = trials_of(200);
    for (int trial = 0; trial < trials; trial++) {
        const size_t n = 2 + random_below(6);
        double loss[8], q[8], sum = 0.0;
        long double reverse = 0.0L;
        for (size_t i = 0; i < n; i++) {
            loss[i] = (i > 0 ? loss[i - 1] : uniform(-3.0, 0.0)) + uniform(0.1, 1.5);
            q[i] = uniform(0.01, 1.0);
            sum += q[i];
        }
        for (size_t i = 0; i < n; i++) {
            q[i] /= sum;
            reverse += q[i] * expl(-(long double)loss[i]);
        }
        const double up = (double)logl(reverse) + (random_below(2) ? 0.2 : 0.0);
        for (size_t i = 0; i < n; i++) loss[i] += up;
        prv_mechanism *m = NULL;
        if (prv_mechanism_table(loss, q, n, 0.0, &m) != PRV_OK) continue;
        tried++;
        const double prior = uniform(0.0, 1.0);
        long double risk = 0.0L, all = 0.0L;
        for (size_t i = 0; i < n; i++) all += q[i];
        /* Where Q has no mass, no guess errs. */
        for (size_t i = 0; i < n; i++) {
            const long double in = q[i] / all, out = in * expl(-(long double)loss[i]);
            risk += fminl(prior * in, (1.0L - prior) * out);
        }
        const prv_step step = {m, 1};
        prv_options o = options_for(1e-6);
        o.neighbors = PRV_REMOVE;
        prv_bounds b;
        const prv_status status = prv_bayes_risk(&step, 1, &o, &prior, 1, &b, NULL);
        /* The probabilities of the table sum to 1 but for rounding. */
        const prv_bounds wide = {b.lower * (1.0 - 1e-14), b.estimate, b.upper * (1.0 + 1e-14)};
        const double width = b.upper - b.lower;
        if (status != PRV_OK || !holds(&wide, risk) || width > 1e-5) {
            sound = 0;
            printf("     prior %.17g: %.17Lg outside [%.17g, %.17g]\n", prior, risk, b.lower, b.upper);
        }
        prv_mechanism_free(m);
    }
    check(sound && 4 * tried > 3 * trials, "%d tables: Bayes risk within its bounds, which are narrow",
          tried);
}

static void edges(void)
{
    prv_mechanism *m = subsampled(0.8, 0.01);
    const prv_step step = {m, 1000};
    prv_options o = options_for(0.0);
    const double priors[] = {0.0, 1.0, 0.25}, wrong[] = {-1e-9, 1.5, NAN};
    prv_bounds b[3];
    check(prv_bayes_risk(&step, 1, &o, priors, 2, b, NULL) == PRV_OK && b[0].upper == 0.0 &&
              b[1].upper == 0.0,
          "who knows the answer does not err");
    check(prv_bayes_risk(NULL, 0, &o, priors, 3, b, NULL) == PRV_OK && b[2].lower == 0.25 &&
              b[2].upper == 0.25,
          "nothing run: the less likely hypothesis");
    for (size_t i = 0; i < 3; i++)
        check(prv_bayes_risk(&step, 1, &o, &wrong[i], 1, b, NULL) == PRV_ERR_PRIOR,
              "a prior of %g is refused", wrong[i]);
    o.threshold = 0.1;
    check(prv_bayes_risk(&step, 1, &o, priors, 1, b, NULL) == PRV_ERR_OPTIONS, "no threshold");
    prv_mechanism_free(m);
}

/* ---- Calibrations ---------------------------------------------------------------------------- */

/* The least noise of a Gaussian mechanism is 1 / mu, where mu has the risk. */
static void closed_forms(void)
{
    static const double mus[] = {1e-3, 0.1, 1.0, 4.0};
    const prv_options o = options_of(0.0);
    prv_mechanism *m = gaussian(1.0);
    const prv_step step = {m, 1};
    for (size_t i = 0; i < sizeof mus / sizeof *mus; i++) {
        const long double mu = mus[i], z = 2.326347874040841100886L; /* of the tail 0.01 */
        const prv_risk_target targets[] = {
            {PRV_ADVANTAGE, 0.0, (double)(1.0L - 2.0L * normal_upper(0.5L * mu))},
            {PRV_POWER, 0.01, (double)normal_upper(z - mu)},
            {PRV_BAYES_RISK, 0.5, (double)gaussian_risk(0.5L, mu)},
            {PRV_BAYES_RISK, 0.3, (double)gaussian_risk(0.3L, mu)},
            {PRV_BAYES_RISK, 0.8, (double)gaussian_risk(0.8L, mu)},
            {PRV_GAUSSIAN_MU, 1e-6, mus[i]},
        };
        for (size_t j = 0; j < sizeof targets / sizeof *targets; j++) {
            const prv_risk_target *t = &targets[j];
            /* Far from even odds a small mu changes hardly any guess: the risk in doubles does not tell it.
             */
            if (t->risk == PRV_BAYES_RISK && t->at != 0.5 && mus[i] < 0.5) continue;
            prv_calibration c;
            const prv_status status = prv_calibrate_risk(&step, 1, 0, PRV_NOISE_SCALE, t->risk, t->at,
                                                         t->value, 1e-4, &o, &c);
            const double noise = 1.0 / mus[i];
            /* Where delta is near 1, its bounds tell mu less closely than the tolerance. */
            const int is_coarse = t->risk == PRV_GAUSSIAN_MU && mus[i] > 2.0;
            check(status == PRV_OK && fabs(c.factor / noise - 1.0) <= 2e-4,
                  "risk %d at %g, target %.9g: noise %.9g, got %.9g (%d, %d)", (int)t->risk, t->at, t->value,
                  noise, c.factor, (int)c.compositions, (int)c.fine);
            check(status == PRV_OK && prv_meets_risk(t, &c.epsilon) &&
                      (is_coarse || prv_misses_risk(t, &c.next_epsilon)) && c.next_factor < c.factor &&
                      c.next_factor >= c.factor * (1.0 - 1.1e-4) && c.monotone,
                  "... and the next noise certainly misses: [%.9g, %.9g]", c.next_epsilon.lower,
                  c.next_epsilon.upper);
            check(c.compositions <= 20, "... after %d questions", (int)c.compositions);
        }
    }
    prv_mechanism_free(m);
}

static void parameters(void)
{
    prv_mechanism *m = subsampled(1.0, 0.01);
    const prv_step step = {m, 500};
    const prv_options o = options_of(0.0);
    static const prv_risk_target targets[] = {{PRV_ADVANTAGE, 0.0, 0.2},
                                              {PRV_POWER, 0.01, 0.05},
                                              {PRV_BAYES_RISK, 0.4, 0.35},
                                              {PRV_GAUSSIAN_MU, 1e-5, 0.7}};
    static const prv_parameter all[] = {PRV_NOISE_SCALE, PRV_SAMPLING_PROBABILITY, PRV_STEPS};
    for (size_t i = 0; i < 4; i++) {
        const prv_risk_target *t = &targets[i];
        for (size_t j = 0; j < 3; j++) {
            prv_calibration c;
            const prv_status status = prv_calibrate_risk(&step, 1, 0, all[j], t->risk, t->at, t->value, 1e-3,
                                                         &o, &c);
            check(status == PRV_OK && prv_meets_risk(t, &c.epsilon) && prv_misses_risk(t, &c.next_epsilon),
                  "risk %d, parameter %d: %.9g meets, %.9g misses (%d, %d)", (int)t->risk, (int)all[j],
                  c.factor, c.next_factor, (int)c.compositions, (int)c.fine);
            /* The bounds stated are those of a query. */
            prv_mechanism *scaled = NULL;
            prv_step found = {m, 500};
            if (all[j] == PRV_STEPS) {
                found.count *= (uint64_t)c.factor;
            } else {
                if (prv_mechanism_scaled(m, all[j], c.factor, &scaled) != PRV_OK) abort();
                found.mechanism = scaled;
            }
            prv_options again = o;
            again.eps_error = c.eps_error;
            prv_bounds b;
            prv_report report;
            check(prv_bound_risk(t, &found, 1, &again, &b, &report) == PRV_OK && b.lower == c.epsilon.lower &&
                      b.upper == c.epsilon.upper,
                  "... and its bounds come back");
            prv_mechanism_free(scaled);
        }
    }
    prv_mechanism_free(m);
}

static void ends(void)
{
    prv_mechanism *m = gaussian(1.0);
    const prv_step step = {m, 1}, both[2] = {{m, 1}, {m, 1}};
    const prv_options o = options_of(0.0);
    prv_calibration c;
    check(prv_calibrate_risk(&step, 1, 0, PRV_NOISE_SCALE, PRV_ADVANTAGE, 0.0, 1.0, 1e-4, &o, &c) == PRV_OK &&
              c.factor == 0.0 && isnan(c.next_factor),
          "an advantage of 1 needs no noise");
    check(prv_calibrate_risk(&step, 1, 0, PRV_STEPS, PRV_BAYES_RISK, 0.5, 0.0, 1e-4, &o, &c) == PRV_OK &&
              c.factor == 0x1p53 && isnan(c.next_factor),
          "a Bayes risk of 0 allows any steps");
    check(prv_calibrate_risk(&step, 1, 0, PRV_NOISE_SCALE, PRV_POWER, 0.1, 0.05, 1e-4, &o, &c) ==
                  PRV_ERR_TARGET &&
              c.epsilon.lower == 0.1,
          "no power is below its false positive rate");
    check(prv_calibrate_risk(&step, 1, 0, PRV_NOISE_SCALE, PRV_BAYES_RISK, 0.25, 0.3, 1e-4, &o, &c) ==
                  PRV_ERR_TARGET &&
              c.epsilon.upper == 0.25,
          "no Bayes risk is above that of a guess without the output");
    check(prv_calibrate_risk(both, 2, 1, PRV_NOISE_SCALE, PRV_ADVANTAGE, 0.0, 0.3, 1e-4, &o, &c) ==
                  PRV_ERR_TARGET &&
              c.epsilon.lower > 0.38,
          "what has run is too much");
    static const prv_risk_target wrong[] = {{PRV_ADVANTAGE, 0.1, 0.5},
                                            {PRV_ADVANTAGE, 0.0, 1.5},
                                            {PRV_POWER, 0.1, NAN},
                                            {PRV_GAUSSIAN_MU, 1e-5, -1.0},
                                            {(prv_risk)17, 0.0, 0.5}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check(prv_calibrate_risk(&step, 1, 0, PRV_NOISE_SCALE, wrong[i].risk, wrong[i].at, wrong[i].value,
                                 1e-4, &o, &c) == PRV_ERR_RISK,
              "refused: risk %d at %g, target %g", (int)wrong[i].risk, wrong[i].at, wrong[i].value);
    check(prv_calibrate_risk(&step, 1, 0, PRV_NOISE_SCALE, PRV_POWER, 0.0, 0.5, 1e-4, &o, &c) == PRV_ERR_RATE,
          "refused: a false positive rate of 0");
    check(prv_calibrate_risk(&step, 1, 0, PRV_NOISE_SCALE, PRV_BAYES_RISK, 1.0, 0.5, 1e-4, &o, &c) ==
              PRV_ERR_PRIOR,
          "refused: a prior of 1");
    check(prv_calibrate_risk(&step, 1, 0, PRV_NOISE_SCALE, PRV_GAUSSIAN_MU, 0.0, 0.5, 1e-4, &o, &c) ==
              PRV_ERR_DELTA,
          "refused: mu down to delta 0");
    prv_mechanism_free(m);
}

/* Bounds on either side of a target say nothing about it. */
static void undecided(void)
{
    static const prv_risk_target targets[] = {
        {PRV_ADVANTAGE, 0.0, 0.5}, {PRV_POWER, 0.1, 0.5}, {PRV_BAYES_RISK, 0.5, 0.5}};
    const prv_bounds across = {0.4, 0.5, 0.6}, below = {0.3, 0.35, 0.4}, above = {0.6, 0.65, 0.7};
    for (size_t i = 0; i < 3; i++) {
        const prv_risk_target *t = &targets[i];
        const bool private = t->risk != PRV_BAYES_RISK; /* if its value is small */
        check(!prv_meets_risk(t, &across) && !prv_misses_risk(t, &across) &&
                  prv_meets_risk(t, private ? &below : &above) &&
                  !prv_misses_risk(t, private ? &below : &above) &&
                  prv_misses_risk(t, private ? &above : &below) &&
                  !prv_meets_risk(t, private ? &above : &below),
              "risk %d: its target is met, missed, or neither is known", (int)t->risk);
    }
    const prv_risk_target likely = {PRV_BAYES_RISK, 0.75, 0.1}, rare = {PRV_BAYES_RISK, 0.25, 0.1};
    check(prv_least_risk(&likely) == 0.25 && prv_least_risk(&rare) == 0.25,
          "a guess without the output errs with the less likely of both");
}

int main(void)
{
    if (prv_provider_new(&prv_portable_planner, &provider) != PRV_OK) abort();
    gaussians();
    tables();
    edges();
    closed_forms();
    parameters();
    ends();
    undecided();
    prv_fft_provider_free(provider);
    return summary();
}
