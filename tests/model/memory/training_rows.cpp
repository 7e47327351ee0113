#include "tests/model/memory/training_rows.hpp"

#include <array>
#include <map>
#include <sstream>
#include <string>

#include "core/config/csv_table.hpp"

namespace dlscale::model::memory::test {
namespace {

constexpr std::array<CsvColumn, 10> columns = {{{"network"},
                                                {"data"},
                                                {"tensor"},
                                                {"stages"},
                                                {"micro_batch"},
                                                {"micro_batches"},
                                                {"zero"},
                                                {"stage_layers"},
                                                {"peak_bytes"},
                                                {"state_bytes"}}};
constexpr int most = 1'000'000;

TransformerShape shape_of(const std::string& network) {
  TransformerShape shape;
  shape.gated = true;
  shape.vocabulary = 131072;
  shape.sequence = 4096;
  shape.heads = 32;
  if (network == "llama-1.34g") {
    shape.layers = 16;
    shape.hidden = 2048;
    shape.ffn = 8192;
    shape.tied_embeddings = true;
  } else if (network == "llama-8.86g") {
    shape.layers = 32;
    shape.hidden = 4096;
    shape.ffn = 14336;
  } else {
    shape.layers = 126;
    shape.hidden = 16384;
    shape.ffn = 53248;
    shape.heads = 128;
  }
  shape.kv_heads = network == "llama-469g-gqa" ? 8 : shape.heads;
  shape.head_width = shape.hidden / shape.heads;
  return shape;
}

/// "3x2 1": three stages of 2 layers and one of 1.
std::vector<double> stage_layers_of(const std::string& text) {
  std::vector<double> all;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t times = word.find('x');
    const int stages = times == std::string::npos ? 1 : std::stoi(word.substr(0, times));
    const std::string layers = times == std::string::npos ? word : word.substr(times + 1);
    all.insert(all.end(), static_cast<std::size_t>(stages), std::stod(layers));
  }
  return all;
}

MemoryCase case_of(const CsvTable& table, std::size_t row) {
  MemoryCase read;
  read.set = "nanotron_h100";
  read.id = table.place(row);
  read.network = table.text(row, "network");
  read.shape = shape_of(read.network);
  read.framework = "nanotron 2024-12";
  read.device_bytes = 85520809984;
  read.first_rank = true;
  MemorySetup& setup = read.setup;
  setup.data = table.count(row, "data", most);
  setup.tensor = table.count(row, "tensor", most);
  setup.sequence_parallel = setup.tensor > 1;
  setup.stages = table.count(row, "stages", most);
  setup.micro_batch = table.number(row, "micro_batch", most);
  setup.micro_batches = table.count(row, "micro_batches", most);
  setup.zero = static_cast<int>(table.number(row, "zero", 3));
  setup.stage_layers = stage_layers_of(table.text(row, "stage_layers"));
  setup.bytes = {
      .weights = 2, .gradients = 2, .main_gradients = 4, .main_weights = 4, .moments = 8};
  return read;
}

}  // namespace

MemoryCaseFile nanotron_rows(std::string_view network) {
  const CsvTable table(DLSCALE_SOURCE_DIR "/tests/data/memory_nanotron_h100.csv",
                       "memory of trainings", columns);
  MemoryCaseFile file;
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (!network.empty() && table.text(row, "network") != network) continue;
    file.cases.push_back(case_of(table, row));
    MemoryOutcome outcome;
    outcome.out_of_memory = table.text(row, "peak_bytes") == "-";
    if (!outcome.out_of_memory) {
      outcome.peak_bytes = table.number(row, "peak_bytes", 1e12);
      outcome.state_bytes = table.number(row, "state_bytes", 1e12);
    }
    file.outcomes.push_back(outcome);
  }
  return file;
}

MemoryCaseFile misc_rows(std::string_view set) {
  const MemoryCaseFile all = read_memory_cases(DLSCALE_SOURCE_DIR "/tests/data/memory_misc.jsonl");
  MemoryCaseFile file;
  for (std::size_t i = 0; i < all.cases.size(); ++i) {
    if (all.cases[i].set != set) continue;
    file.cases.push_back(all.cases[i]);
    file.outcomes.push_back(all.outcomes[i]);
  }
  return file;
}

}  // namespace dlscale::model::memory::test
