// Epsilon of 1000 steps of DP-SGD at delta 1e-7, in C++.
#include <prvcore.hpp>

#include <cstdio>

int main()
{
    try {
        const prv::mechanism step = prv::gaussian(0.8).poisson_subsampled(1e-3);
        const prv_bounds epsilon = prv::composition({{step, 1000}}).epsilon(1e-7);
        std::printf("%.17g <= epsilon <= %.17g\n", epsilon.lower, epsilon.upper);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
