#include "model/parallel/pipeline/closed_form.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "model/parallel/pipeline/plain_times.hpp"

namespace dlscale::model {
namespace {

using parallel::PipelineShape;

struct Bounds {
  double lower;
  double upper;
};

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double most(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::ranges::max_element(values);
}

bool all_equal(const std::vector<double>& values) {
  return std::ranges::adjacent_find(values, std::ranges::not_equal_to()) == values.end();
}

/// Times of parts that are all alike.
struct Alike {
  double f;
  double b;
  double w;
  double x;
};

/// The quantities that the forms are made of.
struct Terms {
  Terms(const PipelineShape& shape, const PipelineCosts& costs)
      : S(shape.stages), v(shape.chunks), m(shape.micro_batches) {
    const auto parts = static_cast<std::size_t>(shape.parts());
    f = plain_times(costs.forward, parts);
    b = plain_times(costs.backward, parts);
    w = costs.backward_weights.empty() ? std::vector<double>(parts, 0.0)
                                       : plain_times(costs.backward_weights, parts);
    x = costs.boundary.empty() ? std::vector<double>(parts - 1, 0.0)
                               : plain_times(costs.boundary, parts - 1);
    is_equal = all_equal(f) && all_equal(b) && all_equal(w) && all_equal(x);
    once = sum_of(f) + sum_of(b) + 2 * sum_of(x);
  }
  [[nodiscard]] Alike slowest() const { return {most(f), most(b), most(w), most(x)}; }
  /// One operation or message after the other.
  [[nodiscard]] double one_by_one() const { return m * once; }

  double S;
  double v;
  double m;
  std::vector<double> f;
  std::vector<double> b;
  std::vector<double> w;
  std::vector<double> x;
  bool is_equal;
  double once;  ///< one micro-batch through all parts, forward and backward
};

/// The first forward of rank r waits for all parts before, and all of these follow its last
/// backward: max_r [m Σ_{p mod S = r}(f + b) + Σ_{p<r}(f + b + 2x)]. [D] Holds for every schedule
/// that places part p on rank p mod S and does not split backward.
double busiest_rank(const Terms& terms) {
  const auto stages = static_cast<std::size_t>(terms.S);
  double slowest = terms.once;
  double before = 0;
  for (std::size_t rank = 0; rank < stages; ++rank) {
    double own = 0;
    for (std::size_t part = rank; part < terms.f.size(); part += stages) {
      own += terms.f[part] + terms.b[part];
    }
    slowest = std::max(slowest, before + terms.m * own);
    before += terms.f[rank] + terms.b[rank];
    if (rank + 1 < stages) before += 2 * terms.x[rank];
  }
  return slowest;
}

Bounds basic_form(const Terms& terms) {
  return {terms.one_by_one(), terms.one_by_one()};
}

Bounds gpipe_form(const Terms& terms) {
  const double time = terms.once + (terms.m - 1) * (most(terms.f) + most(terms.b));
  return {time, time};
}

Bounds one_f_one_b_form(const Terms& terms) {
  double slowest = 0;
  for (std::size_t part = 0; part < terms.f.size(); ++part) {
    slowest = std::max(slowest, terms.f[part] + terms.b[part]);
  }
  const double ways = terms.m - 1 - std::ceil((terms.m - 1) / terms.S);
  const double upper = terms.once + (terms.m - 1) * slowest + 2 * ways * most(terms.x);
  return {terms.is_equal ? upper : std::min(busiest_rank(terms), upper), upper};
}

double interleaved_time(const Terms& terms, const Alike& part) {
  return (terms.v * terms.m + terms.S - 1) * (part.f + part.b) +
         2 * (terms.v * terms.S - 1) * part.x;
}

Bounds interleaved_form(const Terms& terms) {
  const Alike slowest = terms.slowest();
  Alike raised = slowest;
  raised.f = std::max(raised.f, raised.x);
  raised.b = std::max(raised.b, raised.x);
  const double upper = std::min(interleaved_time(terms, raised), terms.one_by_one());
  const double lower = terms.is_equal ? interleaved_time(terms, slowest) : busiest_rank(terms);
  return {std::min(lower, upper), upper};
}

double zero_bubble_time(const Terms& terms, double m, const Alike& part) {
  return m * (part.f + part.b) + (terms.S - 1) * (part.f + part.b - 2 * part.w);
}

/// After its last backward for the input, stage s has k backwards for weights left, while that for
/// the input passes the stages before. [D]
double zero_bubble_lower(const Terms& terms) {
  double slowest = 0;
  double forwards = 0;
  double backwards = 0;
  for (std::size_t s = 0; s < terms.f.size(); ++s) {
    const double left = std::min(static_cast<double>(s) + 1, terms.m) * terms.w[s];
    slowest = std::max(slowest, forwards + terms.m * (terms.f[s] + terms.b[s]) - left +
                                    std::max(left, backwards + terms.w[0]));
    if (s + 1 == terms.f.size()) break;
    forwards += terms.f[s] + terms.x[s];
    backwards += terms.b[s] - terms.w[s] + terms.x[s];
  }
  return slowest;
}

Bounds zero_bubble_form(const Terms& terms) {
  const Alike slowest = terms.slowest();
  if (terms.is_equal && slowest.x == 0 && terms.m >= terms.S && slowest.w <= slowest.f &&
      2 * slowest.w <= slowest.b) {
    const double time = zero_bubble_time(terms, terms.m, slowest);
    return {time, time};
  }
  // A message behind an operation comes no later than with an operation that is longer by it.
  Alike raised = slowest;
  raised.f = std::max(raised.f + raised.x, raised.w);
  raised.b = std::max(raised.b + raised.x, 2 * raised.w);
  const double upper =
      std::min(zero_bubble_time(terms, std::max(terms.m, terms.S), raised), terms.one_by_one());
  return {std::min(zero_bubble_lower(terms), upper), upper};
}

double gems_time(double f_all, double f_last, double b_all, double b_last, double x_all, double m) {
  return f_all + x_all + (m - 1) * (std::max(b_all + f_last, b_last + f_all) + x_all) + b_all +
         x_all;
}

Bounds gems_form(const Terms& terms) {
  const double lower = gems_time(sum_of(terms.f), terms.f.back(), sum_of(terms.b), terms.b.back(),
                                 sum_of(terms.x), terms.m);
  if (terms.is_equal) return {lower, lower};
  const auto [f, b, w, x] = terms.slowest();
  const double upper = std::min(
      gems_time(terms.S * f, f, terms.S * b, b, (terms.S - 1) * x, terms.m), terms.one_by_one());
  return {std::min(lower, upper), upper};
}

struct Form {
  std::string_view schedule;
  Bounds (*bounds)(const Terms& terms);
};
constexpr std::array forms{Form{"basic", basic_form},
                           Form{"gpipe", gpipe_form},
                           Form{"1f1b", one_f_one_b_form},
                           Form{"interleaved", interleaved_form},
                           Form{"zero_bubble", zero_bubble_form},
                           Form{"gems_mast", gems_form},
                           Form{"gems_master", gems_form}};

}  // namespace

MakespanBounds closed_form(const parallel::PipelineSchedule& schedule, const PipelineShape& shape,
                           const PipelineCosts& costs) {
  EXPECT(parallel::obstacle(schedule, shape).empty());
  const auto* const form = std::ranges::find(forms, schedule.name, &Form::schedule);
  EXPECT(form != forms.end());
  const Bounds bounds = form->bounds(Terms(shape, costs));
  return {Seconds(bounds.lower), Seconds(bounds.upper)};
}

}  // namespace dlscale::model
