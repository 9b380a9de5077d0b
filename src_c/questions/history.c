/* A composition that grows: what was computed for each step is kept, so that asking again costs what was
 * added.
 *
 * A plan (tilt, lattice, period, frequencies, meshes' scale) is made for a beginning of the history, with
 * room for half as much again. At these frequencies log Phi is a sum over the steps, so is all else that a
 * certificate needs; what the frequencies left out make up was bounded for the beginning, and further factors
 * |phi| <= 1 only lower it. Plans follow one another like a geometric sequence, so that each step is enclosed
 * about three times in all.
 *
 * Which beginning is planned for, and each mesh, depend on the steps and their order alone. So answers do
 * too: they are the same whatever was asked before, and a history that was never asked gives them as well.
 * Where the bounds of a plan are too wide, the composition is bounded as a whole, as prv_epsilon does it. */
#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "mechanisms/replace_one.h"
#include "composition/spectrum.h"
#include "curve/attained.h"
#include "planning/layout.h"
#include "questions/epsilon_delta.h"
#include "questions/question.h"
#include "questions/reading.h"

/* How much longer a composition is at the end of a plan than at its beginning. */
#define GROWTH 1.5

/* Questions whose sums are kept; the one asked longest ago gives way. */
enum { QUESTIONS = 8 };

/* Products of an atom and a frequency that a plan's spectrum may take for each of its steps. */
#define MOST_WORK 4e6

/* One direction of a distinct step. */
typedef struct kind {
    const prv_mechanism *mechanism;
    prv_mechanism *replaced; /* the pair that was made for PRV_REPLACE_ONE, or NULL */
    double size;             /* of one run: the second moment of its loss, about */
} kind;

/* The part of a plan that belongs to the dominating or to the dominated lattices. */
typedef struct half_plan {
    prv_spectrum frequencies; /* without sums */
    double unit;
    int64_t divisor;
} half_plan;

typedef struct plan {
    int level;           /* of sizes: GROWTH^level are planned for, */
    size_t kinds;        /* which so many steps have; 0: nothing is planned, */
    uint64_t last_count; /* the last of them running so often, */
    double last_meshed;  /* with the mesh of this count */
    int vain;            /* no plan can be made for them */
    double size;
    size_t fineness;
    prv_aim aim;
    prv_layout layout; /* without meshes */
    half_plan half[2];
} plan;

/* Sums over the first `length` steps. */
typedef struct sums {
    size_t length;
    int vain; /* one of these does not fit the plan */
    prv_totals all;
    prv_enclosed enclosed;
    struct {
        prv_exponents exponents;
        prv_composed composed;
    } half[2];
} sums;

/* One question in one direction. */
typedef struct growth {
    plan plan;
    sums settled, now; /* all steps but the last, which may run again, and all */
} growth;

typedef struct asked_before {
    prv_question question;
    double value;
    uint64_t when; /* 0: never */
    growth directions[2];
} asked_before;

struct prv_history {
    prv_options options; /* that the sums were made with */
    uint64_t clock;
    size_t length, capacity;
    prv_step *steps; /* as asked last, each with a count > 0 */
    kind *kinds[2];  /* [length] remove (or replace-one), and add */
    asked_before questions[QUESTIONS];
};

/* ---- Sums ---------------------------------------------------------------------------------- */

static void sums_clear(sums *s)
{
    for (int i = 0; i < 2; i++) s->half[i].exponents.count = 0;
    s->length = 0;
    s->vain = 0;
}

static void sums_free(sums *s)
{
    for (int i = 0; i < 2; i++) prv_exponents_free(&s->half[i].exponents);
    memset(s, 0, sizeof *s);
}

/* No step yet, at the frequencies of the plan. */
static prv_status sums_begin(const plan *p, sums *s)
{
    sums_clear(s);
    memset(&s->all, 0, sizeof s->all);
    memset(&s->enclosed, 0, sizeof s->enclosed);
    for (int i = 0; i < 2; i++) {
        const prv_spectrum *f = &p->half[i].frequencies;
        prv_composed *c = &s->half[i].composed;
        memset(c, 0, sizeof *c);
        c->tilted = prv_tilted_new(p->layout.tilt, &p->layout.window);
        c->step = p->half[i].unit;
        for (size_t run = 0; run < f->run_count; run++) {
            const prv_status status = prv_exponents_append(&s->half[i].exponents, f->runs[run].first,
                                                           f->runs[run].length);
            if (status != PRV_OK) return status;
        }
    }
    return PRV_OK;
}

