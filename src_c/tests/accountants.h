/* Accountants compared. */
#ifndef PRV_TESTS_ACCOUNTANTS_H
#define PRV_TESTS_ACCOUNTANTS_H

#include "prvcore.h"

/* Whether both have the same steps, in the same order. */
static int equal(const prv_accountant *a, const prv_accountant *b)
{
    size_t m, n;
    const prv_step *s = prv_accountant_steps(a, &m), *t = prv_accountant_steps(b, &n);
    if (m != n) return 0;
    for (size_t i = 0; i < n; i++)
        if (s[i].count != t[i].count || !prv_mechanism_equal(s[i].mechanism, t[i].mechanism)) return 0;
    return 1;
}

#endif
