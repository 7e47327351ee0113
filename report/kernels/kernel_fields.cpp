#include "report/kernels/kernel_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace dlscale::report {

Fields<model::KernelCase> kernel_fields() {
  using Row = model::KernelCase;
  using model::Way;
  using enum Meaning;
  return {
      {"backend", key, via(&Row::way, &Way::backend)},
      {"algorithm", key, via(&Row::way, &Way::method, lowering::method_name),
       "algorithm", via(&Row::way, &Way::algorithm), Align::left},
      {"pass", key, via(&Row::way, &Way::pass, pass_name), "pass", as::words},
      {"kernel", key, &Row::kernel, "kernel", as::words},
      {"batch", key, &Row::batch, "batch", as::exact},
      {"threads", key, via(&Row::way, &Way::threads)},
      {"cache", key, via(&Row::way, &Way::cache)},
  };
}

Fields<model::KernelPrediction> predicted_fields() {
  using Row = model::KernelPrediction;
  using Time = model::Estimate<Seconds>;
  using enum Meaning;
  return in_records<Row>({
      {"predicted_s", value, via(&Row::time, &Time::value), "predicted ms", as::milliseconds},
      {"low_s", value, via(&Row::time, &Time::low)},
      {"high_s", value, via(&Row::time, &Time::high)},
      {"naive_s", value, &Row::naive},
  });
}

std::string beyond_text(const model::KernelPrediction& prediction, const char* separator) {
  return fmt::format("{}", fmt::join(prediction.beyond, separator));
}

Json way_object(const model::Way& way) {
  return {{"backend", way.backend},
          {"algorithm", lowering::method_name(way.method)},
          {"pass", pass_name(way.pass)},
          {"threads", way.threads},
          {"cache", way.cache}};
}

Json kernel_prediction_object(const model::KernelPrediction& prediction) {
  Json stages = Json::array();
  for (const model::StageTime& stage : prediction.stages) {
    stages.push_back({{"name", stage.name},
                      {"time_s", value_of(stage.time())},
                      {"compute_s", value_of(stage.compute)},
                      {"memory_s", value_of(stage.memory)},
                      {"bound_by", stage.memory_bound() ? "memory" : "compute"}});
  }
  return {{"time_s", value_of(prediction.time.value)},
          {"low_s", value_of(prediction.time.low)},
          {"high_s", value_of(prediction.time.high)},
          {"naive_s", value_of(prediction.naive)},
          {"beyond", prediction.beyond},
          {"correction", number(prediction.correction)},
          {"start_and_tensors_s", value_of(prediction.always)},
          {"stages", std::move(stages)}};
}

}  // namespace dlscale::report