static prv_status sums_copy(const sums *from, sums *to)
{
    prv_exponents kept[2] = {to->half[0].exponents, to->half[1].exponents};
    prv_status status = PRV_OK;
    for (int i = 0; i < 2 && status == PRV_OK; i++)
        status = prv_exponents_copy(&from->half[i].exponents, &kept[i]);
    *to = *from;
    for (int i = 0; i < 2; i++) to->half[i].exponents = kept[i];
    return status;
}

/* Counts that a mesh is made for: it stays while a step runs on. */
static double meshed_count(uint64_t count)
{
    return exp2(ceil(log2((double)count)));
}

static prv_status enclose(const plan *p, const kind *k, int add, uint64_t count, const prv_options *options,
                          prv_enclosure *enclosure)
{
    const prv_step step = {k->mechanism, 1};
    prv_direction direction;
    prv_status status = prv_direction_new(&step, 1, add ? PRV_ADD : PRV_REMOVE, add, &direction);
    if (status != PRV_OK) return status;
    direction.counts[0] = meshed_count(count);
    if (p->fineness > 1) status = prv_direction_profile(&direction, p->fineness);
    prv_layout layout;
    memset(&layout, 0, sizeof layout);
    const double part = fmin(direction.counts[0] * k->size / p->size, 1.0);
    if (status == PRV_OK) status = prv_layout_another(&p->layout, &direction, &p->aim, part, &layout);
    if (status == PRV_OK)
        status = prv_enclosure_new(k->mechanism, add, &layout.meshes[0], &layout.cells[0], p->aim.saddle,
                                   options, enclosure);
    prv_layout_free(&layout);
    prv_direction_free(&direction);
    return status;
}

/* Adds a step to the sums over all before it. */
static prv_status add_enclosed(const plan *p, const kind *k, int add, uint64_t count,
                               const prv_enclosure *enclosure, sums *s)
{
    prv_status status = s->length == 0 ? sums_begin(p, s) : PRV_OK;
    const size_t above = enclosure->dominating.length, below = enclosure->dominated.length;
    double *weight = prv_allocate(above > below ? above : below, sizeof *weight);
    if (weight == NULL) status = PRV_ERR_MEMORY;
    for (int i = 0; i < 2 && status == PRV_OK; i++)
        status = prv_spectrum_add(i == 0 ? &enclosure->dominating : &enclosure->dominated, (double)count,
                                  p->half[i].divisor, p->half[i].frequencies.points, weight,
                                  &s->half[i].exponents, &s->half[i].composed);
    prv_release(weight);
    prv_totals_add(&s->all, k->mechanism, (double)count, add);
    prv_enclosed_add(&s->enclosed, enclosure, (double)count);
    s->length++;
    s->vain = status == PRV_ERR_PRECISION;
    return s->vain ? PRV_OK : status;
}

static prv_status add_step(const prv_history *h, const plan *p, int add, const prv_options *options, sums *s)
{
    const size_t j = s->length;
    const kind *k = &h->kinds[add][j];
    const uint64_t count = h->steps[j].count;
    prv_enclosure enclosure;
    prv_status status = enclose(p, k, add, count, options, &enclosure);
    if (status != PRV_OK) return status;
    status = add_enclosed(p, k, add, count, &enclosure, s);
    prv_enclosure_free(&enclosure);
    return status;
}

/* Brings g->now up to all steps, or to one that does not fit. */
static prv_status add_steps(const prv_history *h, int add, const prv_options *options, growth *g)
{
    const size_t last = h->length - 1;
    if (g->now.length == h->length) return PRV_OK;
    if (g->now.length == last && g->settled.length < last) {
        const sums swap = g->settled;
        g->settled = g->now;
        g->now = swap;
    }
    prv_status status = PRV_OK;
    while (g->settled.length < last && !g->settled.vain && status == PRV_OK)
        status = add_step(h, &g->plan, add, options, &g->settled);
    if (status == PRV_OK) status = sums_copy(&g->settled, &g->now);
    if (status == PRV_OK && !g->now.vain) status = add_step(h, &g->plan, add, options, &g->now);
    return status;
}

