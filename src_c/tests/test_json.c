/* Compositions as JSON: what is written is read back, and what is wrong is refused where it is wrong. */
#include <locale.h>

#include "accountants.h"
#include "asking.h"

static const char *const schedules[] = {
#include "schedules.inc"
};
#define COUNT (sizeof schedules / sizeof *schedules)

static const char empty[] =
    "{\"format\": \"prvcore accountant\", \"version\": 1, \"options\": {}, \"history\": []}";

static prv_status read_text(const char *text, prv_options *options, size_t *fault, prv_accountant **a)
{
    return prv_accountant_from_json(text, strlen(text), options, fault, a);
}

/* A text, to be freed. */
static char *written(const prv_accountant *a, const prv_options *options, int as_schedule)
{
    size_t length = 0, again = 0, step_count;
    const prv_step *steps = prv_accountant_steps(a, &step_count);
    if ((as_schedule ? prv_steps_to_json(steps, step_count, NULL, 0, &length)
                     : prv_accountant_to_json(a, options, NULL, 0, &length)) != PRV_OK)
        abort();
    char *text = malloc(length + 1);
    if (text == NULL) abort();
    const prv_status status = as_schedule ? prv_steps_to_json(steps, step_count, text, length + 1, &again)
                                          : prv_accountant_to_json(a, options, text, length + 1, &again);
    check(status == PRV_OK && again == length && strlen(text) == length, "a text is as long as it says");
    return text;
}

static void every_type(void)
{
    for (size_t i = 0; i < COUNT; i++) {
        char text[1024];
        snprintf(text, sizeof text, "{\"steps\": [%s]}", schedules[i]);
        prv_accountant *a = NULL, *b = NULL;
        size_t fault = 0;
        const prv_status status = read_text(text, NULL, &fault, &a);
        if (!check(status == PRV_OK, "%s: %s at %zu", schedules[i], prv_status_message(status), fault))
            continue;
        char *again = written(a, NULL, 1);
        check(strcmp(again, text) == 0, "... is written as %s", again);
        free(again);
        again = written(a, NULL, 0);
        check(read_text(again, NULL, NULL, &b) == PRV_OK && equal(a, b), "... and as an accountant: %s",
              again);
        free(again);
        prv_accountant_free(a);
        prv_accountant_free(b);
    }
}

/* Answers of what was read are those of what was made. */
static void answers(void)
{
    prv_accountant *a = NULL, *b = NULL;
    prv_mechanism *m = subsampled(0.8, 1e-3), *noise = gaussian(0.1 + 0.2);
    prv_options o = options_of(1e-3);
    prv_bounds first, second;
    const double delta = 1e-7;
    if (prv_accountant_new(&a) != PRV_OK || prv_accountant_add(a, m, 1000) != PRV_OK ||
        prv_accountant_add(a, noise, 2) != PRV_OK)
        abort();
    char *text = written(a, NULL, 0);
    if (prv_accountant_from_json(text, strlen(text), NULL, NULL, &b) != PRV_OK) abort();
    check(equal(a, b), "%s", text);
    check(prv_accountant_epsilon(a, &o, &delta, 1, &first, NULL) == PRV_OK &&
              prv_accountant_epsilon(b, &o, &delta, 1, &second, NULL) == PRV_OK &&
              memcmp(&first, &second, sizeof first) == 0,
          "the same bits");
    size_t length = 0;
    char few[11];
    check(prv_accountant_to_json(a, NULL, few, sizeof few, &length) == PRV_OK && length == strlen(text) &&
              strlen(few) == 10 && memcmp(few, text, 10) == 0,
          "a text that is cut");
    free(text);
    prv_accountant_free(a);
    prv_accountant_free(b);
    prv_mechanism_free(m);
    prv_mechanism_free(noise);
}

