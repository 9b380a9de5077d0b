/* Bounds read off the composition of the dominating lattices and that of the dominated ones, and where their
 * distance comes from. Reading adds the slack of the certificate, and two errors that the certificate does
 * not know: of the values of callbacks, and of masses below the normal numbers (prv_underflown). */
#ifndef PRV_READING_H
#define PRV_READING_H

#include <stdbool.h>

#include "lattices/enclosure.h"
#include "composition/composed.h"
#include "planning/aim.h"

/* What is asked of one direction. */
typedef struct prv_asked {
    prv_question question;
    double value;          /* a delta, or an epsilon */
    const prv_totals *all; /* steps */
    const prv_aim *aim;
    const prv_enclosed *enclosed;
} prv_asked;

typedef struct prv_reading {
    prv_bounds bounds;
    double width;     /* in epsilon, nats */
    double epsilon;   /* guess of the epsilon asked about, nats */
    double log_delta; /* guess of the log of the finite part of delta */
    double slope;     /* -d log(delta) / d epsilon there */
    bool resolved;    /* if false, slack hides the answer */
    double noise;     /* rounding of transforms over the finite part of a delta; 0 for an epsilon */
    double discretization, truncation, wrap_around, rounding; /* parts of width, nats */
    double off_aim; /* part of wrap_around: that of an epsilon beyond those the period was chosen for */
    size_t transforms, frequencies;
} prv_reading;

/* A reading begins with `epsilon` as a guess. Both sides are read into it, first the dominating one,
 * then the dominated one. prv_finish_reading takes the bounds through the gate, and finds their width.
 * PRV_ERR_BOUNDS. */
prv_reading prv_reading_begin(double epsilon);
void prv_read_side(const prv_asked *asked, prv_side side, const prv_composed *composed, prv_reading *reading);
/* Reads the bounds that hold without any composition, instead of both sides. */
void prv_read_nothing(const prv_asked *asked, prv_reading *reading);
prv_status prv_finish_reading(const prv_asked *asked, prv_reading *reading);

/* prv_lost_delta of all steps. From deltas of 2^-960 on this is less than 2^-60 of delta for each step, and
 * lattices count 2^-53 of it anyway. */
double prv_underflown(const prv_totals *all, double delta);

/* Fills a report from a reading of the direction `add`; sets all else to 0. */
void prv_report_reading(const prv_reading *reading, prv_neighbors asked, bool add, double width,
                        bool accurate, prv_report *report);

#endif
