// prvcore for C++17: what prvcore.h has, with objects that free themselves and failures that are thrown.
//
//     #include <prvcore.hpp>
//
//     const prv::mechanism step = prv::gaussian(0.8).poisson_subsampled(1e-3);
//     const prv_bounds epsilon = prv::composition({{step, 1000}}).epsilon(1e-7);
//
// Arguments, ranges, units and costs are those of the C functions of the same names: see prvcore.h. Each function
// throws prv::error where the C function returns a status, and std::bad_alloc for PRV_ERR_MEMORY. Any object may be
// used by several threads at once, as in C, as long as none assigns to it.
#ifndef PRVCORE_HPP
#define PRVCORE_HPP

#include <prvcore.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace prv {

// A rule of prvcore.h that was broken.
class error : public std::runtime_error {
public:
    explicit error(prv_status status) : std::runtime_error(prv_status_message(status)), status_(status) {}
    prv_status status() const noexcept { return status_; }

private:
    prv_status status_;
};

inline void check(prv_status status)
{
    if (status == PRV_ERR_MEMORY) throw std::bad_alloc();
    if (status != PRV_OK) throw error(status);
}

// A mechanism, never modified once made: copies share it.
class mechanism {
public:
    // Calls any constructor of prvcore.h, whose last argument is the mechanism that it makes.
    template <typename Constructor, typename... Arguments>
    static mechanism make(Constructor constructor, Arguments... arguments)
    {
        prv_mechanism *made = nullptr;
        check(constructor(arguments..., &made));
        return mechanism(std::shared_ptr<const prv_mechanism>(made, give_back));
    }

    mechanism poisson_subsampled(double sampling_probability) const
    {
        return make(prv_mechanism_poisson_subsampled, get(), sampling_probability);
    }
    mechanism subsampled_without_replacement(double sampling_probability) const
    {
        return make(prv_mechanism_subsampled_without_replacement, get(), sampling_probability);
    }
    mechanism random_allocation(std::uint64_t batches, std::uint64_t selected = 1) const
    {
        return make(prv_mechanism_random_selection, get(), batches, selected);
    }
    mechanism stated(prv_relation relation, bool attained = true) const
    {
        return make(prv_mechanism_stated, get(), relation, attained ? 1 : 0);
    }
    mechanism scaled(prv_parameter parameter, double factor) const
    {
        return make(prv_mechanism_scaled, get(), parameter, factor);
    }

    // A copy of what C has.
    static mechanism share(const prv_mechanism *made)
    {
        return mechanism(std::shared_ptr<const prv_mechanism>(prv_mechanism_retain(made), give_back));
    }

    // The constructor that made it, and the arguments; lives as long as a copy of this mechanism.
    const prv_description &description() const noexcept { return *prv_mechanism_description(get()); }
    friend bool operator==(const mechanism &a, const mechanism &b) noexcept
    {
        return prv_mechanism_equal(a.get(), b.get()) != 0;
    }
    friend bool operator!=(const mechanism &a, const mechanism &b) noexcept { return !(a == b); }

    // For functions of prvcore.h; lives as long as a copy of this mechanism.
    const prv_mechanism *get() const noexcept { return mechanism_.get(); }

private:
    static void give_back(const prv_mechanism *m) { prv_mechanism_free(const_cast<prv_mechanism *>(m)); }
    explicit mechanism(std::shared_ptr<const prv_mechanism> made) : mechanism_(std::move(made)) {}
    std::shared_ptr<const prv_mechanism> mechanism_;
};

inline mechanism gaussian(double noise_multiplier)
{
    return mechanism::make(prv_mechanism_gaussian, noise_multiplier);
}
inline mechanism laplace(double scale, double sensitivity = 1.0)
{
    return mechanism::make(prv_mechanism_laplace, scale, sensitivity);
}
inline mechanism discrete_gaussian(double scale, std::int64_t sensitivity = 1)
{
    return mechanism::make(prv_mechanism_discrete_gaussian, scale, sensitivity);
}
inline mechanism discrete_laplace(double scale, std::int64_t sensitivity = 1)
{
    return mechanism::make(prv_mechanism_discrete_laplace, scale, sensitivity);
}
inline mechanism approximate_dp(double epsilon, double delta = 0.0)
{
    return mechanism::make(prv_mechanism_approximate_dp, epsilon, delta);
}
inline mechanism bounded_range(double epsilon)
{
    return mechanism::make(prv_mechanism_bounded_range, epsilon);
}
inline mechanism randomized_response(double epsilon, std::uint64_t categories)
{
    return mechanism::make(prv_mechanism_randomized_response, epsilon, categories);
}
// Throws PRV_ERR_TABLE if there are not as many probabilities as losses.
inline mechanism table(const std::vector<double> &losses, const std::vector<double> &probabilities,
                       double mass_at_infinity = 0.0)
{
    if (losses.size() != probabilities.size()) throw error(PRV_ERR_TABLE);
    return mechanism::make(prv_mechanism_table, losses.data(), probabilities.data(), losses.size(),
                           mass_at_infinity);
}

// A mechanism and how often it runs.
struct step {
    prv::mechanism mechanism;
    std::uint64_t count = 1;
};

// The transforms of a library that has some, put into options without any.
inline std::shared_ptr<prv_fft_provider> transforms_for(prv_options &options)
{
    if (options.fft != nullptr) return nullptr;
    prv_fft_provider *made = nullptr;
    const prv_status status = prv_fft_provider_new(&made);
    if (status == PRV_ERR_FFT) return nullptr; // a library without transforms: questions that need one say so
    check(status);
    options.fft = made;
    return std::shared_ptr<prv_fft_provider>(made, prv_fft_provider_free);
}