/* Any double travels, in any locale that this machine has. */
static void numbers(void)
{
    static const double chosen[] = {0x1p-1074, DBL_MIN, 5e-324, DBL_MAX, 1.0 / 3.0, 0.1, 1e22, 1e23, 0.0};
    static const char *const locales[] = {"C", "de_DE.UTF-8", "fr_FR.UTF-8"};
    for (size_t l = 0; l < sizeof locales / sizeof *locales; l++) {
        if (setlocale(LC_ALL, locales[l]) == NULL) continue;
        for (int trial = 0; trial < trials_of(2000); trial++) {
            const uint64_t bits = random_bits() & ~(UINT64_C(1) << 63);
            double value = 0.0;
            memcpy(&value, &bits, sizeof value);
            if (trial < (int)(sizeof chosen / sizeof *chosen)) value = chosen[trial];
            if (!isfinite(value)) continue;
            prv_mechanism *m = NULL;
            if (prv_mechanism_approximate_dp(value, 0.0, &m) != PRV_OK) abort();
            const prv_step step = {m, 1};
            char text[128];
            size_t length = 0;
            prv_accountant *a = NULL;
            const int done = prv_steps_to_json(&step, 1, text, sizeof text, &length) == PRV_OK &&
                             read_text(text, NULL, NULL, &a) == PRV_OK;
            const int same = done && prv_mechanism_equal(prv_accountant_steps(a, &length)[0].mechanism, m) &&
                             length == 1;
            if (!same) check(0, "%a in locale %s: %s", value, locales[l], text);
            prv_accountant_free(a);
            prv_mechanism_free(m);
        }
        check(1, "numbers in locale %s", locales[l]);
    }
    setlocale(LC_ALL, "C");
}

static void options(void)
{
    prv_accountant *a = NULL, *b = NULL;
    prv_options o = prv_options_default(), read = prv_options_default();
    o.neighbors = PRV_REPLACE_ONE;
    o.engine = PRV_ENGINE_SPECTRUM;
    o.eps_error = 0.25;
    o.delta_relative_error = 0.5;
    if (prv_accountant_new(&a) != PRV_OK) abort();
    char *text = written(a, &o, 0);
    check(prv_accountant_from_json(text, strlen(text), &read, NULL, &b) == PRV_OK &&
              read.neighbors == o.neighbors && read.engine == o.engine && read.eps_error == o.eps_error &&
              read.delta_relative_error == 0.5 && read.mesh_size == 0.0 &&
              read.memory_limit == o.memory_limit,
          "%s", text);
    prv_accountant_free(b);
    check(prv_accountant_from_json(text, strlen(text), NULL, NULL, &b) == PRV_ERR_OPTIONS && b == NULL,
          "options that the caller does not take");
    free(text);
    o.discretization = PRV_MEAN_MATCHING;
    o.engine = PRV_ENGINE_AUTO;
    o.delta_error = 1e-9;
    o.mesh_size = 0.125;
    text = written(a, &o, 0);
    read = prv_options_default();
    check(prv_accountant_from_json(text, strlen(text), &read, NULL, &b) == PRV_OK &&
              read.discretization == PRV_MEAN_MATCHING && read.delta_error == 1e-9 && read.mesh_size == 0.125,
          "%s", text);
    prv_accountant_free(b);
    free(text);
    size_t length;
    o.engine = PRV_ENGINE_FIRST;
    check(prv_accountant_to_json(a, &o, NULL, 0, &length) == PRV_ERR_NO_JSON, "an engine without a name");
    o.neighbors = (prv_neighbors)7;
    check(prv_accountant_to_json(a, &o, NULL, 0, &length) == PRV_ERR_OPTIONS, "no neighbours");
    prv_accountant_free(a);
}

/* Options of a text that cannot be read change nothing. */
static void bad_options(void)
{
    static const struct {
        const char *options;
        prv_status expected;
    } each[] = {
        {"{}", PRV_OK},
        {"{\"eps_error\": null, \"mesh_size\": null}", PRV_OK},
        {"{\"discretization\": \"mean-matching\"}", PRV_OK},
        {"{\"eps_error\": -1}", PRV_ERR_OPTIONS},
        {"{\"eps_error\": \"1\"}", PRV_ERR_JSON},
        {"{\"neighbors\": \"others\"}", PRV_ERR_JSON},
        {"{\"neighbors\": null}", PRV_ERR_JSON},
        {"{\"engine\": \"jumps\"}", PRV_ERR_JSON},
        {"{\"discretization\": 0}", PRV_ERR_JSON},
        {"{\"memory_limit\": 1}", PRV_ERR_JSON},
        {"[]", PRV_ERR_JSON},
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "{\"format\": \"prvcore accountant\", \"version\": 1, \"options\": %s, \"history\": []}",
                 each[i].options);
        prv_options o = prv_options_default();
        const prv_options before = o;
        prv_accountant *a = NULL;
        const prv_status status = read_text(text, &o, NULL, &a);
        check(status == each[i].expected, "options %s: %s", each[i].options, prv_status_message(status));
        check(status == PRV_OK || memcmp(&o, &before, sizeof o) == 0,
              "... change nothing if they are refused");
        prv_accountant_free(a);
    }
}