/* ---- Plans --------------------------------------------------------------------------------- */

static void plan_free(plan *p)
{
    for (int i = 0; i < 2; i++) prv_spectrum_free(&p->half[i].frequencies);
    memset(p, 0, sizeof *p);
}

/* The beginning of the history that is planned for; no kinds where there is nothing to tell sizes by. */
static void choose_beginning(const prv_history *h, int add, plan *p)
{
    double size = 0.0;
    for (size_t j = 0; j < h->length; j++) size += (double)h->steps[j].count * h->kinds[add][j].size;
    p->kinds = 0;
    if (!(size > 1e-300 && size < 1e300)) return;
    p->level = (int)floor(log(size) / log(GROWTH));
    p->size = fmin(pow(GROWTH, p->level), size);
    double before = 0.0;
    for (size_t j = 0; j < h->length; j++) {
        const double each = h->kinds[add][j].size, count = (double)h->steps[j].count;
        p->kinds = j + 1;
        p->last_count = (uint64_t)fmin(fmax(ceil((p->size - before) / each), 1.0), count);
        p->last_meshed = meshed_count(h->steps[j].count);
        before += count * each;
        if (before >= p->size) break;
    }
}

static int is_for_the_same(const plan *a, const plan *b)
{
    return a->kinds == b->kinds && a->level == b->level && a->size == b->size &&
           a->last_count == b->last_count && a->last_meshed == b->last_meshed;
}

/* As though each step ran that many times as often. */
static void lengthen(prv_direction *direction, double factor)
{
    for (size_t j = 0; j < direction->steps; j++) direction->counts[j] *= factor;
    prv_totals *all = &direction->all;
    all->count *= factor;
    prv_infinite_lengthen(&all->infinite, factor);
    all->greatest_loss *= factor;
    all->greatest_error *= factor;
}

/* 0 where the answer is likely to be known without. */
static int needs_composition(const prv_direction *direction, const asked_before *a)
{
    if (a->question == PRV_ASK_EPSILON)
        return a->value > 2.0 * direction->all.infinite.mass &&
               a->value < prv_most_total_variation(direction);
    return a->value < direction->all.greatest_loss && isfinite(a->value) &&
           prv_log_complement(direction, a->value) > log(PRV_FINEST_DELTA);
}

/* Aim and layout for the middle of what the plan is to hold for. */
static prv_status lay_out(prv_direction *direction, const asked_before *a, const prv_options *options,
                          plan *p)
{
    prv_aim *aim = &p->aim;
    lengthen(direction, sqrt(GROWTH));
    if (!needs_composition(direction, a)) return PRV_ERR_PRECISION;
    prv_take_aim(direction, options, a->question, a->value, aim);
    prv_status status = prv_refine_aim(direction, options, a->question, a->value, aim);
    if (status != PRV_OK) return status;
    /* The mesh's part of the width grows with the steps, and the width asked may be that of a smaller
     * epsilon. */
    const double whole = 1.0 + direction->all.infinite.mass / exp(aim->log_delta);
    aim->asked = 0.8 * prv_width_asked(options, aim->epsilon);
    aim->width = 0.8 * prv_width_wanted(options, a->question, aim, aim->epsilon, whole);
    if (a->question == PRV_ASK_EPSILON) aim->reach = fmax(aim->reach, 0.4 * aim->epsilon);
    /* What lies outside is bounded by tilts for the middle. */
    aim->strictness = 50.0;
    p->fineness = direction->fineness;
    const double tilt = fmax(aim->saddle, fmin(1.0 / aim->deviation, 1.0 / aim->width));
    const double step = fmin(prv_law_step(direction, aim), 1.0 / aim->saddle);
    status = prv_layout_plan(direction, aim, tilt, step, 0, PRV_ENGINE_SPECTRUM,
                             (double)options->memory_limit, &p->layout);
    if (status != PRV_OK) return status;
    /* Steps of less noise may have far larger moments; a longer period costs little, and a smaller shift
     * bounds tails nearly as well. */
    p->layout.window.later = 3.0;
    p->layout.window.shift_up *= 0.4;
    return PRV_OK;
}

