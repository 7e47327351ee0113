#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace dlscale::report {

/// What became of one cell of a suite (docs/SUITES.md).
struct CellOutcome {
  std::string cell;
  std::string status;   ///< "ok", "crashed", …; "left": planned and not carried out yet
  bool is_fine = true;  ///< it did what it was to do, be that to say why it cannot
  std::string reason;   ///< why not ok
  int exit_code = 0;    ///< 128 + signal if a signal ended it
  double seconds = 0;
  std::string started;  ///< UTC, ISO 8601
  std::string command;  ///< as a shell takes it, with its launcher
  std::string shape;    ///< "2 nodes, 4 ranks a node, …"
  std::string job;      ///< of a scheduler, and its nodes; empty outside
  int measurements = 0;
  int unstable = 0;  ///< of them
  int wrong = 0;     ///< of them
  std::string load;  ///< before it
  std::string clocks;
  std::int64_t slowed_by_heat = 0;  ///< how much the kernel's count of it grew meanwhile
};

/// The canary of one call: a kernel beside itself, where every ratio should be 1.
struct CanaryOutcome {
  std::string started;  ///< UTC, ISO 8601
  std::string host;     ///< hash of its name
  bool is_stable = true;
  std::string first;  ///< "+0.1 % [-0.2 %, +0.3 %]", when the call began
  std::string last;   ///< when it ended
  std::string drift;  ///< from the one to the other
};

/// What a suite of cells has kept beside its results.
struct SuiteRecord {
  std::string folder;
  std::string suite;
  std::string build;
  std::string system;
  std::uint64_t seed = 0;
  std::vector<CellOutcome> cells;  ///< in the order of the plan
  std::vector<CanaryOutcome> canaries;
};

/// What a study of the noise of a machine found (dlscale noise).
struct NoiseFinding {
  std::string file;
  std::string machine;
  std::string date;
  std::string sentence;  ///< "changes of 3.0 % or more (10 rounds, margin 1.0 %)"
};

/// The same as a list in JSON.
nlohmann::ordered_json cells_json(std::span<const SuiteRecord> suites);

}  // namespace dlscale::report
