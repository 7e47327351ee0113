#include "model/sgd_iter/kernels/affine_fits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/base/error.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

double apart(int a, int b) {
  return std::abs(std::log(static_cast<double>(a) / b));
}

}  // namespace

Conditions::Conditions(const Run& run)
    : dtype(run.dtype),
      threads(run.compute_threads),
      ranks_on_node(Placement{run.ranks, run.ranks_per_node}.ranks_on_node()) {}

std::string Conditions::text() const {
  return fmt::format("in {} with {} threads beside {} ranks", dtype_name(dtype), threads,
                     ranks_on_node);
}

const AffineFit& nearest(const std::vector<AffineFit>& fits, const Conditions& wanted) {
  EXPECT(!fits.empty());
  const auto distance = [&](const AffineFit& fit) {
    return std::tuple(fit.dtype != wanted.dtype, apart(fit.threads, wanted.threads),
                      apart(fit.ranks_on_node, wanted.ranks_on_node));
  };
  return *std::min_element(fits.begin(), fits.end(), [&](const AffineFit& a, const AffineFit& b) {
    return distance(a) < distance(b);
  });
}

const AffineFit& noted_nearest(const Machine& machine, const std::vector<AffineFit>& fits,
                               const Conditions& wanted, std::string_view what, Notes& notes) {
  const AffineFit& fit = nearest(fits, wanted);
  if (machine.fitted && Conditions(fit) != wanted) {
    notes.add(NoteKind::affine_not_measured, {what, wanted.text(), Conditions(fit).text()});
  }
  return fit;
}

TimeSource affine_source(const Machine& machine, const std::vector<AffineFit>& fits,
                         const Conditions& wanted, Bytes size) {
  if (!machine.fitted) return TimeSource::data_sheet;
  const AffineFit& fit = nearest(fits, wanted);
  const bool as_measured = Conditions(fit) == wanted && fit.cost.covers(size);
  return as_measured ? TimeSource::fitted : TimeSource::extrapolated;
}

}  // namespace dlscale::model