static void refused(void)
{
#define OF(inner) "{\"steps\": [" inner "]}"
    static const struct {
        const char *text;
        prv_status expected;
        size_t fault;
    } each[] = {
        {"", PRV_ERR_JSON, 0},
        {"{", PRV_ERR_JSON, 1},
        {"[]", PRV_ERR_JSON, 0},
        {"{\"steps\": []} x", PRV_ERR_JSON, 14},
        {"{\"steps\": [], \"steps\": []}", PRV_ERR_JSON, 15},
        {"{\"steps\": [,]}", PRV_ERR_JSON, 11},
        {"{\"steps\": {}}", PRV_ERR_JSON, 10},
        {"{\"steps\": [], \"more\": 1}", PRV_ERR_JSON, 15},
        {"{\"st\\u0065ps\": []}", PRV_ERR_JSON, 4},
        {"{'steps': []}", PRV_ERR_JSON, 1},
        {OF("3"), PRV_ERR_JSON, 11},
        {OF("{}"), PRV_ERR_JSON, 11},
        {OF("{\"type\": \"Nothing\"}"), PRV_ERR_JSON, 21},
        {OF("{\"type\": \"FromCDFs\"}"), PRV_ERR_JSON, 21},
        {OF("{\"type\": \"Gaussian\"}"), PRV_ERR_JSON, 11},
        {OF("{\"type\": \"Gaussian\", \"noise_multiplier\": 1, \"noise_multiplier\": 1}"), PRV_ERR_JSON, 56},
        {OF("{\"type\": \"Gaussian\", \"noise_multiplier\": 1, \"scale\": 1}"), PRV_ERR_JSON, 56},
        {OF("{\"type\": \"Gaussian\", \"noise_multiplier\": \"1\"}"), PRV_ERR_JSON, 53},
        {OF("{\"type\": \"Gaussian\", \"noise_multiplier\": 01}"), PRV_ERR_JSON, 53},
        {OF("{\"type\": \"Gaussian\", \"noise_multiplier\": 1.}"), PRV_ERR_JSON, 54},
        {OF("{\"type\": \"Gaussian\", \"noise_multiplier\": .5}"), PRV_ERR_JSON, 52},
        {OF("{\"type\": \"Gaussian\", \"noise_multiplier\": 1e}"), PRV_ERR_JSON, 54},
        {OF("{\"type\": \"Gaussian\", \"noise_multiplier\": NaN}"), PRV_ERR_JSON, 52},
        {OF("{\"type\": \"Gaussian\", \"noise_multiplier\": nul}"), PRV_ERR_JSON, 52},
        {OF("{\"type\": \"Gaussian\", \"noise_multiplier\": -1}"), PRV_ERR_NOISE_MULTIPLIER, 11},
        {OF("{\"type\": \"Gaussian\", \"noise_multiplier\": 1e400}"), PRV_ERR_NOISE_MULTIPLIER, 11},
        {OF("{\"type\": \"Gaussian\", \"noise_multiplier\": 1, \"count\": 1.0}"), PRV_ERR_JSON, 64},
        {OF("{\"type\": \"Gaussian\", \"noise_multiplier\": 1, \"count\": -1}"), PRV_ERR_JSON, 64},
        {OF("{\"type\": \"Gaussian\", \"noise_multiplier\": 1, \"count\": 9007199254740993}"), PRV_ERR_JSON,
         64},
        {OF("{\"type\": \"DiscreteLaplace\", \"scale\": 1, \"sensitivity\": 1.5}"), PRV_ERR_SENSITIVITY, 11},
        {OF("{\"type\": \"NoisyCount\", \"deviation\": 1, \"centred\": false}"), PRV_ERR_NEIGHBORS, 11},
        {OF("{\"type\": \"NoisyCount\", \"deviation\": 1, \"centred\": 1}"), PRV_ERR_JSON, 61},
        {OF("{\"type\": \"FromTable\", \"losses\": [0], \"probabilities\": []}"), PRV_ERR_TABLE, 11},
        {OF("{\"type\": \"FromTable\", \"losses\": [0, []], \"probabilities\": [1]}"), PRV_ERR_JSON, 47},
        {OF("{\"type\": \"MixtureOfGaussians\", \"noise_multiplier\": 1, \"sensitivities\": [1], \"probabilities\": "
            "[]}"),
         PRV_ERR_COMPONENTS, 11},
        {OF("{\"type\": \"Composed\", \"mechanisms\": [[{\"type\": \"PureDP\", \"epsilon\": 1}, 1, 2]]}"),
         PRV_ERR_JSON, 47},
        {OF("{\"type\": \"Composed\", \"mechanisms\": 3}"), PRV_ERR_JSON, 46},
        {OF("{\"type\": \"PoissonSubsampled\", \"sampling_probability\": 0.5, \"mechanism\": {\"type\": \"Gaussian\", "
            "\"noise_multiplier\": 1, \"count\": 2}}"),
         PRV_ERR_JSON, 128},
        {"{\"format\": \"prvcore accountant\", \"version\": 2, \"options\": {}, \"history\": []}",
         PRV_ERR_JSON, 44},
        {"{\"format\": \"other\", \"version\": 1, \"options\": {}, \"history\": []}", PRV_ERR_JSON, 12},
        {"{\"format\": \"prvcore accountant\", \"version\": 1, \"history\": []}", PRV_ERR_JSON, 0},
        {"{\"format\": \"prvcore accountant\", \"version\": 1, \"options\": {}, \"history\": [{\"count\": 1}]}",
         PRV_ERR_JSON, 74},
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        prv_accountant *a = NULL;
        size_t fault = 0;
        const prv_status status = read_text(each[i].text, NULL, &fault, &a);
        check(status == each[i].expected && a == NULL, "%s: %s", each[i].text, prv_status_message(status));
        check(fault == each[i].fault, "... at %zu, where %zu was expected", fault, each[i].fault);
        prv_accountant_free(a);
    }
}

