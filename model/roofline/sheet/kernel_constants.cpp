#include "model/roofline/sheet/kernel_constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "core/config/config_file.hpp"
#include "core/config/config_path.hpp"

namespace dlscale::model::sheet {
namespace {

constexpr std::array fitted_keys{
    ConstantKey{"e", &KernelConstants::efficiency},
    ConstantKey{"conv", &KernelConstants::convolution},
    ConstantKey{"convw", &KernelConstants::weight_gradient},
    ConstantKey{"t0", &KernelConstants::kernel_overhead},
    ConstantKey{"em", &KernelConstants::memory_efficiency},
    ConstantKey{"w", &KernelConstants::boost_weight},
    ConstantKey{"old", &KernelConstants::old_convolution},
};

constexpr std::array fixed_keys{
    ConstantKey{"power", &KernelConstants::roof_power},
    ConstantKey{"shared", &KernelConstants::shared_reads},
    ConstantKey{"tensor_shared", &KernelConstants::tensor_reads},
    ConstantKey{"tensor_shared_alone", &KernelConstants::tensor_reads_alone},
    ConstantKey{"shared_rate", &KernelConstants::shared_rate},
    ConstantKey{"start", &KernelConstants::tile_start},
    ConstantKey{"least_depth", &KernelConstants::least_depth},
    ConstantKey{"partial_sums", &KernelConstants::partial_sums},
    ConstantKey{"channel_grain", &KernelConstants::channel_grain},
    ConstantKey{"copies", &KernelConstants::layout_copies},
    ConstantKey{"strided", &KernelConstants::strided_data},
    ConstantKey{"direct_channels", &KernelConstants::direct_channels},
    ConstantKey{"filtered", &KernelConstants::filtered_saving},
    ConstantKey{"filtered_3x3", &KernelConstants::filtered_3x3},
    ConstantKey{"filtered_5x5", &KernelConstants::filtered_5x5},
    ConstantKey{"old_half", &KernelConstants::old_half},
    ConstantKey{"old_tensor", &KernelConstants::old_tensor_ages},
    ConstantKey{"graph", &KernelConstants::recorded},
    ConstantKey{"new_libraries", &KernelConstants::new_libraries},
    ConstantKey{"years_of_age", &KernelConstants::years_of_age},
    ConstantKey{"fused_updates", &KernelConstants::fused_updates},
    ConstantKey{"tensor_updates", &KernelConstants::tensor_updates},
    ConstantKey{"operator_updates", &KernelConstants::operator_updates},
    ConstantKey{"flops_per_joule", &KernelConstants::flops_per_joule},
    ConstantKey{"process", &KernelConstants::process_exponent},
    ConstantKey{"load", &KernelConstants::load_exponent},
};

constexpr std::array interval_terms{
    ConstantKey{"one", &KernelConstants::interval_always},
    ConstantKey{"half", &KernelConstants::interval_half},
    ConstantKey{"transformer", &KernelConstants::interval_sequences},
    ConstantKey{"old", &KernelConstants::interval_old},
    ConstantKey{"low", &KernelConstants::interval_low},
    ConstantKey{"high", &KernelConstants::interval_high},
};

constexpr std::array kernel_keys{
    ConstantKey{"e", &KernelConstants::efficiency},
    ConstantKey{"w", &KernelConstants::boost_weight},
    ConstantKey{"board", &KernelConstants::power_weight},
    ConstantKey{"t0", &KernelConstants::kernel_overhead},
};

constexpr NumberRange positive_numbers{1e-12, 1e12};
constexpr NumberRange terms_of_logarithms{-100, 100};

std::vector<std::string_view> names_of(std::span<const ConstantKey> keys) {
  std::vector<std::string_view> names;
  for (const ConstantKey& one : keys) names.push_back(one.key);
  return names;
}

std::map<std::string, FittedConstant, std::less<>> read_fitted(const ConfigMap& map,
                                                               std::span<const ConstantKey> keys) {
  map.allow_only(names_of(keys));
  std::map<std::string, FittedConstant, std::less<>> all;
  for (const ConstantKey& one : keys) {
    all.emplace(one.key, read_fitted_constant(map.map(one.key), positive_numbers));
  }
  return all;
}

/// Checks the source of a fixed constant, and its interval if one is known.
ConfigMap sourced(const ConfigMap& map, std::string_view key, std::string_view value) {
  const ConfigMap one = map.map(key);
  one.allow_only({value, "low", "high", "source"});
  static_cast<void>(one.name("source"));
  return one;
}

double read_fixed(const ConfigMap& map, std::string_view key) {
  const ConfigMap one = sourced(map, key, "value");
  const double value = one.number("value", {0, positive_numbers.most});
  if (one.has("low") || one.has("high")) {
    static_cast<void>(one.number("low", {0, value}));
    static_cast<void>(one.number("high", {value, positive_numbers.most}));
  }
  return value;
}

std::optional<Tile> parse_tile(std::string_view text) {
  int rows = 0;
  int columns = 0;
  const char* last = text.data() + text.size();
  const auto [cross, error] = std::from_chars(text.data(), last, rows);
  if (error != std::errc{} || cross == last || *cross != 'x') return std::nullopt;
  const auto [end, second] = std::from_chars(cross + 1, last, columns);
  constexpr int most = 4096;
  if (second != std::errc{} || end != last || rows < 1 || columns < 1 || rows > most ||
      columns > most) {
    return std::nullopt;
  }
  return Tile{static_cast<double>(rows), static_cast<double>(columns)};
}

std::vector<Tile> read_tiles(const ConfigMap& map) {
  std::vector<Tile> tiles;
  for (const std::string& text : map.texts("values")) {
    const std::optional<Tile> tile = parse_tile(text);
    if (!tile) map.refuse("values", "no list of tiles", "Write each as \"128x64\", up to 4096.");
    tiles.push_back(*tile);
  }
  if (tiles.empty()) map.refuse("values", "empty", "Write at least one tile.");
  return tiles;
}

std::vector<double> read_splits(const ConfigMap& map) {
  std::vector<double> splits;
  for (const int split : map.integers("values", {1, 1 << 20})) splits.push_back(split);
  const bool ascending = std::ranges::is_sorted(splits, std::less_equal<>());
  if (splits.empty() || splits.front() != 1 || !ascending) {
    map.refuse("values", "not ascending from 1", "Write 1, then greater numbers.");
  }
  return splits;
}

void read_fixed(const ConfigMap& map, KernelConstants& read) {
  std::vector<std::string_view> names = names_of(fixed_keys);
  names.insert(names.end(), {"tiles", "splits"});
  map.allow_only(names);
  for (const ConstantKey& one : fixed_keys) read.*one.value = read_fixed(map, one.key);
  read.tiles = read_tiles(sourced(map, "tiles", "values"));
  read.splits = read_splits(sourced(map, "splits", "values"));
}

void read_interval(const ConfigMap& map, KernelConstants& read) {
  map.allow_only(names_of(interval_terms));
  for (const ConstantKey& one : interval_terms) {
    read.*one.value = map.number(one.key, terms_of_logarithms);
  }
  constexpr double least = 1e-6;  // of the distance of an end from the value
  if (read.interval_low > -least) map.refuse("low", "not below 0", "Write the lower quantile.");
  if (read.interval_high < least) map.refuse("high", "not above 0", "Write the upper quantile.");
}

void read_without(const ConfigMap& file, KernelFile& read) {
  if (!file.has("without")) return;
  for (const ConfigMap& one : file.maps("without")) {
    one.allow_only({"set", "fitted", "interval"});
    KernelConstants constants = read.constants;
    const ConfigMap fitted = one.map("fitted");
    fitted.allow_only(names_of(fitted_keys));
    for (const ConstantKey& key : fitted_keys) {
      constants.*key.value = fitted.number(key.key, positive_numbers);
    }
    read_interval(one.map("interval"), constants);
    if (!read.without.emplace(one.name("set"), constants).second) {
      one.refuse("set", "there twice", "Leave each set out once.");
    }
  }
}

/// The number of trainings that constants were fitted to. Checks the names of the data, which only
/// readers use.
int read_sets(const ConfigMap& file) {
  if (file.has("cases")) static_cast<void>(file.texts("cases"));
  if (!file.has("sets")) return 0;
  int trainings = 0;
  for (const ConfigMap& one : file.maps("sets")) {
    one.allow_only({"set", "trainings"});
    static_cast<void>(one.name("set"));
    constexpr IntegerRange counts{0, 1'000'000};
    trainings += one.integer("trainings", counts);
  }
  return trainings;
}

bool opens_section(std::string_view line) {
  return !line.empty() && line.front() != ' ' && line.front() != '#' && line.front() != '-';
}

}  // namespace

std::span<const ConstantKey> fitted_constants() {
  return fitted_keys;
}

std::span<const ConstantKey> interval_constants() {
  return interval_terms;
}

std::span<const ConstantKey> fitted_to_kernels() {
  return kernel_keys;
}

KernelFile load_kernel_file(const std::filesystem::path& path) {
  const ConfigMap file = ConfigMap::load(path);
  file.allow_only({"schema", "version", "cases", "sets", "fitted", "fixed", "interval", "without",
                   "kernels", "domain"});
  if (file.text("schema") != "dlscale.kernel_times") {
    file.refuse("schema", "another kind of file", "Name a model of kernels by data sheets.");
  }
  if (file.integer("version", {0, std::numeric_limits<int>::max()}) != 2) {
    file.refuse("version", "this program reads 2", "Take the file that came with this program.");
  }
  KernelFile read;
  read.constants.trainings = read_sets(file);
  read.fitted = read_fitted(file.map("fitted"), fitted_keys);
  for (const ConstantKey& one : fitted_keys) {
    read.constants.*one.value = read.fitted.find(one.key)->second.value;
  }
  read_fixed(file.map("fixed"), read.constants);
  read_interval(file.map("interval"), read.constants);
  read_without(file, read);
  read.kernels = read_fitted(file.map("kernels"), kernel_keys);
  return read;
}

KernelConstants load_kernel_constants(const std::filesystem::path& path) {
  return load_kernel_file(path).constants;
}

const KernelConstants& nominal_constants() {
  static const KernelConstants constants = load_kernel_constants(find_config("models", "kernels"));
  return constants;
}

KernelConstants alone(const KernelFile& file) {
  KernelConstants constants = file.constants;
  for (const ConstantKey& one : kernel_keys) {
    constants.*one.value = file.kernels.find(one.key)->second.value;
  }
  constants.tensor_reads = constants.tensor_reads_alone;
  return constants;
}

std::string with_section(std::string_view file, std::string_view key, std::string_view section) {
  std::string text;
  bool inside = false;
  bool placed = false;
  while (!file.empty()) {
    const std::size_t length = std::min(file.find('\n'), file.size() - 1) + 1;
    const std::string_view line = file.substr(0, length);
    file.remove_prefix(length);
    if (opens_section(line)) {
      inside = line.substr(0, line.find(':')) == key;
      if (inside && !placed) {
        text += section;
        placed = true;
      }
    }
    if (!inside) text += line;
  }
  if (!placed) text += section;
  return text;
}

std::string fitted_text(std::string_view key, const FittedConstant& constant) {
  return fmt::format("{}: {{value: {:.5g}, low: {:.5g}, high: {:.5g}, prior: {:.5g}, spread: {}}}",
                     key, constant.value, constant.low, constant.high, constant.prior,
                     constant.spread);
}

}  // namespace dlscale::model::sheet
