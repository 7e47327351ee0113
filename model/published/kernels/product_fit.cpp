#include "model/published/kernels/product_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "model/fits/levenberg.hpp"
#include "model/fits/piecewise.hpp"
#include "model/published/scaling/fit/interval.hpp"
#include "model/roofline/sheet/arithmetic.hpp"
#include "model/roofline/sheet/product_time.hpp"

namespace dlscale::model::published {
namespace {

using Constants = sheet::KernelConstants;
using Vector = std::vector<double>;

constexpr double residual_scale = 0.1;
constexpr double samples_of_a_group = 60;

std::string kernel_of(const sheet::Product& product) {
  if (product.kind == sheet::ProductKind::linear) return "product";
  if (product.pass == Pass::forward) return "convolution forward";
  return product.pass == Pass::backward_data ? "convolution data" : "convolution weights";
}

/// GPU, precision and kind of kernels.
using Group = std::tuple<std::string, DType, std::string>;

Group group_of(const KernelSample& sample) {
  return {sample.gpu->id, sample.dtype, kernel_of(sample.product)};
}

/// A sample with what does not depend on the constants.
struct Case {
  const KernelSample* sample;
  std::vector<sheet::Arithmetic> arithmetic;
};

Case case_of(const KernelSample& sample, const Constants& constants) {
  const Device device = nominal_device(*sample.gpu, Seconds(1e-6));  // whose launch is not used
  Case made{&sample, sheet::arithmetic_in(device, sample.dtype)};
  for (sheet::Arithmetic& on : made.arithmetic) {
    on.board_load = sheet::board_load(*sample.gpu, constants);
  }
  return made;
}

Seconds time_of(const Case& one, const Constants& constants) {
  constexpr double age = 0;  // of libraries
  Seconds least(std::numeric_limits<double>::infinity());
  for (const sheet::Arithmetic& on : one.arithmetic) {
    Seconds time = sheet::product_time(one.sample->product, on, age, constants);
    if (on.tensor_cores) time += sheet::layout_time(one.sample->product, on, constants);
    least = std::min(least, time);
  }
  return least + Seconds(constants.kernel_overhead);
}

/// ln(t / measured)
double error_of(const Case& one, const Constants& constants) {
  return std::log(time_of(one, constants) / one.sample->time);
}

/// The problem as least squares of functions of ln p.
class Problem {
 public:
  Problem(std::vector<const Case*> cases, const sheet::KernelFile& file, const Constants& start)
      : cases_(std::move(cases)), file_(file), start_(start) {
    std::map<Group, double> counts;
    for (const Case* one : cases_) ++counts[group_of(*one->sample)];
    for (const Case* one : cases_) {
      weights_.push_back(samples_of_a_group / counts.at(group_of(*one->sample)));
    }
  }

  [[nodiscard]] Constants at(const Vector& logs) const {
    Constants constants = start_;
    std::size_t i = 0;
    for (const sheet::ConstantKey& one : sheet::fitted_to_kernels()) {
      constants.*one.value = std::exp(logs[i++]);
    }
    return constants;
  }

  [[nodiscard]] Vector priors() const {
    Vector logs;
    for (const sheet::ConstantKey& one : sheet::fitted_to_kernels()) {
      logs.push_back(std::log(prior(one).prior));
    }
    return logs;
  }

  /// Residuals whose squares add up to the loss.
  [[nodiscard]] Vector residuals(const Vector& logs) const {
    const Constants constants = at(logs);
    Vector all;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const double z = error_of(*cases_[i], constants) / residual_scale;
      all.push_back(robust_residual(z, weights_[i]));
    }
    std::size_t i = 0;
    for (const sheet::ConstantKey& one : sheet::fitted_to_kernels()) {
      all.push_back((logs[i++] - std::log(prior(one).prior)) / prior(one).spread);
    }
    return all;
  }

