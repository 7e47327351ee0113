#include "model/roofline/kernels/kernel_model.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "core/base/error.hpp"
#include "core/text/json_problem.hpp"

namespace dlscale::model {
namespace {

/// The share Wᵢ / Bᵢ.
double share_of_tensors(const WorkspaceCase& measured, Bytes workspace) {
  const auto convolution = parse_convolution_key(measured.kernel, measured.batch);
  EXPECT(convolution.has_value());
  return workspace / least_bytes(convolution->shape);
}

using Json = nlohmann::json;

constexpr std::string_view schema = "dlscale.kernels";
constexpr int version = 9;

double finite(double value) {
  EXPECT(std::isfinite(value));
  return value;
}

Json to_json(const CaseSizes& sizes) {
  Json json = Json::object();
  for (std::size_t i = 0; i < sizes.values.size(); ++i) {
    json[std::string(CaseSizes::names.at(i))] = finite(sizes.values.at(i));
  }
  return json;
}

Json to_json(const MeasuredWorkspaces& workspaces) {
  Json list = Json::array();
  for (const auto& [of, size] : workspaces) {
    list.push_back({{"kernel", of.kernel}, {"batch", of.batch}, {"bytes", finite(size.si())}});
  }
  return list;
}

/// null without a correction; else each residual as its log sizes, value and importance.
Json to_json(const Correction& correction) {
  if (correction.residuals.empty()) return nullptr;
  Json list = Json::array();
  for (const auto& [sizes, value, importance] : correction.residuals) {
    Json numbers = sizes;
    numbers.push_back(finite(value));
    numbers.push_back(finite(importance));
    list.push_back(std::move(numbers));
  }
  return {{"reach_octaves", finite(correction.reach)},
          {"prior_samples", finite(correction.prior)},
          {"residuals", std::move(list)}};
}

Json to_json(const KernelModel& model) {
  Json parameters = Json::object();
  for (std::size_t i = 0; i < term_count; ++i) {
    if (!model.seen.test(i)) continue;
    parameters[std::string(term_name(static_cast<Term>(i)))] = finite(model.parameters.at(i));
  }
  return {{"backend", model.way.backend},
          {"algorithm", convolution::method_name(model.way.method)},
          {"pass", pass_name(model.way.pass)},
          {"threads", model.way.threads},
          {"cache", model.way.cache},
          {"parameters", std::move(parameters)},
          {"near_bytes", finite(model.caches.near.si())},
          {"last_level_bytes", finite(model.caches.last.si())},
          {"correction", to_json(model.correction)},
          {"least", to_json(model.least)},
          {"greatest", to_json(model.greatest)},
          {"ratio_low", finite(model.ratio_low)},
          {"ratio_high", finite(model.ratio_high)},
          {"widening_per_octave", finite(model.widening)},
          {"fastest_s", finite(model.fastest.si())},
          {"naive_flops_per_s", finite(model.naive.peak.si())},
          {"naive_bytes_per_s", finite(model.naive.bandwidth.si())},
          {"vector_floats", model.vector_floats},
          {"kernels", model.kernels},
          {"samples", model.samples},
          {"workspaces", to_json(model.workspaces)}};
}

/// A number of [least, 1e30]; JSON itself has no range.
double number(const Json& json, const char* key, double least) {
  const double value = json.at(key).get<double>();
  if (value >= least && value <= 1e30) return value;
  throw ConfigError(fmt::format("{} is {}, out of range", key, value));
}

int count(const Json& json, const char* key) {
  const double value = number(json, key, 1);
  if (value == std::floor(value) && value <= 1e9) return static_cast<int>(value);
  throw ConfigError(fmt::format("{} is {}, which is not a count", key, value));
}

Pass parse_pass(const std::string& name) {
  if (const auto pass = convolution_pass(name)) return *pass;
  throw ConfigError(fmt::format("\"{}\" is not a pass of a convolution", name));
}

CaseSizes parse_sizes(const Json& json) {
  CaseSizes sizes;
  for (std::size_t i = 0; i < sizes.values.size(); ++i) {
    sizes.values.at(i) = number(json, std::string(CaseSizes::names.at(i)).c_str(), 0);
  }
  return sizes;
}

/// Parameters of all terms that the fit has seen.
void parse_parameters(const Json& json, KernelModel& model) {
  model.seen.reset();
  for (const auto& [name, value] : json.items()) {
    std::size_t place = 0;
    while (place < term_count && term_name(static_cast<Term>(place)) != name) ++place;
    if (place == term_count) throw ConfigError(fmt::format("\"{}\" is not a parameter", name));
    model.parameters.at(place) = number(json, name.c_str(), 0);
    model.seen.set(place);
  }
}

Residual parse_residual(const Json& json) {
  const auto numbers = json.get<std::array<double, std::tuple_size_v<LogSizes> + 2>>();
  Residual residual;
  if (json.size() != numbers.size()) throw ConfigError("a residual has other than 7 numbers");
  std::copy_n(numbers.begin(), residual.sizes.size(), residual.sizes.begin());
  residual.value = numbers[residual.sizes.size()];
  residual.importance = numbers[residual.sizes.size() + 1];
  const bool possible =
      std::ranges::all_of(residual.sizes, [](double size) { return std::abs(size) <= 1000; }) &&
      std::abs(residual.value) <= largest_residual && residual.importance > 0 &&
      residual.importance <= 1;
  if (!possible) throw ConfigError("a residual is out of range");
  return residual;
}

Correction parse_correction(const Json& json) {
  Correction correction;
  if (json.is_null()) return correction;
  correction.reach = number(json, "reach_octaves", 1e-6);
  correction.prior = number(json, "prior_samples", 1e-6);
  for (const Json& each : json.at("residuals")) {
    correction.residuals.push_back(parse_residual(each));
  }
  return correction;
}

MeasuredWorkspaces parse_workspaces(const Json& json) {
  MeasuredWorkspaces workspaces;
  for (const Json& each : json) {
    const WorkspaceCase of{each.at("kernel"), count(each, "batch")};
    if (!parse_convolution_key(of.kernel, of.batch)) {
      throw ConfigError(fmt::format("\"{}\" is not a convolution", of.kernel));
    }
    workspaces[of] = Bytes(number(each, "bytes", 0));
  }
  return workspaces;
}

KernelModel parse_model(const Json& json) {
  KernelModel model;
  model.way = {json.at("backend"),
               convolution::parse_method(json.at("algorithm").get<std::string>()),
               parse_pass(json.at("pass")), count(json, "threads"), json.at("cache")};
  parse_parameters(json.at("parameters"), model);
  model.caches = {Bytes(number(json, "near_bytes", 1)), Bytes(number(json, "last_level_bytes", 1))};
  model.correction = parse_correction(json.at("correction"));
  model.least = parse_sizes(json.at("least"));
  model.greatest = parse_sizes(json.at("greatest"));
  model.ratio_low = number(json, "ratio_low", 0);
  model.ratio_high = number(json, "ratio_high", 1);
  model.widening = number(json, "widening_per_octave", 0);
  model.fastest = Seconds(number(json, "fastest_s", 0));
  if (model.ratio_low > 1) throw ConfigError("ratio_low is greater than 1");
  model.naive = {FlopsPerSecond(number(json, "naive_flops_per_s", 1)),
                 BytesPerSecond(number(json, "naive_bytes_per_s", 1))};
  model.vector_floats = count(json, "vector_floats");
  model.kernels = count(json, "kernels");
  model.samples = count(json, "samples");
  model.workspaces = parse_workspaces(json.at("workspaces"));
  return model;
}

KernelModels parse(std::string_view text) {
  const Json json = Json::parse(text);
  if (!json.is_object() || json.value("schema", "") != schema) {
    throw ConfigError(fmt::format("it has no \"schema\": \"{}\"", schema));
  }
  if (json.at("version") != version) {
    throw ConfigError(
        fmt::format("it is of version {}, not {}", json.at("version").dump(), version));
  }
  KernelModels models;
  models.cpu = json.at("cpu");
  models.sources = json.at("sources").get<std::vector<std::string>>();
  for (const Json& model : json.at("models")) models.models.push_back(parse_model(model));
  return models;
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
  return way.method != convolution::Method::direct &&
         convolution::blocking_of(way.backend) != convolution::Blocking::whole;
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
  convolution::Products largest{
      .m = static_cast<double>(shape.outputs) / static_cast<double>(shape.groups),
      .n = static_cast<double>(shape.images * shape.out_height * shape.out_width),
      .k = static_cast<double>(shape.taps())};
  double most = 0;
  for (const convolution::Stage& stage : what.work.stages) {
    for (const convolution::Products& products : stage.products) {
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

std::string kernel_models_json(const KernelModels& models) {
  Json list = Json::array();
  for (const KernelModel& model : models.models) list.push_back(to_json(model));
  const nlohmann::ordered_json json{{"schema", schema},
                                    {"version", version},
                                    {"cpu", models.cpu},
                                    {"sources", models.sources},
                                    {"models", std::move(list)}};
  return json.dump(1) + "\n";
}

KernelModels kernel_models_from_json(std::string_view text, std::string_view where) {
  std::string problem;
  try {
    return parse(text);
  } catch (const Json::exception& error) {
    problem = json_problem(error, text);
  } catch (const ConfigError& error) {
    problem = error.what();
  }
  throw ConfigError(
      fmt::format("{} is not a file of kernel models that can be read: {}. Write it again: dlscale "
                  "roofline fit.",
                  where, problem));
}

}  // namespace dlscale::model
