#include "model/roofline/kernels/kernel_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

/// The share Wᵢ / Bᵢ.
double share_of_tensors(const WorkspaceCase& measured, Bytes workspace) {
  const auto convolution = parse_convolution_key(measured.kernel, measured.batch);
  EXPECT(convolution.has_value());
  return workspace / least_bytes(convolution->shape);
}

}  // namespace

std::string_view workspace_basis_name(WorkspaceBasis basis) {
  switch (basis) {
    case WorkspaceBasis::declared:
      return "declared";
    case WorkspaceBasis::measured:
      return "measured";
    case WorkspaceBasis::bounded:
      return "bounded";
    case WorkspaceBasis::formula:
      return "formula";
  }
  fail_expectation("basis is one of WorkspaceBasis");
}

bool Workspace::within(const std::optional<Bytes>& limit) const {
  return !limit || (basis != WorkspaceBasis::formula && size <= *limit);
}

bool declares_workspace(const Way& way) {
  return way.method != lowering::Method::direct &&
         lowering::blocking_of(way.backend) != lowering::Blocking::whole;
}

Workspace workspace_of(const KernelCase& what, const MeasuredWorkspaces& measured) {
  if (declares_workspace(what.way)) return {what.work.workspace, WorkspaceBasis::declared};
  const auto same = measured.find({what.kernel, what.batch});
  if (same != measured.end()) return {same->second, WorkspaceBasis::measured};
  if (measured.empty()) return {what.work.workspace, WorkspaceBasis::formula};
  double largest = 0;
  for (const auto& [of, workspace] : measured) {
    largest = std::max(largest, share_of_tensors(of, workspace));
  }
  return {largest * least_bytes(what.shape), WorkspaceBasis::bounded};
}

CaseSizes sizes_of(const KernelCase& what) {
  const ConvolutionShape& shape = what.shape;
  lowering::Products largest{
      .m = static_cast<double>(shape.outputs) / static_cast<double>(shape.groups),
      .n = static_cast<double>(shape.images * shape.out_height * shape.out_width),
      .k = static_cast<double>(shape.taps())};
  double most = 0;
  for (const lowering::Stage& stage : what.work.stages) {
    for (const lowering::Products& products : stage.products) {
      const double operations = products.m * products.n * products.k;
      if (operations <= most) continue;
      most = operations;
      largest = products;
    }
  }
  return {{what.work.flops().si(), what.work.bytes().si(), largest.m, largest.n, largest.k,
           static_cast<double>(shape.kernel_h * shape.kernel_w),
           static_cast<double>(shape.stride)}};
}

double octaves_beyond(const CaseSizes& sizes, const CaseSizes& least, const CaseSizes& greatest) {
  double octaves = 0;
  for (std::size_t i = 0; i < sizes.values.size(); ++i) {
    const double size = std::max(1.0, sizes.values.at(i));
    const double below = std::log2(std::max(1.0, least.values.at(i)) / size);
    const double above = std::log2(size / std::max(1.0, greatest.values.at(i)));
    octaves = std::max({octaves, below, above});
  }
  return octaves;
}

double octaves_below(const CaseSizes& sizes, const CaseSizes& least) {
  double octaves = 0;
  for (const std::size_t i : {CaseSizes::flops, CaseSizes::bytes}) {
    const double size = std::max(1.0, sizes.values.at(i));
    octaves = std::max(octaves, std::log2(std::max(1.0, least.values.at(i)) / size));
  }
  return octaves;
}

namespace {

/// The 95 % interval of a case that takes `time`, including the fixed cost `start` of a run.
Estimate<Seconds> with_interval(const KernelModel& model, const CaseSizes& sizes, Seconds time,
                                Seconds start) {
  constexpr double most = 300;  // keeps the ends finite
  const double octaves = octaves_beyond(sizes, model.least, model.greatest);
  const double widened = std::exp(std::min(most, model.widening * octaves));
  Estimate<Seconds> estimate{time, (model.ratio_low / widened) * time,
                             (model.ratio_high * widened) * time};
  const double below = octaves_below(sizes, model.least);
  if (below > 0) {
    const Seconds least = std::max(Seconds(), time - (1 - std::exp2(-below)) * start);
    estimate.low = (model.ratio_low / widened) * least;
    estimate.high = std::max(estimate.high, model.fastest);
  }
  return estimate;
}

}  // namespace

