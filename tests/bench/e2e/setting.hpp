#pragma once
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "bench/engine/benchmark.hpp"
#include "tests/core/support.hpp"
#include "train/data/data.hpp"

namespace dlscale::bench {

/// A folder with a small network and a small data set, and the values of the axes that use them.
class Setting {
 public:
  Setting() {
    train::make_data_set(
        folder_ / "data",
        {.classes = 3, .pictures = 12, .width = 96, .height = 72, .target_bytes = 5000, .seed = 3});
    std::ofstream(folder_ / "small.yaml") << R"(network: small
doc: A convolution and a classifier.
source: made for this test
input: {channels: 3, height: 16, width: 16}
layers:
  - {name: conv, kind: convolution, out_channels: 4, kernel: 3, stride: 2}
  - {name: relu, kind: relu}
  - {name: fc, kind: fully_connected, outputs: 3}
  - {name: loss, kind: softmax_cross_entropy}
)";
  }

  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }

  [[nodiscard]] std::map<std::string, std::string> values(
      const std::map<std::string, std::string>& more = {}) const {
    std::map<std::string, std::string> values{
        {"network", path("small.yaml").string()}, {"batch", "2"}, {"backend", "reference"}};
    for (const auto& [name, value] : more) values[name] = value;
    return values;
  }

 private:
  test::TemporaryFolder folder_;
};

/// As the command line makes it: the session adds what a rank is bound to.
inline Context context_for(const Benchmark& benchmark,
                           const std::map<std::string, std::string>& values,
                           backend::Communicator& communicator) {
  Context context = make_context(benchmark, values, communicator);
  context.values.insert_or_assign("cores_per_rank", std::string("1"));
  return context;
}

/// The only cell of a benchmark, measured on ranks that are threads; by rank.
inline std::vector<Measurement> measure_on(int ranks, const Benchmark& benchmark,
                                           const std::map<std::string, std::string>& values,
                                           const StoppingCriterion& criterion = {
                                               .min_samples = 6, .max_samples = 6}) {
  auto group = backend::local_group(ranks);
  std::vector<Measurement> measurements(group.size());
  std::vector<std::exception_ptr> errors(group.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < group.size(); ++rank) {
      threads.emplace_back([&, rank] {
        try {
          Context context = context_for(benchmark, values, *group[rank]);
          const Cell cell = benchmark.cells(context).at(0);
          measurements[rank] = cell.measure(Sampler(*group[rank], criterion));
        } catch (...) {
          errors[rank] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return measurements;
}

}  // namespace dlscale::bench