/* A text that is cut anywhere, or has another byte anywhere, is refused or read, and no memory is lost. */
static void torn(void)
{
    char text[1024];
    const int length = snprintf(text, sizeof text, "{\"steps\": [%s, %s]}", schedules[COUNT - 1],
                                schedules[10]);
    int read = 0;
    for (int i = 0; i < length; i++) {
        prv_accountant *a = NULL;
        read += prv_accountant_from_json(text, (size_t)i, NULL, NULL, &a) == PRV_OK;
        prv_accountant_free(a);
    }
    check(read == 0, "no beginning of a text is one");
    for (int trial = 0; trial < trials_of(4000); trial++) {
        const size_t at = random_below((size_t)length);
        const char before = text[at];
        text[at] = (char)random_below(256);
        prv_accountant *a = NULL;
        size_t fault = 0;
        if (prv_accountant_from_json(text, (size_t)length, NULL, &fault, &a) != PRV_OK &&
            fault > (size_t)length)
            check(0, "a fault at %zu of %d", fault, length);
        prv_accountant_free(a);
        text[at] = before;
    }
    check(1, "texts with another byte");
}

static void nested(void)
{
    for (int depth = 62; depth <= 66; depth++) {
        static char text[8192];
        size_t length = 0;
        length += (size_t)snprintf(text, sizeof text, "{\"steps\": [");
        for (int i = 1; i < depth; i++)
            length += (size_t)snprintf(text + length, sizeof text - length,
                                       "{\"type\": \"PoissonSubsampled\", \"sampling_probability\": 1, "
                                       "\"mechanism\": ");
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "{\"type\": \"PureDP\", \"epsilon\": 1}");
        for (int i = 0; i < depth - 1; i++) text[length++] = '}';
        snprintf(text + length, sizeof text - length, "]}");
        prv_accountant *a = NULL;
        const prv_status status = read_text(text, NULL, NULL, &a);
        check(status == (depth <= 64 ? PRV_OK : PRV_ERR_JSON), "%d mechanisms within each other: %s", depth,
              prv_status_message(status));
        prv_accountant_free(a);
    }
    static char deep[400000];
    memset(deep, '[', sizeof deep);
    prv_accountant *a = NULL;
    size_t fault = 0;
    check(prv_accountant_from_json(deep, sizeof deep, NULL, &fault, &a) == PRV_ERR_JSON && fault == 256,
          "arrays within each other");
}

