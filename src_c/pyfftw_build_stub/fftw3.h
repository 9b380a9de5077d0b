/* The type names that pyFFTW's pxd needs for compiling against it. No function of FFTW is called or
 * linked: pyFFTW's own module does that, and hands out pointers. */
#ifndef PRV_PYFFTW_BUILD_STUB_H
#define PRV_PYFFTW_BUILD_STUB_H

typedef struct fftw_plan_s *fftw_plan;
typedef struct fftwf_plan_s *fftwf_plan;
typedef struct fftwl_plan_s *fftwl_plan;
typedef struct fftw_iodim_s {
    int n, is, os;
} fftw_iodim;

#endif
