#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale::fuzz {

/// A kind of file that users write: what is damaged, and what is done with it.
struct Target {
  std::string_view name;       ///< "cluster"
  std::string_view extension;  ///< ".yaml"
  /// Whole files, which are read and used as they are.
  std::vector<std::string> (*seeds)();
  /// Reads a file and uses what it says, as the program would. Throws an Error if the file is
  /// refused, std::logic_error if what comes of it is not a finite time ≥ 0, or is another once it
  /// was written and read again.
  void (*use)(const std::filesystem::path& file);
  /// Of the inputs asked for, one in so many is tried: more where each takes long.
  std::size_t one_in = 1;
};

std::span<const Target> targets();

/// Published cases, predictions of them, and the model of scaling that predicts them.
std::vector<std::string> case_seeds();
void use_cases(const std::filesystem::path& file);
std::vector<std::string> prediction_seeds();
void use_predictions(const std::filesystem::path& file);
void use_scaling(const std::filesystem::path& file);

/// Published memory of trainings, predicted and scored.
std::vector<std::string> memory_seeds();
void use_memory_cases(const std::filesystem::path& file);

/// Result files as `bench` writes them, short, of several benchmarks.
std::vector<std::string> result_seeds();
/// Reads results and does with them what compare, report and calibrate do.
void use_results(const std::filesystem::path& file);

/// Files of the formats that a history takes, a tool each.
std::vector<std::string> google_seeds();
std::vector<std::string> nccl_seeds();
std::vector<std::string> osu_seeds();
std::vector<std::string> hyperfine_seeds();
std::vector<std::string> mllog_seeds();
std::vector<std::string> validation_seeds();
/// Reads one as a history and as a gate would, and writes and reads its keys and points.
void use_history(const std::filesystem::path& file);

/// Tables of nccl-tests and OSU's benchmarks that are whole but for a cell a row: each row counts,
/// or a note names it.
std::vector<std::string> table_seeds();
void use_table(const std::filesystem::path& file);

/// The files of a history, in turn after lines "%% NAME"; a run is added to it.
std::vector<std::string> store_seeds();
void use_store(const std::filesystem::path& file);

/// Results of gates and files of rounds, which are written and read again.
std::vector<std::string> gate_seeds();
void use_gate(const std::filesystem::path& file);
std::vector<std::string> round_seeds();
void use_rounds(const std::filesystem::path& file);

/// Records of finished cells, a line each.
std::vector<std::string> cell_seeds();
void use_cells(const std::filesystem::path& file);

/// Output of sinfo, scontrol and sbatch.
std::vector<std::string> slurm_seeds();
void use_slurm(const std::filesystem::path& file);

/// Words of a command line: quantities, times, durations and expressions.
std::vector<std::string> word_seeds();
void use_words(const std::filesystem::path& file);

/// Plans of parallel training on a command line.
std::vector<std::string> plan_seeds();
void use_plan(const std::filesystem::path& file);

/// The lines of a result file, which are written and read again.
void use_result_lines(const std::filesystem::path& file);

}  // namespace dlscale::fuzz