/* Several mechanisms on one sample, in each way that Python's files have. */
static void joined(void)
{
    static const char *const texts[] = {
        "{\"steps\": [{\"type\": \"PoissonSubsampled\", \"sampling_probability\": 0.5, \"mechanism\": "
        "[{\"type\": \"Gaussian\", \"noise_multiplier\": 2}, [{\"type\": \"Laplace\", \"scale\": 3}, 2], "
        "{\"type\": \"NoisyCount\", \"deviation\": 4, \"centred\": true}]}]}",
        "{\"steps\": [{\"type\": \"PoissonSubsampled\", \"sampling_probability\": 0.5, \"mechanism\": "
        "{\"type\": \"Composed\", \"mechanisms\": [[{\"type\": \"Laplace\", \"scale\": 3}, 2], "
        "[{\"type\": \"Composed\", \"mechanisms\": [[{\"type\": \"Gaussian\", \"noise_multiplier\": 2}, 1], "
        "[{\"type\": \"Gaussian\", \"noise_multiplier\": 8}, 1]]}, 1]]}}]}",
    };
    prv_accountant *a = NULL, *b = NULL;
    check(read_text(texts[0], NULL, NULL, &a) == PRV_OK && read_text(texts[1], NULL, NULL, &b) == PRV_OK,
          "lists of mechanisms are read");
    check(a != NULL && b != NULL && equal(a, b), "Gaussian noise on the same records is joined");
    prv_accountant_free(a);
    prv_accountant_free(b);
    static const char bins[] =
        "{\"steps\": [{\"type\": \"BallsInBins\", \"mechanism\": {\"type\": \"Gaussian\", "
        "\"noise_multiplier\": 2}, \"bins\": 5, \"epochs\": 3}]}";
    prv_mechanism *noise = NULL, *expected = NULL;
    const double two = 2.0;
    const uint64_t three = 3;
    size_t length = 0;
    if (prv_mechanism_gaussians(&two, &three, 1, &noise) != PRV_OK ||
        prv_mechanism_random_allocation(noise, 5, &expected) != PRV_OK)
        abort();
    check(read_text(bins, NULL, NULL, &a) == PRV_OK &&
              prv_mechanism_equal(prv_accountant_steps(a, &length)[0].mechanism, expected),
          "a record keeps its bin");
    prv_accountant_free(a);
    prv_mechanism_free(noise);
    prv_mechanism_free(expected);
    static const char many[] =
        "{\"steps\": [{\"type\": \"Composed\", \"mechanisms\": [[{\"type\": \"Composed\", "
        "\"mechanisms\": [[{\"type\": \"Gaussian\", \"noise_multiplier\": 1}, "
        "9007199254740992]]}, 2]]}]}";
    check(read_text(many, NULL, NULL, &a) == PRV_ERR_COUNT, "more than 2^53");
}

/* What has no text. */
static int cdfs(void *context, const double *losses, size_t length, double *q, double *p)
{
    (void)context, (void)losses, (void)length, (void)q, (void)p;
    return 1;
}

static void unwritten(void)
{
    prv_mechanism *each[4] = {NULL}, *group = NULL;
    if (prv_mechanism_cdfs(cdfs, NULL, 0.0, &each[0]) != PRV_OK ||
        prv_mechanism_shuffled_from_below(0.7, 10, 0, &each[1]) != PRV_OK ||
        prv_mechanism_group_gaussian(0.7, 0.1, 3, &group) != PRV_OK ||
        prv_mechanism_scaled(group, PRV_NOISE_SCALE, 1.1, &each[2]) != PRV_OK ||
        prv_mechanism_stated(each[0], PRV_RELATION_ANY, 1, &each[3]) != PRV_OK)
        abort();
    for (size_t i = 0; i < 4; i++) {
        const prv_step step = {each[i], 1};
        size_t length;
        char text[64];
        check(prv_steps_to_json(&step, 1, text, sizeof text, &length) == PRV_ERR_NO_JSON,
              "kind %d has no JSON", prv_mechanism_description(each[i])->kind);
        prv_mechanism_free(each[i]);
    }
    prv_mechanism_free(group);
    const prv_step none = {NULL, 0};
    size_t length;
    char text[64];
    check(prv_steps_to_json(&none, 1, text, sizeof text, &length) == PRV_OK &&
              strcmp(text, "{\"steps\": []}") == 0,
          "a step that does not run");
}

int main(void)
{
    prv_accountant *a = NULL;
    check(read_text(empty, NULL, NULL, &a) == PRV_OK, "an accountant of nothing");
    char *text = written(a, NULL, 0);
    check(strcmp(text, empty) == 0, "... is written as it was");
    free(text);
    prv_accountant_free(a);
    every_type();
    answers();
    numbers();
    options();
    bad_options();
    refused();
    torn();
    nested();
    joined();
    unwritten();
    return summary();
}
