#include "model/calibrate/measured_on.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/results/usable_rows.hpp"
#include "model/fits/links.hpp"

namespace dlscale::model {
namespace {

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
  void add(const ResultFile& file, const std::string& value) {
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
