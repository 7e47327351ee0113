#include "app/measure/result_files.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/error.hpp"
#include "core/cluster/device_file.hpp"
#include "core/system/environment.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::app {
namespace {

/// The key of the GPU's name in Environment::libraries, as CUDA backends write it.
constexpr const char* gpu_key = "GPU";
constexpr const char* memory_key = "GPU memory";
constexpr const char* measured = "no data sheet; measured by bench";

/// Whether `backend` (empty: any) computed on the GPU that a header names. A file of several
/// backends has the libraries of all; only on a GPU does the host launch work ("give").
bool computed_on_gpu(const ResultFile& file, const std::string& backend) {
  if (!file.header.environment.libraries.contains(gpu_key)) return false;
  std::set<std::string> backends;
  bool was_given = false;
  for (const Measurement& measurement : file.measurements) {
    const auto found = measurement.axes.find("backend");
    if (found == measurement.axes.end()) continue;
    backends.insert(found->second);
    const bool is_meant = backend.empty() || found->second == backend;
    was_given |= is_meant && measurement.series.contains("give");
  }
  const bool has_rows = backend.empty() ? !backends.empty() : backends.contains(backend);
  return has_rows && (backends.size() == 1 || was_given);
}

/// The header that names the GPU; nullptr if none does. The fit checks that all name the same one.
const Environment* environment_of_gpu(std::span<const ResultFile> files,
                                      const std::string& backend) {
  for (const ResultFile& file : files) {
    if (computed_on_gpu(file, backend)) return &file.header.environment;
  }
  return nullptr;
}

/// Removes a number of at most `most` from the start of the text; -1 if there is none.
int take_number(std::string_view& text, int most) {
  int number = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || number < 0 || number > most) return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Number of cores in Environment::affinity: 5 for "0-3,8"; 0 for an invalid list.
int cores_of(std::string_view text) {
  constexpr int most = 1 << 16;
  int cores = 0;
  while (cores <= most) {
    const int first = take_number(text, most);
    int last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      last = take_number(text, most);
    }
    if (first < 0 || last < first) return 0;
    cores += last - first + 1;
    if (text.empty()) return cores;
    if (!text.starts_with(',')) return 0;
    text.remove_prefix(1);
  }
  return 0;
}

/// Cores of the node that training may use: the maximum over runs with the GPU, since bound ranks
/// see only their own cores.
int usable_cores(std::span<const ResultFile> files) {
  int most = 1;
  for (const ResultFile& file : files) {
    const Environment& environment = file.header.environment;
    if (!environment.libraries.contains(gpu_key)) continue;
    const int allowed = cores_of(environment.affinity);
    most = std::max(most, allowed > 0 ? allowed : environment.cores);
  }
  return most;
}

/// A GPU without a data sheet: its name, and its memory if the results have it (0: unknown).
Device unlisted(const Environment& environment, const std::string& name) {
  Device device;
  device.name = name;
  device.kind = DeviceKind::gpu;
  const auto memory = environment.libraries.find(memory_key);
  if (memory != environment.libraries.end()) {
    device.memory = parse_quantity<Bytes>(memory->second, memory_key);
  }
  device.source = "no data sheet in configs/devices; as its driver names it";
  return device;
}

Device device_of(const Environment& environment) {
  const std::string& name = environment.libraries.at(gpu_key);
  const DeviceCatalogue catalogue = DeviceCatalogue::load();
  const DeviceSheet* const sheet = catalogue.find(name);
  if (sheet == nullptr) return unlisted(environment, name);
  Device device = nominal_device(*sheet, 1.0_us);
  device.launch = Seconds(0);  // sheets lack it, and it is part of every measured kernel time
  return device;
}

LinkSpec link(const char* name) {
  return {.name = name, .latency = Seconds(0), .bandwidth = BytesPerSecond(0), .source = measured};
}

}  // namespace

std::optional<Cluster> measured_gpus(std::span<const ResultFile> files, const std::string& backend,
                                     int workers) {
  EXPECT(workers >= 1);
  const Environment* environment = environment_of_gpu(files, backend);
  if (environment == nullptr) return std::nullopt;
  Cluster cluster;
  cluster.name = "local";
  cluster.doc = "GPUs of one node, as the results name them";
  cluster.nodes = 1;
  cluster.devices_per_node = workers;
  cluster.device = device_of(*environment);
  cluster.host.cores = usable_cores(files);
  cluster.host.source = "as the results name it: " + environment->cpu;
  cluster.host_device = link("between host and GPU");
  cluster.intra_node = link("between the GPUs of a node");
  cluster.inter_node = link("none: one node");
  cluster.storage.source = measured;
  return cluster;
}

std::vector<ResultFile> all_results(const std::vector<std::string>& paths) {
  std::vector<ResultFile> files;
  std::set<std::filesystem::path> taken;
  for (const std::string& path : paths) {
    for (ResultFile& file : read_result_tree(path)) {
      std::error_code nameless;
      const auto place = std::filesystem::canonical(file.path, nameless);
      if (nameless || taken.insert(place).second) files.push_back(std::move(file));
    }
  }
  return files;
}

std::vector<ResultFile> results_of(const std::vector<std::string>& paths,
                                   const std::vector<std::string_view>& benchmarks) {
  std::vector<ResultFile> files = all_results(paths);
  std::erase_if(files, [&](const ResultFile& file) {
    return std::ranges::find(benchmarks, file.header.benchmark) == benchmarks.end();
  });
  return files;
}

}  // namespace dlscale::app
