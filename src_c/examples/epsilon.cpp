// Epsilon of 1000 steps of DP-SGD at delta 1e-7, in C++: handles free themselves, failures are exceptions.
#include <prvcore.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>

namespace dp {

inline void check(prv_status status)
{
    if (status != PRV_OK) throw std::runtime_error(prv_status_message(status));
}

struct Free {
    void operator()(prv_mechanism *mechanism) const { prv_mechanism_free(mechanism); }
    void operator()(prv_fft_provider *provider) const { prv_fft_provider_free(provider); }
};
using Mechanism = std::unique_ptr<prv_mechanism, Free>;
using FftProvider = std::unique_ptr<prv_fft_provider, Free>;

// make(prv_mechanism_gaussian, 0.8): any constructor of prvcore.h, whose result is its last argument.
template <typename Function, typename... Arguments>
Mechanism make(Function constructor, Arguments... arguments)
{
    prv_mechanism *mechanism = nullptr;
    check(constructor(arguments..., &mechanism));
    return Mechanism(mechanism);
}

class Accountant {
public:
    Accountant()
    {
        prv_fft_provider *provider = nullptr;
        check(prv_fft_provider_new(&provider));
        fft_.reset(provider);
    }

    // const: any number of threads may ask at the same time.
    prv_bounds epsilon(const Mechanism &mechanism, std::uint64_t count, double delta, prv_neighbors neighbors) const
    {
        prv_options options = {};
        options.neighbors = neighbors;
        options.eps_relative_error = 1e-3;
        options.eps_floor = 1e-3;
        options.memory_limit = std::size_t(1) << 30;
        options.fft = fft_.get();
        const prv_step step = {mechanism.get(), count};
        prv_bounds bounds;
        check(prv_epsilon(&step, 1, &options, &delta, 1, &bounds, nullptr));
        return bounds;
    }

private:
    FftProvider fft_;
};

} // namespace dp

int main()
{
    try {
        const dp::Mechanism gaussian = dp::make(prv_mechanism_gaussian, 0.8);
        const dp::Mechanism step = dp::make(prv_mechanism_poisson_subsampled, gaussian.get(), 1e-3);
        const prv_bounds epsilon = dp::Accountant().epsilon(step, 1000, 1e-7, PRV_REMOVE);
        std::printf("%.17g <= epsilon <= %.17g\n", epsilon.lower, epsilon.upper);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