/* Frequencies, and what those left out make up, for the beginning. */
static prv_status choose_frequencies(const prv_lattice *const *lattices, const double *counts, const plan *p,
                                     const prv_options *options, half_plan *half)
{
    prv_composed composed;
    prv_window window = p->layout.window;
    window.options = options;
    const prv_status status = prv_spectrum_new(lattices, counts, p->kinds, p->layout.tilt, &window,
                                               MOST_WORK * (double)p->kinds, &half->frequencies, &composed);
    if (status != PRV_OK) return status;
    half->unit = composed.step;
    half->divisor = (int64_t)fmin(rint(composed.step / p->layout.step), 0x1p53);
    const int on_lattice = half->divisor > 0 && half->unit == p->layout.step * (double)half->divisor;
    return on_lattice && half->frequencies.count > 0 ? PRV_OK : PRV_ERR_PRECISION;
}

/* Chooses frequencies for the beginning, and sums its steps; but not the last of all, which may run on. */
static prv_status sum_beginning(const prv_history *h, int add, const prv_options *options, plan *p, sums *s)
{
    prv_status status = PRV_OK;
    prv_enclosure *each = prv_allocate(p->kinds, sizeof *each);
    const prv_lattice **list = prv_allocate(p->kinds, sizeof *list);
    double *counts = prv_allocate(p->kinds, sizeof *counts);
    if (each == NULL || list == NULL || counts == NULL) status = PRV_ERR_MEMORY;
    size_t n = 0;
    while (n < p->kinds && status == PRV_OK) {
        counts[n] = (double)(n + 1 < p->kinds ? h->steps[n].count : p->last_count);
        status = enclose(p, &h->kinds[add][n], add, h->steps[n].count, options, &each[n]);
        if (status == PRV_OK) n++;
    }
    for (int i = 0; i < 2 && status == PRV_OK; i++) {
        for (size_t j = 0; j < n; j++) list[j] = i == 0 ? &each[j].dominating : &each[j].dominated;
        status = choose_frequencies(list, counts, p, options, &p->half[i]);
    }
    for (size_t j = 0; j < n && j + 1 < h->length && !s->vain && status == PRV_OK; j++)
        status = add_enclosed(p, &h->kinds[add][j], add, h->steps[j].count, &each[j], s);
    for (size_t j = 0; j < n; j++) prv_enclosure_free(&each[j]);
    prv_release(each);
    prv_release((void *)list);
    prv_release(counts);
    return status;
}

static int is_vain(prv_status status)
{
    return status == PRV_ERR_PRECISION || status == PRV_ERR_ENGINE || status == PRV_ERR_MEMORY_LIMIT;
}

/* The beginning of the history as planning sees it. */
static prv_status direction_of_beginning(const prv_history *h, int add, const plan *p,
                                         prv_direction *direction)
{
    prv_step *steps = prv_allocate(p->kinds, sizeof *steps);
    if (steps == NULL) return PRV_ERR_MEMORY;
    for (size_t j = 0; j < p->kinds; j++)
        steps[j] = (prv_step){h->kinds[add][j].mechanism,
                              j + 1 < p->kinds ? h->steps[j].count : p->last_count};
    const prv_status status = prv_direction_new(steps, p->kinds, add ? PRV_ADD : PRV_REMOVE, add, direction);
    prv_release(steps);
    return status;
}

/* The plan for the history as it is; the one there is, if it is that. */
static prv_status make_plan(const prv_history *h, int add, const asked_before *a, const prv_options *options,
                            growth *g)
{
    plan p = {0};
    choose_beginning(h, add, &p);
    if (p.kinds > 0 && is_for_the_same(&p, &g->plan)) return PRV_OK;
    plan_free(&g->plan);
    sums_clear(&g->settled);
    sums_clear(&g->now);
    prv_status status = PRV_ERR_PRECISION;
    if (p.kinds > 0) {
        prv_direction direction;
        status = direction_of_beginning(h, add, &p, &direction);
        if (status != PRV_OK) return status;
        status = lay_out(&direction, a, options, &p);
        prv_direction_free(&direction);
    }
    if (status == PRV_OK) status = sum_beginning(h, add, options, &p, &g->settled);
    p.vain = is_vain(status);
    g->plan = p;
    return p.vain ? PRV_OK : status;
}

/* ---- Answers ------------------------------------------------------------------------------- */

