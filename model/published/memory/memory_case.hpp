#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "model/memory/memory_setup.hpp"
#include "model/memory/stage_memory.hpp"
#include "model/memory/transformer_shape.hpp"

namespace dlscale::model::memory {

/// A training whose memory is to be predicted (schema dlscale.memory/1). It has everything that a
/// predictor may read.
struct MemoryCase {
  std::string id;   ///< "set/slug", unique in its file
  std::string set;  ///< the measured data set
  std::string network;
  TransformerShape shape = {};
  MemorySetup setup = {};
  std::string framework;    ///< free text
  double device_bytes = 0;  ///< > 0: memory of a device
  MemoryCounter counter = MemoryCounter::reserved;
  bool first_rank = false;  ///< what is read is of rank 0, otherwise the most of all ranks
};

/// The measurements of a case. Predictors never see them.
struct MemoryOutcome {
  bool out_of_memory = false;  ///< on any rank; then neither number exists
  std::optional<double> peak_bytes = {};
  std::optional<double> state_bytes = {};  ///< peak of live tensors at the update
};

/// A file of such cases.
struct MemoryCaseFile {
  std::vector<MemoryCase> cases = {};
  std::vector<MemoryOutcome> outcomes = {};  ///< one for each case
};

/// Whether the first line of a regular file names the schema dlscale.memory/1.
bool holds_memory_cases(const std::filesystem::path& path);

/// Reads a file of the schema dlscale.memory/1, one case a line. Throws ConfigError that names
/// file, line, field and reason: for a line that is not JSON, a field that is missing, misspelt, of
/// the wrong type or out of range, an id that occurs twice, or a file without cases.
MemoryCaseFile read_memory_cases(const std::filesystem::path& path);

}  // namespace dlscale::model::memory
