from prvcore._core.core cimport PRV_ERR_FFT, prv_fft, prv_status


# What prv_fft_provider calls, by the core's transforms or pyFFTW; without a context.
cdef prv_status plan_transforms(
    void *context, size_t length, prv_fft *fft
) except? PRV_ERR_FFT with gil