// Several mechanisms, one after another, and the questions that prvcore.h has about them. It keeps the plans of its
// transforms, so that a second question plans nothing that the first has planned.
class composition {
public:
    explicit composition(std::vector<step> steps, prv_options options = prv_options_default())
        : kept_(std::move(steps)), options_(options)
    {
        for (const step &s : kept_) steps_.push_back({s.mechanism.get(), s.count});
        provider_ = transforms_for(options_);
    }

    prv_bounds epsilon(double delta) const { return one(prv_epsilon, delta); }
    std::vector<prv_bounds> epsilon(const std::vector<double> &deltas) const { return each(prv_epsilon, deltas); }
    prv_bounds delta(double epsilon) const { return one(prv_delta, epsilon); }
    std::vector<prv_bounds> delta(const std::vector<double> &epsilons) const { return each(prv_delta, epsilons); }
    prv_bounds power(double false_positive_rate) const { return one(prv_power, false_positive_rate); }
    std::vector<prv_bounds> power(const std::vector<double> &false_positive_rates) const
    {
        return each(prv_power, false_positive_rates);
    }
    prv_bounds gaussian_mu(double delta) const { return one(prv_gaussian_mu, delta); }
    prv_bounds renyi_divergence(double order) const
    {
        prv_bounds bounds;
        check(prv_renyi_divergence(steps_.data(), steps_.size(), &options_, &order, 1, &bounds));
        return bounds;
    }
    // The first fixed_count steps have run already.
    prv_calibration calibrate(prv_parameter parameter, double epsilon, double delta, double tolerance = 1e-4,
                              std::size_t fixed_count = 0) const
    {
        prv_calibration found;
        check(prv_calibrate(steps_.data(), steps_.size(), fixed_count, parameter, epsilon, delta, tolerance,
                            &options_, &found));
        return found;
    }
    bool is_attained() const { return prv_is_attained(steps_.data(), steps_.size(), options_.neighbors) != 0; }

private:
    template <typename Question> std::vector<prv_bounds> each(Question ask, const std::vector<double> &values) const
    {
        std::vector<prv_bounds> bounds(values.size());
        check(ask(steps_.data(), steps_.size(), &options_, values.data(), values.size(), bounds.data(), nullptr));
        return bounds;
    }
    template <typename Question> prv_bounds one(Question ask, double value) const
    {
        prv_bounds bounds;
        check(ask(steps_.data(), steps_.size(), &options_, &value, 1, &bounds, nullptr));
        return bounds;
    }

    std::vector<step> kept_;
    std::vector<prv_step> steps_; // the same for C
    prv_options options_;
    std::shared_ptr<prv_fft_provider> provider_;
};

// What has run so far, whose next epsilon costs only what was added. Two threads must not use one at once.
class accountant {
public:
    explicit accountant(prv_options options = prv_options_default())
        : options_(options), provider_(transforms_for(options_))
    {
        prv_accountant *made = nullptr;
        check(prv_accountant_new(&made));
        held_.reset(made);
    }
    accountant(const accountant &other) : options_(other.options_), provider_(other.provider_)
    {
        prv_accountant *made = nullptr;
        check(prv_accountant_copy(other.held_.get(), &made));
        held_.reset(made);
    }
    accountant(accountant &&) noexcept = default;
    accountant &operator=(accountant other) noexcept
    {
        held_.swap(other.held_);
        std::swap(options_, other.options_);
        provider_.swap(other.provider_);
        return *this;
    }

    void add(const mechanism &m, std::uint64_t count = 1) { check(prv_accountant_add(held_.get(), m.get(), count)); }
    std::vector<step> steps() const
    {
        std::size_t length = 0;
        const prv_step *each = prv_accountant_steps(held_.get(), &length);
        std::vector<step> found;
        for (std::size_t i = 0; i < length; i++) found.push_back({mechanism::share(each[i].mechanism), each[i].count});
        return found;
    }
    prv_bounds epsilon(double delta)
    {
        prv_bounds bounds;
        check(prv_accountant_epsilon(held_.get(), &options_, &delta, 1, &bounds, nullptr));
        return bounds;
    }
    prv_bounds delta(double epsilon)
    {
        prv_bounds bounds;
        check(prv_accountant_delta(held_.get(), &options_, &epsilon, 1, &bounds, nullptr));
        return bounds;
    }

    // As Accountant.to_json and Accountant.from_json of the Python package: options that the text has take the place of
    // those that are given.
    std::string to_json() const
    {
        std::size_t length = 0;
        check(prv_accountant_to_json(held_.get(), &options_, nullptr, 0, &length));
        std::string text(length + 1, '\0');
        check(prv_accountant_to_json(held_.get(), &options_, &text[0], text.size(), &length));
        text.resize(length);
        return text;
    }
    static accountant from_json(const std::string &text, prv_options options = prv_options_default())
    {
        accountant read(options);
        prv_accountant *made = nullptr;
        check(prv_accountant_from_json(text.data(), text.size(), &read.options_, nullptr, &made));
        read.held_.reset(made);
        return read;
    }

private:
    struct give_back {
        void operator()(prv_accountant *a) const { prv_accountant_free(a); }
    };
    std::unique_ptr<prv_accountant, give_back> held_;
    prv_options options_;
    std::shared_ptr<prv_fft_provider> provider_;
};

// Several mechanisms on the same records as one, to be sampled or allocated as a whole.
inline mechanism composed(const std::vector<step> &steps)
{
    std::vector<prv_step> each;
    for (const step &s : steps) each.push_back({s.mechanism.get(), s.count});
    return mechanism::make(prv_mechanism_composed, each.data(), each.size());
}

} // namespace prv

#endif
