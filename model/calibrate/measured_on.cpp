#include "model/calibrate/measured_on.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "core/base/error.hpp"
#include "core/results/usable_rows.hpp"
#include "model/fits/fit.hpp"

namespace dlscale::model {
namespace {

bool is_of_messages(const Measurement& row) {
  return row.benchmark == "comm" && is_timed(row) && row.axes.contains("bytes");
}

/// Whether a row is a computation of training, which has the series "give" on devices. Other rows
/// also name a backend, but say nothing about the memory of gradients.
bool is_computed_by(const Measurement& row, const std::string& backend) {
  constexpr std::array of_training{"conv", "gemm", "update"};
  const auto found = row.axes.find("backend");
  return std::ranges::find(of_training, row.benchmark) != of_training.end() && is_timed(row) &&
         found != row.axes.end() && found->second == backend;
}

/// Whether an entry of Environment::libraries is a library of the compute backend. Runs on one rank
/// and on several use different communicators, and threads are an axis of every measurement.
bool is_compute_library(const std::string& name) {
  return name != "communicator" && name != "OpenMP threads";
}

bool holds(const ResultFile& file, const std::string& axis, const std::string& value) {
  return std::any_of(file.measurements.begin(), file.measurements.end(),
                     [&](const Measurement& measurement) {
                       const auto found = measurement.axes.find(axis);
                       return found != measurement.axes.end() && found->second == value;
                     });
}

/// A value that must agree in all files, and the first file that states it.
class Alike {
 public:
  explicit Alike(std::string what) : what_(std::move(what)) {}
  /// Logs of other programs leave values empty, which agree with any.
  void add(const ResultFile& file, const std::string& value) {
    if (value.empty()) return;
    if (file_ == nullptr) {
      file_ = &file;
      value_ = value;
    }
    if (value == value_) return;
    throw ConfigError(fmt::format(
        "{} was measured with {} \"{}\", {} with \"{}\": no machine is both. Give the results of "
        "one.",
        file_->path.string(), what_, value_, file.path.string(), value));
  }
  [[nodiscard]] std::string value_or(const std::string& unknown) const {
    return value_.empty() ? unknown : value_;
  }

 private:
  std::string what_;
  const ResultFile* file_ = nullptr;
  std::string value_;
};

std::map<std::string, std::string> compute_libraries(std::span<const ResultFile> results,
                                                     const std::string& backend) {
  std::map<std::string, Alike> alike;
  for (const ResultFile& file : results) {
    if (!holds(file, "backend", backend)) continue;
    for (const auto& [name, version] : file.header.environment.libraries) {
      if (is_compute_library(name)) alike.try_emplace(name, name).first->second.add(file, version);
    }
  }
  std::map<std::string, std::string> libraries;
  for (const auto& [name, version] : alike) libraries[name] = version.value_or("unknown");
  return libraries;
}

/// The library as the header of a training states it: without the path of a device's memory.
std::string without_way(std::string library) {
  if (library.ends_with(staged_by_host)) library.resize(library.size() - staged_by_host.size());
  return library;
}

/// Records the library of messages. check_one_library() refuses several.
void add_communicator(std::span<const ResultFile> results, MessageMemory memory,
                      MeasuredOn& measured_on) {
  for (const ResultFile& file : results) {
    for (const Measurement& measurement : file.measurements) {
      const auto library = measurement.axes.find("library");
      if (library != measurement.axes.end() && memory_of(measurement) == memory) {
        measured_on.libraries["communicator"] = without_way(library->second);
      }
    }
  }
}

/// Whether a row depends on the links: messages between hosts do, kernels of several hosts do not.
bool tells_links(const Measurement& measurement) {
  return measurement.benchmark == "comm" && is_timed(measurement) && is_between_hosts(measurement);
}

std::string links_of_messages(std::span<const ResultFile> results) {
  Alike alike("the links between hosts");
  std::string links;
  for (const ResultFile& file : results) {
    if (std::ranges::none_of(file.measurements, tells_links)) continue;
    links = links_between_hosts(file.header.environment);
    alike.add(file, links.empty() ? "not named" : links);
  }
  return links;
}

}  // namespace

std::string_view to_string(MessageMemory memory) {
  return memory == MessageMemory::device ? device_memory : "host";
}

MessageMemory memory_of(const Measurement& measurement) {
  return is_of_device_memory(measurement) ? MessageMemory::device : MessageMemory::host;
}

MessageMemory message_memory(std::span<const ResultFile> results, const std::string& backend) {
  bool computed = false;
  std::set<MessageMemory> measured;
  for (const ResultFile& file : results) {
    for (const Measurement& row : file.measurements) {
      if (is_of_messages(row)) measured.insert(memory_of(row));
      if (!is_computed_by(row, backend)) continue;
      if (row.series.contains("give")) return MessageMemory::device;
      computed = true;
    }
  }
  if (computed || measured.empty()) return MessageMemory::host;
  if (measured.size() == 1) return *measured.begin();
  throw ConfigError(
      "the results of bench comm are of messages in memory of the host and in memory of a device, "
      "which one machine cannot mix, and nothing tells where its gradients lie. Give results of "
      "bench conv, too, or those of one memory.");
}

Group messages_in(MessageMemory memory, const Group& all) {
  Group chosen;
  std::ranges::copy_if(all, std::back_inserter(chosen), [memory](const Sourced& one) {
    return memory_of(*one.measurement) == memory;
  });
  return chosen;
}

MeasuredOn measured_on(std::span<const ResultFile> results, const std::string& backend,
                       MessageMemory memory) {
  Alike cpu("the processor");
  Alike host("the host");
  for (const ResultFile& file : results) {
    cpu.add(file, file.header.environment.cpu);
    host.add(file, file.header.environment.host_hash);
  }
  MeasuredOn found;
  found.cpu = cpu.value_or(found.cpu);
  found.host_hash = host.value_or(found.host_hash);
  if (!backend.empty()) {
    found.backend = backend;
    found.libraries = compute_libraries(results, backend);
  }
  add_communicator(results, memory, found);
  found.links = links_of_messages(results);
  return found;
}

}  // namespace dlscale::model