static prv_status read_sums(const asked_before *a, const growth *g, const prv_options *options,
                            prv_reading *reading)
{
    const plan *p = &g->plan;
    prv_aim aim = p->aim;
    /* What is summed is as close as the plan made it: a reading is judged by the width in epsilon. */
    aim.asked = aim.width = prv_width_asked(options, a->question == PRV_ASK_EPSILON ? aim.epsilon : a->value);
    const prv_asked asked = {a->question, a->value, &g->now.all, &aim, &g->now.enclosed};
    *reading = prv_reading_begin(aim.epsilon);
    for (int i = 0; i < 2; i++) {
        const half_plan *half = &p->half[i];
        prv_composed composed = g->now.half[i].composed;
        prv_spectrum spectrum = {0};
        const prv_status status = prv_spectrum_fill(&g->now.half[i].exponents, g->now.length, 0, half->unit,
                                                    p->layout.tilt, half->frequencies.points, &spectrum);
        if (status == PRV_OK) {
            spectrum.tolerance = half->frequencies.tolerance;
            spectrum.left_out = half->frequencies.left_out;
            spectrum.low = half->frequencies.low;
            spectrum.below = prv_tilted_below(&composed.tilted, spectrum.low);
            composed.spectrum = &spectrum;
            prv_read_side(&asked, i == 0 ? 1 : -1, &composed, reading);
        }
        prv_spectrum_free(&spectrum);
        if (status != PRV_OK) return status;
    }
    return prv_finish_reading(&asked, reading);
}

/* Answers by plans; *found is 0 where one has to look at the composition as a whole. */
static prv_status answer(prv_history *h, asked_before *a, const int *adds, size_t directions,
                         const prv_options *options, prv_bounds *b, prv_report *r, int *found)
{
    prv_reading readings[2];
    size_t top = 0;
    *found = 0;
    for (size_t i = 0; i < directions; i++) {
        growth *g = &a->directions[adds[i]];
        prv_status status = make_plan(h, adds[i], a, options, g);
        if (status == PRV_OK && !g->plan.vain) status = add_steps(h, adds[i], options, g);
        if (status != PRV_OK || g->plan.vain || g->now.vain) return status;
        status = read_sums(a, g, options, &readings[i]);
        if (status != PRV_OK || !readings[i].resolved) return status;
        if (readings[i].bounds.upper > readings[top].bounds.upper) top = i;
    }
    *b = readings[0].bounds;
    if (directions > 1) prv_gate_worst(b, &readings[1].bounds);
    const int ask_epsilon = a->question == PRV_ASK_EPSILON;
    const double width = ask_epsilon ? b->upper - b->lower : readings[top].width;
    if (!(width <= prv_width_asked(options, ask_epsilon ? b->lower : a->value)) &&
        !prv_is_relatively_close(options, a->question, b->lower, b->upper))
        return PRV_OK;
    const growth *g = &a->directions[adds[top]];
    prv_report_reading(&readings[top], options->neighbors, adds[top], width, 1, r);
    r->attained = 1;
    r->engine = PRV_ENGINE_SPECTRUM;
    r->mesh_size = g->plan.layout.law_step;
    r->tilt = g->plan.layout.tilt;
    r->cells = g->now.enclosed.knots;
    r->memory = prv_size_of(g->plan.layout.bytes);
    *found = 1;
    return PRV_OK;
}

/* ---- The history --------------------------------------------------------------------------- */

prv_status prv_history_new(prv_history **history)
{
    prv_history *h = prv_allocate(1, sizeof *h);
    *history = h;
    if (h == NULL) return PRV_ERR_MEMORY;
    memset(h, 0, sizeof *h);
    return PRV_OK;
}

static void growth_free(growth *g)
{
    plan_free(&g->plan);
    sums_free(&g->settled);
    sums_free(&g->now);
}

static void forget_steps(prv_history *h, size_t from)
{
    for (size_t j = from; j < h->length; j++)
        for (int add = 0; add < 2; add++) prv_mechanism_free(h->kinds[add][j].replaced);
    if (h->length > from) h->length = from;
}

static void forget(prv_history *h)
{
    forget_steps(h, 0);
    for (size_t i = 0; i < QUESTIONS; i++) {
        for (int add = 0; add < 2; add++) growth_free(&h->questions[i].directions[add]);
        h->questions[i].when = 0;
    }
}