 private:
  [[nodiscard]] const FittedConstant& prior(const sheet::ConstantKey& one) const {
    return file_.kernels.find(one.key)->second;
  }
  std::vector<const Case*> cases_;
  const sheet::KernelFile& file_;
  Constants start_;
  Vector weights_;
};

double mean(const Vector& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Constants fitted(const Problem& problem) {
  LeastSquares settings;
  settings.rounds = 20;
  settings.gain = 1e-9;
  return problem.at(
      least_squares([&problem](const Vector& logs) { return problem.residuals(logs); },
                    problem.priors(), settings));
}

bool is_product(const Case& one) {
  return one.sample->product.kind == sheet::ProductKind::linear;
}

/// The chip of a sample's GPU: boards with the same one are alike.
const std::string& chip_of(const Case& one) {
  const DeviceSheet& gpu = *one.sample->gpu;
  return gpu.chip.empty() ? gpu.id : gpu.chip;
}

/// Chips that a fit has not seen: none, one or two, in the order of their names.
using Chips = std::pair<std::string, std::string>;

Chips both(const std::string& one, const std::string& other = {}) {
  return {std::min(one, other), std::max(one, other)};
}

using Fits = std::map<Chips, Constants>;

Constants fit_without(const Chips& chips, std::span<const Case> cases,
                      const sheet::KernelFile& file) {
  std::vector<const Case*> taken;
  for (const Case& one : cases) {
    const std::string& chip = chip_of(one);
    if (is_product(one) && chip != chips.first && chip != chips.second) taken.push_back(&one);
  }
  return fitted(Problem(std::move(taken), file, sheet::alone(file)));
}

/// Fits to all products, without each chip, and without each two.
Fits make_fits(const std::set<std::string>& chips, std::span<const Case> cases,
               const sheet::KernelFile& file,
               const std::function<void(std::size_t, std::size_t)>& progress) {
  std::set<Chips> wanted{{}};
  for (const std::string& one : chips) {
    wanted.insert(both(one));
    for (const std::string& other : chips) {
      if (other != one) wanted.insert(both(one, other));
    }
  }
  Fits fits;
  for (const Chips& chips_left_out : wanted) {
    if (progress) progress(fits.size(), wanted.size());
    fits.emplace(chips_left_out, fit_without(chips_left_out, cases, file));
  }
  if (progress) progress(fits.size(), wanted.size());
  return fits;
}

/// Errors of a kind of kernels on a GPU, and its chip.
struct GroupErrors {
  std::string chip;
  std::vector<double> errors;
};

/// Errors of all groups by fits without their own chip and without `left_out`; empty: no other.
std::map<Group, GroupErrors> errors_without(const std::string& left_out,
                                            const std::set<std::string>& chips,
                                            std::span<const Case> cases, const Fits& fits) {
  const auto fitted_to = [&](const std::string& chip) {
    return chips.contains(chip) ? chip : std::string();
  };
  std::map<Group, GroupErrors> all;
  for (const Case& one : cases) {
    const std::string& chip = chip_of(one);
    if (chip == left_out) continue;
    const Chips missing = both(fitted_to(chip), fitted_to(left_out));
    GroupErrors& group = all[group_of(*one.sample)];
    group.chip = chip;
    group.errors.push_back(error_of(one, fits.at(missing)));
  }
  return all;
}

KernelScore score_of(const Group& group, const std::vector<double>& errors) {
  KernelScore score;
  std::tie(score.gpu, score.dtype, score.kernel) = group;
  score.cases = errors.size();
  std::vector<double> shares;
  std::vector<double> absolute;
  for (const double error : errors) {
    shares.push_back(std::exp(error) - 1);
    absolute.push_back(std::abs(shares.back()));
  }
  score.median = median(absolute);
  score.mean = mean(absolute);
  score.bias = median(shares);
  return score;
}

/// Share of the errors of a kind of kernels that lie between the quantiles of `others`, which are
/// of GPUs with other chips.
double covered(const std::string& kernel, const std::vector<double>& own,
               const std::map<Group, GroupErrors>& others) {
  std::vector<scaling::Weighted> all;
  for (const auto& [group, values] : others) {
    if (std::get<2>(group) != kernel) continue;
    for (const double value : values.errors) {
      all.push_back({value, 1 / static_cast<double>(values.errors.size())});
    }
  }
  if (all.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double low = scaling::weighted_quantile(all, 0.05);
  const double high = scaling::weighted_quantile(all, 0.95);
  const auto within =
      std::ranges::count_if(own, [&](double error) { return error >= low && error <= high; });
  return static_cast<double>(within) / static_cast<double>(own.size());
}

std::map<std::string, FittedConstant, std::less<>> with_jackknife(
    const Fits& fits, const std::set<std::string>& chips, const sheet::KernelFile& file) {
  std::map<std::string, FittedConstant, std::less<>> constants = file.kernels;
  for (const sheet::ConstantKey& one : sheet::fitted_to_kernels()) {
    std::vector<double> logs;
    for (const std::string& chip : chips) {
      logs.push_back(std::log(fits.at(both(chip)).*one.value));
    }
    const auto n = static_cast<double>(logs.size());
    const double centre = mean(logs);
    double squares = 0;
    for (const double log : logs) squares += (log - centre) * (log - centre);
    const double ninety = deviations_of_90 * std::sqrt((n - 1) / n * squares);
    FittedConstant& constant = constants.find(one.key)->second;
    constant.value = fits.at({}).*one.value;
    constant.low = constant.value * std::exp(-ninety);
    constant.high = constant.value * std::exp(ninety);
  }
  return constants;
}

}  // namespace

Seconds kernel_time(const KernelSample& sample, const sheet::KernelConstants& constants) {
  return time_of(case_of(sample, constants), constants);
}

KernelFit fit_kernels(std::span<const KernelSample> samples, const sheet::KernelFile& file,
                      const std::function<void(std::size_t, std::size_t)>& progress) {
  std::vector<Case> cases;
  std::set<std::string> chips;
  for (const KernelSample& sample : samples) {
    cases.push_back(case_of(sample, file.constants));
    if (is_product(cases.back())) chips.insert(chip_of(cases.back()));
  }
  constexpr std::size_t least = 3;
  if (chips.size() < least) {
    throw ConfigError(fmt::format(
        "these files have products of {} chips with data sheets, and fits that leave two of them "
        "out need {}. Add files.",
        chips.size(), least));
  }
  const Fits fits = make_fits(chips, cases, file, progress);
  KernelFit made;
  made.fitted = with_jackknife(fits, chips, file);
  std::map<std::string, std::map<Group, GroupErrors>> others;
  for (const auto& [group, values] : errors_without({}, chips, cases, fits)) {
    made.scores.push_back(score_of(group, values.errors));
    if (!others.contains(values.chip)) {
      others.emplace(values.chip, errors_without(values.chip, chips, cases, fits));
    }
    made.scores.back().covered = covered(std::get<2>(group), values.errors, others.at(values.chip));
  }
  return made;
}

}  // namespace dlscale::model::published
