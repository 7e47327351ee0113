#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/text/json_problem.hpp"
#include "model/roofline/kernels/kernel_model.hpp"

namespace dlscale::model {
namespace {

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
          {"algorithm", lowering::method_name(model.way.method)},
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
  model.way = {json.at("backend"), lowering::parse_method(json.at("algorithm").get<std::string>()),
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