void prv_history_free(prv_history *h)
{
    if (h == NULL) return;
    forget(h);
    prv_release(h->steps);
    prv_release(h->kinds[0]);
    prv_release(h->kinds[1]);
    prv_release(h);
}

static int are_alike(const prv_options *a, const prv_options *b)
{
    return a->neighbors == b->neighbors && a->eps_error == b->eps_error &&
           a->eps_relative_error == b->eps_relative_error && a->eps_floor == b->eps_floor &&
           a->delta_relative_error == b->delta_relative_error && a->memory_limit == b->memory_limit;
}

static prv_status reserve(prv_history *h, size_t capacity)
{
    if (capacity <= h->capacity) return PRV_OK;
    capacity += capacity / 2;
    prv_step *steps = prv_allocate(capacity, sizeof *steps);
    kind *kinds[2] = {prv_allocate(capacity, sizeof **kinds), prv_allocate(capacity, sizeof **kinds)};
    if (steps == NULL || kinds[0] == NULL || kinds[1] == NULL) {
        prv_release(steps);
        prv_release(kinds[0]);
        prv_release(kinds[1]);
        return PRV_ERR_MEMORY;
    }
    if (h->length > 0) memcpy(steps, h->steps, h->length * sizeof *steps);
    prv_release(h->steps);
    h->steps = steps;
    for (int add = 0; add < 2; add++) {
        if (h->length > 0) memcpy(kinds[add], h->kinds[add], h->length * sizeof **kinds);
        prv_release(h->kinds[add]);
        h->kinds[add] = kinds[add];
    }
    h->capacity = capacity;
    return PRV_OK;
}

static prv_status kind_new(const prv_mechanism *m, int add, prv_neighbors neighbors, kind *k)
{
    memset(k, 0, sizeof *k);
    prv_status status = neighbors == PRV_REPLACE_ONE ? prv_mechanism_replaced(m, &k->replaced) : PRV_OK;
    if (status != PRV_OK) return status;
    k->mechanism = k->replaced != NULL ? k->replaced : m;
    prv_profile profile;
    status = prv_profile_new(k->mechanism, add, 1, &profile);
    if (status != PRV_OK) return status;
    const prv_moments at = prv_tilt(profile.center, profile.mass, profile.length, 0.0, NULL);
    k->size = at.variance + at.mean * at.mean;
    prv_profile_free(&profile);
    return PRV_OK;
}

/* Takes these steps for those asked before; what is kept of others is forgotten. */
static prv_status follow(prv_history *h, const prv_step *steps, size_t length, const int *adds,
                         size_t directions, const prv_options *options)
{
    size_t alike = 0, same = 0; /* leading steps with equal mechanisms, and with equal counts too */
    while (alike < h->length && alike < length && h->steps[alike].mechanism == steps[alike].mechanism) {
        if (same == alike && h->steps[alike].count == steps[alike].count) same++;
        alike++;
    }
    for (size_t i = 0; i < QUESTIONS; i++)
        for (int add = 0; add < 2; add++) {
            growth *g = &h->questions[i].directions[add];
            /* A plan's last step may have run on. */
            const int planned = g->plan.kinds <= same || (g->plan.kinds == same + 1 && alike > same);
            if (!planned) plan_free(&g->plan);
            if (!planned || g->settled.length > same || g->settled.length >= length) sums_clear(&g->settled);
            if (!planned || g->now.length > same || g->now.length > length) sums_clear(&g->now);
        }
    forget_steps(h, alike);
    for (size_t j = 0; j < alike; j++) h->steps[j].count = steps[j].count;
    prv_status status = reserve(h, length);
    for (; h->length < length && status == PRV_OK; h->length++) {
        for (int add = 0; add < 2; add++) memset(&h->kinds[add][h->length], 0, sizeof **h->kinds);
        h->steps[h->length] = steps[h->length];
    }
    for (size_t i = 0; i < directions; i++)
        for (size_t j = 0; j < length && status == PRV_OK; j++) {
            kind *k = &h->kinds[adds[i]][j];
            if (k->mechanism != NULL) continue;
            status = kind_new(steps[j].mechanism, adds[i], options->neighbors, k);
            if (status == PRV_OK) status = prv_check_interrupt(options);
        }
    return status;
}

