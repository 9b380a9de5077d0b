/* FFTW3, in double precision. ESTIMATE, so that results repeat bit for bit and no time goes into measuring.
 */
#include <fftw3.h>
#include <limits.h>

#include "base/allocate.h"

#include "fft/plans.h"

static void forward(void *plan, void *in, void *out)
{
    fftw_execute_dft_r2c(plan, in, out);
}
static void inverse(void *plan, void *in, void *out)
{
    fftw_execute_dft_c2r(plan, in, out);
}

static void transform_free(prv_fft *fft)
{
    if (fft->forward_plan != NULL) fftw_destroy_plan(fft->forward_plan);
    if (fft->inverse_plan != NULL) fftw_destroy_plan(fft->inverse_plan);
}

static prv_status transform_new(size_t length, prv_fft *fft)
{
    if (length < 1 || length > INT_MAX) return PRV_ERR_FFT;
    /* FFTW's planner has one state for the process. This lock of its own, unlike any of ours, also keeps out
     * what the rest of the program plans. */
    fftw_make_planner_thread_safe();
    /* Never touched, but their alignment is that of the plans. */
    double *real = prv_allocate(length, sizeof *real);
    fftw_complex *spectrum = prv_allocate(length / 2 + 1, sizeof *spectrum);
    prv_status status = real != NULL && spectrum != NULL ? PRV_OK : PRV_ERR_MEMORY;
    if (status == PRV_OK) {
        const int n = (int)length;
        *fft = (prv_fft){length, fftw_plan_dft_r2c_1d(n, real, spectrum, FFTW_ESTIMATE),
                         fftw_plan_dft_c2r_1d(n, spectrum, real, FFTW_ESTIMATE | FFTW_DESTROY_INPUT), forward,
                         inverse};
        if (fft->forward_plan == NULL || fft->inverse_plan == NULL) {
            transform_free(fft);
            status = PRV_ERR_FFT;
        }
    }
    prv_release(real);
    prv_release(spectrum);
    return status;
}

const prv_planner prv_fftw_planner = {"fftw", transform_new, transform_free};
