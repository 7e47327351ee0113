#include "tests/fuzz/targets.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "app/cli/command_tree.hpp"
#include "app/measure/bench_suite.hpp"
#include "core/base/fnv1a.hpp"
#include "core/base/printable.hpp"
#include "core/cluster/cluster.hpp"
#include "core/cluster/device_file.hpp"
#include "core/cluster/link_kind.hpp"
#include "core/config/system_file.hpp"
#include "core/network/network.hpp"
#include "core/network/timed_layers.hpp"
#include "core/run/framework_file.hpp"
#include "core/run/run.hpp"
#include "core/system/input_file.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/sgd_iter/timed_iteration.hpp"
#include "suite/definition/suite.hpp"
#include "tests/fuzz/expect.hpp"
#include "tests/fuzz/row_counts.hpp"
#include "train/data/manifest.hpp"

namespace dlscale::fuzz {
namespace {

namespace fs = std::filesystem;

/// The files of configs/<folder>, the smallest first. Larger ones hold nothing of another kind.
std::vector<std::string> configs(std::string_view folder) {
  std::vector<std::string> texts;
  for (const auto& entry :
       fs::directory_iterator(fs::path(DLSCALE_SOURCE_DIR) / "configs" / folder)) {
    if (entry.file_size() < 20'000) texts.push_back(content_of(entry.path()));
  }
  std::ranges::sort(texts, {},
                    [](const std::string& text) { return std::pair(text.size(), text); });
  return texts;
}

/// Of networks like another one alone: they differ in numbers.
std::vector<std::string> network_seeds() {
  std::vector<std::string> texts = configs("networks");
  bool has_one = false;
  std::erase_if(texts, [&](const std::string& text) {
    return text.find("\nlike: ") != std::string::npos && std::exchange(has_one, true);
  });
  return texts;
}

/// The folder also holds models of another kind.
std::vector<std::string> scaling_seeds() {
  return {content_of(fs::path(DLSCALE_SOURCE_DIR) / "configs/models/scaling.yaml")};
}

/// Under one schedule and on one number of ranks, others for each text of the file.
void expect_predictable(const Network& network, const Cluster& cluster, const fs::path& file) {
  constexpr std::array schedules{Schedule::sequential, Schedule::merged, Schedule::horovod,
                                 Schedule::priority};
  const model::Machine machine = model::nominal_machine(cluster);
  Run run;
  run.network = network.name();
  run.cluster = cluster.name;
  run.batch = 4;
  run.ranks_per_node = cluster.devices_per_node;
  const std::uint64_t choice = fnv1a(content_of(file));
  const std::array numbers{2, 7, std::max(1, cluster.workers())};
  run.schedule = schedules[choice % schedules.size()];
  const std::array ranks{numbers[choice / schedules.size() % numbers.size()]};
  for (const model::Prediction& said : model::predict(network, machine, run, ranks)) {
    expect_time("the iteration", said.time.total);
    expect_time("the quick end of it", said.low.value());
    expect_time("the slow end over it", said.high.value() - said.time.total);
    expect_time("exposed communication", said.time.exposed_comm);
    expect_time("hidden communication", said.time.hidden_comm);
    expect_rate("images per second", said.images_per_s);
    expect_rate("the speed-up", said.speedup);
    expect_time("the speed-up over its low end", Seconds(said.speedup - said.speedup_low.value()));
    expect_time("the high end of it", Seconds(said.speedup_high.value() - said.speedup));
  }
}

void use_network(const fs::path& file) {
  static const Cluster cluster = [] {
    Cluster k80 = load_cluster("k80x16_10gbe");
    k80.device.memory = {};  // unknown, so that networks of any size may train
    return k80;
  }();
  expect_predictable(load_network(file.string()), cluster, file);
}

void use_cluster(const fs::path& file) {
  static const Network network = load_network("alexnet");
  expect_predictable(network, load_cluster(file.string()), file);
}

void use_device(const fs::path& file) {
  const Device device = nominal_device(load_device_sheet(file.string()), Seconds(5e-6));
  expect_rate("memory bandwidth", device.memory_bandwidth.si());
}

void use_link(const fs::path& file) {
  const LinkKind kind = load_link_kind(file.string());
  if (kind.reach == LinkReach::intra_node) expect_rate("bandwidth", kind.bandwidth().si());
}

void use_framework(const fs::path& file) {
  (void)to_text(load_framework(file.string()).schedule);
}

void use_system(const fs::path& file) {
  const System system = load_system(file.string());
  if (find_partition(system, "").nodes < 1) throw std::logic_error("a partition without nodes");
}

void use_machine(const fs::path& file) {
  static const Network network = load_network("alexnet");
  const model::Machine machine = model::load_machine(file);
  Run run;
  run.network = network.name();
  run.cluster = machine.cluster.name;
  const std::array ranks{1, 4};
  for (const model::Prediction& said : model::predict(network, machine, run, ranks)) {
    expect_time("the iteration", said.time.total);
  }
}

/// That of a data sheet, whose file holds everything that one must.
std::vector<std::string> machine_seeds() {
  std::vector<std::string> texts;
  for (const char* cluster : {"k80x16_10gbe", "p40x16"}) {
    texts.push_back(model::machine_json(model::nominal_machine(load_cluster(cluster))));
  }
  return texts;
}

/// With the placeholders that `dlscale run` fills in.
void use_suite(const fs::path& file) {
  const suite::Suite suite = suite::load_suite(file.string(),
                                               {{"out", "results/here and there"},
                                                {"data", "results/here and there/data"},
                                                {"workers", "2"},
                                                {"cores", "1"},
                                                {"threads", "1"}},
                                               app::program_commands());
  for (const suite::SuiteStep& step : suite.steps) {
    expect_time("the estimate of a step", Seconds(step.seconds));
    if (step.words.empty()) throw std::logic_error("a step without a command");
  }
}

std::vector<std::string> layer_seeds() {
  return {
      "# of a test\nlayer,forward_s,backward_s,gradient_bytes,io_s,h2d_s,update_s\n"
      "\"a, b\",0.002,0.004,4000000,0.001,0.0005,0.0001\nc,0.001,2e-3,8000000,0,0,0.0002\n"};
}

void use_layer_times(const fs::path& file) {
  static const std::vector<TimedMessage> messages{{4, Bytes(1e3), Seconds(1e-4)},
                                                  {4, Bytes(1e6), Seconds(1e-3)}};
  const TimedLayers layers = read_timed_layers(file);
  expect_all_read("layers", rows_in(read_input(file, ""), '#') - 1, layers.layers.size());
  Run run;
  run.ranks = 4;
  for (const Schedule schedule : {Schedule::wait_free, Schedule::merged, Schedule::horovod}) {
    run.schedule = schedule;
    const model::Prediction said = model::predict_timed(layers, {messages}, run, {}, {});
    expect_time("the iteration", said.time.total);
    expect_rate("images per second", said.images_per_s);
  }
}

std::vector<std::string> message_seeds() {
  return {"ranks,bytes,time_s\n2,1000,1e-4\n2,2000,0.00015\n4,1000,2e-4\n4,1e6,0.01\n"};
}

void use_message_times(const fs::path& file) {
  std::vector<std::string> left_out;
  const std::vector<TimedMessage> messages = read_timed_messages(file, left_out);
  const std::string text = read_input(file, "");
  const bool has_lines = text.find('\n') != std::string::npos;  // else carriage returns end them
  if (has_lines) {
    expect_all_read("messages", rows_in(text, '#') - 1, messages.size() + left_out.size());
  }
  for (const int ranks : {2, 4}) {
    model::Notes notes;
    const LinearCost cost = model::timed_cost(messages, ranks, Bytes(1e9), notes);
    expect_time("a message", cost(Bytes(1e9)));
  }
}

std::vector<std::string> manifest_seeds() {
  return {
      R"({"schema":"dlscale.data_set","version":1,"classes":["a","b"],"spec":{"classes":2,"pictures":1,
"width":8,"height":8,"target_bytes":1e3,"seed":1},"pictures":[{"path":"0/1.jpg","label":1,"bytes":9,
"fnv1a":"00ff"}]})"};
}

/// The pictures need not be there.
void use_manifest(const fs::path& file) {
  const train::Manifest manifest = train::read_manifest(file);
  expect_all_read("pictures", nlohmann::json::parse(content_of(file)).at("pictures").size(),
                  manifest.pictures.size());
  for (const train::Manifest::Entry& entry : manifest.pictures) {
    if (entry.label < 0 || entry.bytes < 0) throw std::logic_error("a negative label or size");
  }
}

std::vector<std::string> option_seeds() {
  return {
      "[gate]\nrounds = 80\nmargin = 0.02\ncanary = true  # both ways\n"
      "write = [\"junit=a.xml\", \"csv=b.csv\"]\n"
      "[bench.gemm]\nsamples = 50\nsizes = \"8x8x8,9x9x9\"\n[history.check]\nstore = 'perf'\n"};
}

/// As --config would, for all commands; none is called.
void use_options(const fs::path& file) {
  static app::CommandTree tree;
  tree.root().clear();
  std::ifstream input(file);
  try {
    tree.root().parse_from_stream(input);
  } catch (const CLI::RequiredError&) {
    return;  // the verb is missing, as the file cannot name it
  } catch (const CLI::ParseError& error) {
    throw ConfigError(escape_unprintable(error.what()));  // as the program prints it
  }
  throw std::logic_error("a file of options called a verb");
}

const std::array all_targets{
    Target{"cases", ".jsonl", case_seeds, use_cases},
    Target{"memory_cases", ".jsonl", memory_seeds, use_memory_cases},
    Target{"predictions", ".jsonl", prediction_seeds, use_predictions},
    Target{"network", ".yaml", network_seeds, use_network, 5},
    Target{"cluster", ".yaml", [] { return configs("clusters"); }, use_cluster, 3},
    Target{"device", ".yaml", [] { return configs("devices"); }, use_device},
    Target{"link", ".yaml", [] { return configs("links"); }, use_link},
    Target{"framework", ".yaml", [] { return configs("frameworks"); }, use_framework},
    Target{"scaling", ".yaml", scaling_seeds, use_scaling},
    Target{"layer_times", ".csv", layer_seeds, use_layer_times},
    Target{"message_times", ".csv", message_seeds, use_message_times},
    Target{"system", ".yaml", [] { return configs("systems"); }, use_system},
    Target{"machine", ".json", machine_seeds, use_machine},
    Target{"google", ".json", google_seeds, use_history},
    Target{"nccl_tests", ".txt", nccl_seeds, use_history},
    Target{"osu", ".txt", osu_seeds, use_history},
    Target{"tables", ".txt", table_seeds, use_table},
    Target{"hyperfine", ".json", hyperfine_seeds, use_history},
    Target{"mllog", ".txt", mllog_seeds, use_history},
    Target{"validation", ".json", validation_seeds, use_history},
    Target{"store", ".txt", store_seeds, use_store},
    Target{"gate", ".json", gate_seeds, use_gate},
    Target{"rounds", ".jsonl", round_seeds, use_rounds},
    Target{"cells", ".jsonl", cell_seeds, use_cells},
    Target{"slurm", ".txt", slurm_seeds, use_slurm},
    Target{"manifest", ".json", manifest_seeds, use_manifest},
    Target{"words", ".txt", word_seeds, use_words},
    Target{"plan", ".txt", plan_seeds, use_plan},
    Target{"suite", ".yaml", [] { return configs("suites"); }, use_suite},
    Target{"results", ".jsonl", result_seeds, use_results},
    Target{"result_lines", ".jsonl", result_seeds, use_result_lines},
    Target{"options", ".toml", option_seeds, use_options},
};

}  // namespace

std::span<const Target> targets() {
  return all_targets;
}

}  // namespace dlscale::fuzz