/* What is kept of a question, or the place of the one asked longest ago. */
static asked_before *recall(prv_history *h, prv_question question, double value)
{
    asked_before *oldest = &h->questions[0];
    for (size_t i = 0; i < QUESTIONS; i++) {
        asked_before *a = &h->questions[i];
        if (a->when > 0 && a->question == question && a->value == value) {
            a->when = ++h->clock;
            return a;
        }
        if (a->when < oldest->when) oldest = a;
    }
    for (int add = 0; add < 2; add++) growth_free(&oldest->directions[add]);
    oldest->question = question;
    oldest->value = value;
    oldest->when = ++h->clock;
    return oldest;
}

static int may_grow(const prv_options *o)
{
    return o->discretization == PRV_BRACKETING && o->engine != PRV_ENGINE_CONVOLUTION && o->mesh_size == 0.0;
}

static prv_status as_a_whole(const prv_step *steps, size_t step_count, const prv_options *options,
                             prv_question question, const double *values, size_t length, prv_bounds *bounds,
                             prv_report *reports)
{
    return (question == PRV_ASK_EPSILON ? prv_epsilon : prv_delta)(steps, step_count, options, values, length,
                                                                   bounds, reports);
}

static prv_status ask(prv_history *h, const prv_step *steps, size_t step_count, const prv_options *options,
                      prv_question question, const double *values, size_t length, prv_bounds *bounds,
                      prv_report *reports)
{
    prv_status status = prv_check_question(options, question, values, length);
    if (status != PRV_OK) return status;
    prv_step *distinct = prv_allocate(step_count, sizeof *distinct);
    if (distinct == NULL) return PRV_ERR_MEMORY;
    size_t kinds = 0;
    status = prv_distinct_steps(steps, step_count, distinct, &kinds);
    if (status == PRV_OK) status = prv_check_steps(distinct, kinds, options->neighbors);
    int adds[2];
    const size_t directions = prv_distinct_directions(distinct, kinds, options->neighbors, adds);
    /* Plans bound pairs; data sets that are worst at one question or step are asked as a whole. */
    const int attained = prv_attainment_of(distinct, kinds) != PRV_NOT_ATTAINED;
    const int grows = kinds > 0 && may_grow(options) && attained;
    if (status == PRV_OK && grows) {
        if (!are_alike(options, &h->options)) forget(h);
        h->options = *options;
        status = follow(h, distinct, kinds, adds, directions, options);
    }
    prv_release(distinct);
    prv_totals totals[2] = {0};
    for (size_t i = 0; i < directions && status == PRV_OK && grows; i++)
        for (size_t j = 0; j < h->length; j++)
            prv_totals_add(&totals[i], h->kinds[adds[i]][j].mechanism, (double)h->steps[j].count, adds[i]);
    if (status == PRV_OK && !grows)
        return as_a_whole(steps, step_count, options, question, values, length, bounds, reports);
    prv_layer layer;
    options = prv_layer_over(&layer, PRV_KNOWS_QUESTIONS, options);
    layer.now.questions = length;
    for (size_t i = 0; i < length && status == PRV_OK; i++) {
        layer.now.question = i;
        prv_report unwanted, *report = reports != NULL ? &reports[i] : &unwanted;
        const prv_totals *each[2] = {&totals[0], &totals[1]};
        int found = prv_gate_direct(each, directions, question, values[i], &bounds[i]);
        if (found) {
            prv_report_known(options, report);
            continue;
        }
        status = answer(h, recall(h, question, values[i]), adds, directions, options, &bounds[i], report,
                        &found);
        if (status == PRV_OK && !found)
            status = as_a_whole(steps, step_count, options, question, &values[i], 1, &bounds[i], report);
    }
    if (status != PRV_OK) forget(h);
    return status;
}

prv_status prv_history_epsilon(prv_history *history, const prv_step *steps, size_t step_count,
                               const prv_options *options, const double *deltas, size_t length,
                               prv_bounds *bounds, prv_report *reports)
{
    return ask(history, steps, step_count, options, PRV_ASK_EPSILON, deltas, length, bounds, reports);
}

prv_status prv_history_delta(prv_history *history, const prv_step *steps, size_t step_count,
                             const prv_options *options, const double *epsilons, size_t length,
                             prv_bounds *bounds, prv_report *reports)
{
    return ask(history, steps, step_count, options, PRV_ASK_DELTA, epsilons, length, bounds, reports);
}
