#include "model/roofline/sheet/kernel_constants.hpp"

#include <array>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "core/config/config_file.hpp"
#include "core/config/config_path.hpp"

namespace dlscale::model::sheet {
namespace {

/// A constant and its key.
struct ConstantKey {
  std::string_view key;
  double KernelConstants::*value;
};

constexpr std::array fitted_keys{
    ConstantKey{"e", &KernelConstants::efficiency},
    ConstantKey{"conv", &KernelConstants::convolution},
    ConstantKey{"convw", &KernelConstants::weight_gradient},
    ConstantKey{"t0", &KernelConstants::kernel_overhead},
    ConstantKey{"em", &KernelConstants::memory_efficiency},
    ConstantKey{"w", &KernelConstants::boost_weight},
    ConstantKey{"old", &KernelConstants::old_convolution},
    ConstantKey{"oldtc", &KernelConstants::old_tensor_convolution},
};

constexpr std::array fixed_keys{
    ConstantKey{"power", &KernelConstants::roof_power},
    ConstantKey{"shared", &KernelConstants::shared_reads},
    ConstantKey{"start", &KernelConstants::tile_start},
    ConstantKey{"copies", &KernelConstants::layout_copies},
    ConstantKey{"strided", &KernelConstants::strided_data},
    ConstantKey{"old_half", &KernelConstants::old_half},
    ConstantKey{"graph", &KernelConstants::recorded},
};

constexpr std::array interval_terms{
    ConstantKey{"one", &KernelConstants::interval_always},
    ConstantKey{"half", &KernelConstants::interval_half},
    ConstantKey{"transformer", &KernelConstants::interval_sequences},
    ConstantKey{"old", &KernelConstants::interval_old},
};

constexpr NumberRange positive_numbers{1e-12, 1e12};
constexpr NumberRange terms_of_logarithms{-100, 100};
constexpr NumberRange slower{1e-6, 100};
constexpr NumberRange faster{-100, -1e-6};

std::vector<std::string_view> names_of(std::span<const ConstantKey> keys) {
  std::vector<std::string_view> names;
  for (const ConstantKey& one : keys) names.push_back(one.key);
  return names;
}

/// Fitted values with their 90 % intervals and priors, which are for readers.
void read_fitted(const ConfigMap& map, KernelConstants& read) {
  map.allow_only(names_of(fitted_keys));
  for (const ConstantKey& one : fitted_keys) {
    const ConfigMap fit = map.map(one.key);
    fit.allow_only({"value", "low", "high", "prior", "spread"});
    const double low = fit.number("low", positive_numbers);
    read.*one.value = fit.number("value", {low, positive_numbers.most});
    static_cast<void>(fit.number("high", {read.*one.value, positive_numbers.most}));
    static_cast<void>(fit.number("prior", positive_numbers));
    static_cast<void>(fit.number("spread", positive_numbers));
  }
}

void read_fixed(const ConfigMap& map, KernelConstants& read) {
  map.allow_only(names_of(fixed_keys));
  for (const ConstantKey& one : fixed_keys) read.*one.value = map.number(one.key, positive_numbers);
}

/// The terms of several GPUs are for studies of published trainings alone.
void read_interval(const ConfigMap& map, KernelConstants& read) {
  std::vector<std::string_view> names = names_of(interval_terms);
  for (const std::string_view other : {"several_gpus", "several_nodes", "low", "high"}) {
    names.push_back(other);
  }
  map.allow_only(names);
  for (const ConstantKey& one : interval_terms) {
    read.*one.value = map.number(one.key, terms_of_logarithms);
  }
  read.interval_low = map.number("low", faster);
  read.interval_high = map.number("high", slower);
}

}  // namespace

KernelConstants load_kernel_constants(const std::filesystem::path& path) {
  const ConfigMap file = ConfigMap::load(path);
  file.allow_only({"schema", "version", "cases", "sets", "fitted", "fixed", "interval"});
  if (file.text("schema") != "dlscale.kernel_times") {
    file.refuse("schema", "another kind of file", "Name a model of kernels by data sheets.");
  }
  if (file.integer("version", {0, std::numeric_limits<int>::max()}) != 1) {
    file.refuse("version", "this program reads 1", "Take the file that came with this program.");
  }
  KernelConstants read;
  read_fitted(file.map("fitted"), read);
  read_fixed(file.map("fixed"), read);
  read_interval(file.map("interval"), read);
  return read;
}

const KernelConstants& nominal_constants() {
  static const KernelConstants constants = load_kernel_constants(find_config("models", "kernels"));
  return constants;
}

}  // namespace dlscale::model::sheet
