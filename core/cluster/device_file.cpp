#include "core/cluster/device_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/cluster/link_kind.hpp"
#include "core/config/config_path.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/near_words.hpp"
#include "core/text/suggest.hpp"

namespace dlscale {
namespace {

constexpr IntegerRange year_range{2000, 2100};

/// A number with a unit that no quantity here has.
struct PlainNumber {
  std::string_view unit;
  double least;
  double most;
  std::string_view what;
  std::string_view advice;
};

double read_plain(const ConfigMap& map, std::string_view key, const PlainNumber& wanted) {
  const std::string text = map.text(key);
  double value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  const std::string_view unit(end, static_cast<std::size_t>(last - end));
  if (error != std::errc{} || unit != wanted.unit || !(value >= wanted.least) ||
      !(value <= wanted.most)) {
    map.refuse(key, wanted.what, wanted.advice);
  }
  return value;
}

Hertz read_clock(const ConfigMap& map, std::string_view key) {
  constexpr double hertz = 1e6;
  return Hertz(hertz * read_plain(map, key,
                                  {" MHz", 100, 10'000, "no clock of a GPU",
                                   "Write one from 100 to 10000 MHz, as \"1530 MHz\"."}));
}

template <class Q>
Q read_within(const ConfigMap& map, std::string_view key, Q least, Q most, std::string_view range) {
  const auto value = map.quantity<Q>(key);
  if (value < least || value > most) {
    map.refuse(key, fmt::format("out of {}", range), "Check its unit.");
  }
  return value;
}

std::map<SheetFormat, FlopsPerSecond> read_sheet_peak(const ConfigMap& map) {
  std::array<std::string_view, all_sheet_formats.size()> names;
  std::transform(all_sheet_formats.begin(), all_sheet_formats.end(), names.begin(),
                 sheet_format_name);
  map.allow_only(names);
  std::map<SheetFormat, FlopsPerSecond> peak;
  for (const SheetFormat format : all_sheet_formats) {
    const std::string_view name = sheet_format_name(format);
    if (format == SheetFormat::f32 || map.has(name)) {
      peak[format] = map.quantity<FlopsPerSecond>(name);
    }
  }
  return peak;
}

/// Figures are rounded: 1 % of tolerance.
constexpr double rounding = 0.99;

void check_order(const ConfigMap& map, const std::map<SheetFormat, FlopsPerSecond>& peak) {
  const FlopsPerSecond single = peak.at(SheetFormat::f32);
  const auto is_less = [&](SheetFormat format, FlopsPerSecond than) {
    return peak.contains(format) && peak.at(format) < rounding * than;
  };
  if (peak.contains(SheetFormat::f64) && peak.at(SheetFormat::f64) > single) {
    map.refuse("f64", "more than f32", "Write that of plain cores.");
  }
  for (const SheetFormat format : {SheetFormat::tf32, SheetFormat::bf16, SheetFormat::f16}) {
    if (is_less(format, single)) {
      map.refuse(sheet_format_name(format), "less than f32, so of no use", "Leave it out.");
    }
  }
  if (peak.contains(SheetFormat::f16) && is_less(SheetFormat::f8, peak.at(SheetFormat::f16))) {
    map.refuse("f8", "less than f16", "Check which of its figures are with sparsity.");
  }
  if (peak.contains(SheetFormat::f8) && is_less(SheetFormat::f4, peak.at(SheetFormat::f8))) {
    map.refuse("f4", "less than f8", "Check which of its figures are with sparsity.");
  }
}

/// A core performs one multiply-add per clock.
void check_cores(const ConfigMap& map, const DeviceSheet& sheet) {
  if (sheet.cores % sheet.multiprocessors != 0) {
    map.refuse("cores", "no multiple of multiprocessors", "Check both.");
  }
  const FlopsPerSecond given = sheet.peak.at(SheetFormat::f32);
  const FlopsPerSecond derived(2.0 * sheet.cores * sheet.boost_clock.si());
  if (std::abs(given / derived - 1) > 0.03) {
    map.map("peak").refuse("f32",
                           fmt::format("but cores and boost_clock make {}", to_text(derived)),
                           "Check all three.");
  }
}

NvlinkPorts read_nvlink(const ConfigMap& map) {
  map.allow_only({"generation", "links", "bandwidth"});
  NvlinkPorts ports;
  ports.generation = map.integer("generation", {1, 5});
  ports.links = map.integer("links", {1, 18});
  ports.bandwidth = map.quantity<BytesPerSecond>("bandwidth");
  // Per link, in one direction, by generation. [NVIDIA's data sheets of P100 … B200]
  constexpr std::array<double, 5> most_of_link{20e9, 25e9, 25e9, 25e9, 50e9};
  const BytesPerSecond most(ports.links *
                            most_of_link[static_cast<std::size_t>(ports.generation - 1)]);
  if (ports.bandwidth > most) {
    map.refuse("bandwidth", fmt::format("more than so many links of it carry, {}", to_text(most)),
               "Write that of one direction.");
  }
  return ports;
}

std::string read_host_link(const ConfigMap& map) {
  std::string kind = map.text("host_link");
  const std::vector<std::string> kinds = config_names("links");
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
    map.refuse("host_link", "no kind of configs/links", suggestion(kind, kinds));
  }
  return kind;
}

Hertz read_clock_below(const ConfigMap& map, std::string_view key, Hertz boost) {
  const Hertz clock = read_clock(map, key);
  if (clock > boost) map.refuse(key, "above boost_clock, the highest", "Check both.");
  return clock;
}

void read_processor(const ConfigMap& map, DeviceSheet& sheet) {
  sheet.multiprocessors = map.integer("multiprocessors", {1, 10'000});
  sheet.cores = map.integer("cores", {1, 1'000'000});
  sheet.boost_clock = read_clock(map, "boost_clock");
  if (map.has("base_clock")) {
    sheet.base_clock = read_clock_below(map, "base_clock", sheet.boost_clock);
  }
  sheet.tensor_clock = map.has("tensor_clock")
                           ? read_clock_below(map, "tensor_clock", sheet.boost_clock)
                           : sheet.boost_clock;
  if (map.has("power")) {
    sheet.power_w = read_plain(
        map, "power",
        {" W", 1, 10'000, "no power of a board", "Write one from 1 to 10000 W, as \"300 W\"."});
  }
  if (map.has("process")) {
    sheet.process_nm = read_plain(
        map, "process",
        {" nm", 1, 1000, "no process of a chip", "Write one from 1 to 1000 nm, as \"16 nm\"."});
  }
  sheet.peak = read_sheet_peak(map.map("peak"));
  check_order(map.map("peak"), sheet.peak);
  check_cores(map, sheet);
}

/// Common form of all spellings of a name.
std::string plain_word(std::string_view name) {
  std::string word;
  for (const char letter : name) {
    const auto code = static_cast<unsigned char>(letter);
    if (std::isalnum(code) != 0) word.push_back(static_cast<char>(std::tolower(code)));
  }
  for (const std::string_view filler : {"nvidia", "tesla", "geforce"}) {
    if (const auto at = word.find(filler); at != std::string::npos) word.erase(at, filler.size());
  }
  return word;
}

std::vector<std::string> read_aliases(const ConfigMap& map) {
  std::vector<std::string> aliases;
  if (map.has("aliases")) aliases = map.texts("aliases");
  for (const std::string& alias : aliases) {
    if (plain_word(alias).empty()) {
      map.refuse(
          "aliases",
          fmt::format("with \"{}\", by which nothing can be found", escape_for_terminal(alias)),
          "Write what publications call it.");
    }
  }
  return aliases;
}

std::vector<std::string> words_of(const DeviceSheet& sheet) {
  std::vector<std::string> words{sheet.id, sheet.name};
  words.insert(words.end(), sheet.aliases.begin(), sheet.aliases.end());
  return words;
}

}  // namespace

std::string_view sheet_format_name(SheetFormat format) {
  switch (format) {
    case SheetFormat::f64:
      return "f64";
    case SheetFormat::f32:
      return "f32";
    case SheetFormat::tf32:
      return "tf32";
    case SheetFormat::bf16:
      return "bf16";
    case SheetFormat::f16:
      return "f16";
    case SheetFormat::f8:
      return "f8";
    case SheetFormat::f4:
      return "f4";
  }
  fail_expectation("a known format of numbers");
}

DeviceSheet load_device_sheet(std::string_view name) {
  const ConfigMap map = ConfigMap::load(find_config("devices", name));
  map.allow_only({"device", "name", "aliases", "architecture", "chip", "launched", "memory",
                  "memory_bandwidth", "multiprocessors", "cores", "boost_clock", "base_clock",
                  "tensor_clock", "power", "process", "peak", "host_link", "nvlink", "sources"});
  DeviceSheet sheet;
  sheet.id = map.name("device");
  sheet.name = map.name("name");
  sheet.aliases = read_aliases(map);
  sheet.architecture = map.text("architecture");
  sheet.chip = map.text("chip");
  sheet.launched = map.integer("launched", year_range);
  sheet.memory = read_within(map, "memory", Bytes(64e6), Bytes(4e12), "[64 MB, 4 TB]");
  sheet.memory_bandwidth = read_within(map, "memory_bandwidth", BytesPerSecond(1e9),
                                       BytesPerSecond(1e14), "[1 GB/s, 100 TB/s]");
  read_processor(map, sheet);
  sheet.host_link = read_host_link(map);
  if (map.has("nvlink")) sheet.nvlink = read_nvlink(map.map("nvlink"));
  constexpr std::array<std::string_view, 13> figures{
      "launched",        "memory",       "memory_bandwidth",
      "multiprocessors", "cores",        "boost_clock",
      "base_clock",      "tensor_clock", "power",
      "process",         "peak",         "host_link",
      "nvlink"};
  sheet.sources = read_sources(map, stated_keys(map, figures));
  return sheet;
}

Device nominal_device(const DeviceSheet& sheet, Seconds launch) {
  EXPECT(launch > Seconds(0));
  Device device;
  device.name = sheet.name;
  device.kind = DeviceKind::gpu;
  const std::array<std::pair<SheetFormat, DType>, 4> formats{{{SheetFormat::f32, DType::f32},
                                                              {SheetFormat::tf32, DType::tf32},
                                                              {SheetFormat::bf16, DType::bf16},
                                                              {SheetFormat::f16, DType::f16}}};
  for (const auto& [format, dtype] : formats) {
    if (sheet.peak.contains(format)) device.peak[dtype] = sheet.peak.at(format);
  }
  device.memory_bandwidth = sheet.memory_bandwidth;
  device.memory = sheet.memory;
  device.launch = launch;
  device.units = DeviceUnits{
      sheet.multiprocessors, sheet.cores, sheet.boost_clock,
      sheet.base_clock.value_or(std::min(usual_base_share * sheet.boost_clock, sheet.tensor_clock)),
      sheet.tensor_clock};
  std::vector<std::string> titles;
  for (const DataSource& source : sheet.sources) titles.push_back(source.title);
  device.source = fmt::to_string(fmt::join(titles, "; "));
  device.sheet = sheet.id;
  device.launched = sheet.launched;
  return device;
}

DeviceCatalogue::DeviceCatalogue(std::vector<DeviceSheet> sheets) : sheets_(std::move(sheets)) {
  for (std::size_t i = 0; i < sheets_.size(); ++i) {
    for (const std::string& name : words_of(sheets_[i])) {
      const auto [place, is_new] = by_word_.try_emplace(plain_word(name), i);
      if (is_new || place->second == i) continue;
      throw ConfigError(fmt::format(
          "the data sheets {} and {} both answer to \"{}\" (which would leave open which is "
          "meant). Take that alias from one of them.",
          sheets_[place->second].id, sheets_[i].id, name));
    }
  }
}

DeviceCatalogue DeviceCatalogue::load() {
  std::vector<DeviceSheet> sheets;
  for (const std::string& name : config_names("devices")) {
    sheets.push_back(load_device_sheet(name));
  }
  return DeviceCatalogue(std::move(sheets));
}

const DeviceSheet* DeviceCatalogue::find(std::string_view name) const {
  const auto found = by_word_.find(plain_word(name));
  return found == by_word_.end() ? nullptr : &sheets_[found->second];
}

const DeviceSheet& DeviceCatalogue::at(std::string_view name) const {
  if (const DeviceSheet* sheet = find(name)) return *sheet;
  std::vector<std::string> ids;
  std::vector<std::string> known;
  for (const DeviceSheet& sheet : sheets_) {
    ids.push_back(sheet.id);
    for (const std::string& word : words_of(sheet)) known.push_back(word);
  }
  const bool is_near_id = !near_words(name, ids).empty();
  throw ConfigError(fmt::format("\"{}\" is not one GPU with a data sheet in configs/devices. {}",
                                name, suggestion(name, is_near_id ? ids : known)));
}

}  // namespace dlscale