bool KernelModel::tells(const KernelCase& what) const {
  return (occurring(terms_of(what, caches)) & ~seen).none();
}

KernelPrediction KernelModel::predict(const KernelCase& what) const {
  const KernelTerms terms = terms_of(what, caches);
  const double factor = std::exp(correction.at(log_sizes(what)));
  const Seconds time = factor * time_of(terms, parameters);
  const Seconds start(factor * parameters.at(static_cast<std::size_t>(Term::start)));
  const CaseSizes sizes = sizes_of(what);
  KernelPrediction prediction{with_interval(*this, sizes, time, start),
                              {},
                              naive.time({what.work.flops(), what.work.bytes()})};
  prediction.correction = factor;
  prediction.always = Seconds(factor * dot(terms.always, parameters));
  for (std::size_t i = 0; i < terms.stages.size(); ++i) {
    prediction.stages.push_back({what.work.stages[i].name,
                                 Seconds(factor * dot(terms.stages[i].compute, parameters)),
                                 Seconds(factor * dot(terms.stages[i].memory, parameters))});
  }
  for (std::size_t i = 0; i < sizes.values.size(); ++i) {
    const double size = sizes.values.at(i);
    if (size >= least.values.at(i) && size <= greatest.values.at(i)) continue;
    prediction.beyond.emplace_back(CaseSizes::names.at(i));
  }
  if (!tells(what)) prediction.beyond.emplace_back(unseen_terms);
  return prediction;
}

const KernelModel* KernelModels::find(const Way& way) const {
  const auto found = std::find_if(models.begin(), models.end(),
                                  [&](const KernelModel& model) { return model.way == way; });
  return found == models.end() ? nullptr : &*found;
}

namespace {

/// Visits the models of ways that offer the convolution under that condition, with the case.
template <class Visit>
void for_each_offer(const KernelModels& models, const std::string& kernel, int batch, Pass pass,
                    int threads, const std::string& cache, const Visit& visit) {
  const auto convolution = parse_convolution_key(kernel, batch);
  if (!convolution) return;
  for (const KernelModel& model : models.models) {
    const Way& way = model.way;
    const bool wanted = way.pass == pass && way.threads == threads && way.cache == cache;
    if (!wanted || !refusal(way, convolution->shape).empty()) continue;
    visit(model, make_case(way, kernel, batch, model.vector_floats));
  }
}

}  // namespace

std::vector<Candidate> choose(const KernelModels& models, const std::string& kernel, int batch,
                              Pass pass, int threads, const std::string& cache,
                              std::optional<Bytes> workspace_limit) {
  std::vector<Candidate> all;
  const auto add = [&](const KernelModel& model, const KernelCase& what) {
    if (!model.tells(what)) return;
    const Workspace workspace = workspace_of(what, model.workspaces);
    all.push_back({model.way, model.predict(what), workspace, workspace.within(workspace_limit)});
  };
  for_each_offer(models, kernel, batch, pass, threads, cache, add);
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    if (a.fits != b.fits) return a.fits;
    return a.prediction.time.value < b.prediction.time.value;
  });
  return all;
}

std::vector<Way> untold_ways(const KernelModels& models, const std::string& kernel, int batch,
                             Pass pass, int threads, const std::string& cache) {
  std::vector<Way> untold;
  const auto add = [&](const KernelModel& model, const KernelCase& what) {
    if (!model.tells(what)) untold.push_back(model.way);
  };
  for_each_offer(models, kernel, batch, pass, threads, cache, add);
  return untold;
}

}  // namespace dlscale::model
