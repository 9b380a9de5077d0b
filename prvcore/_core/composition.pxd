from prvcore._core.core cimport PRV_ERR_FFT, prv_fft, prv_options, prv_status


# What prv_fft_provider calls, by the core's transforms or pyFFTW; without a context.
cdef prv_status plan_transforms(
    void *context, size_t length, prv_fft *fft
) except? PRV_ERR_FFT with gil


# What goes on between the stages of a call.
cdef struct watch:
    bint signals  # no thread but the main one receives any
    const int *stop  # of a Stop, or NULL
    double last_look
    void *callback  # a borrowed Python object, or NULL


# Lets work that has these options be stopped, by Ctrl-C and by a Stop, and tell `progress` unless
# it is None. All three outlive the work.
cdef int let_stop(prv_options *options, watch *w, object progress) except -1
