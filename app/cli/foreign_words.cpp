#include "app/cli/foreign_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

namespace dlscale::app {
namespace {

/// Options of other tools that all mean one of ours.
struct Foreign {
  std::string_view others;  ///< in lower case, with hyphens, separated by blanks
  std::string_view ours;    ///< empty: none
  std::string_view advice;
};

constexpr std::array foreign_options{
    Foreign{"gpus gpu num-gpus n-gpus ngpus gpu-count np n nproc num-proc num-procs num-processes "
            "processes ntasks world-size workers devices g t",
            "--ranks", "Write --ranks N: the number of workers, one for each GPU or process."},
    Foreign{"gpus g", "--max-ranks", "Write --max-ranks N: one rank is one GPU or process."},
    Foreign{"nodes nnodes num-nodes hosts num-hosts", "--ranks",
            "Write --ranks N, which fill the nodes of a cluster one after another: 2 nodes of 8 "
            "GPUs are --ranks 16."},
    Foreign{"ntasks-per-node tasks-per-node gpus-per-node nproc-per-node ppn ranks-per-node",
            "--cluster",
            "The file of --cluster says it (devices_per_node), and --ranks how many there are in "
            "all."},
    Foreign{"precision fp16 fp32 bf16 half amp mixed-precision data-type datatype dtypes",
            "--dtype", "Write --dtype f32, tf32, bf16 or f16."},
    Foreign{"batch-size batchsize bs b per-device-train-batch-size per-device-batch-size "
            "micro-batch-size mbs train-batch-size local-batch-size",
            "--batch", "Write --batch N: the images of each rank and iteration."},
    Foreign{"global-batch-size total-batch-size gbs", "--global-batch",
            "Write --global-batch N: the images of all ranks and an iteration."},
    Foreign{"lr learning-rate momentum optimizer weight-decay", "",
            "It changes what a training learns and not how long an iteration takes. Leave it out."},
    Foreign{"arch architecture net a model m", "--network",
            "Write --network NAME: a name of dlscale info --networks, or a file."},
    Foreign{"bw network-bandwidth net-bandwidth link-speed", "--inter-node-bandwidth",
            "Write --inter-node-bandwidth RATE, such as 100Gb/s."},
    Foreign{"iters steps num-iters num-batches max-steps niter", "--iterations",
            "Write --iterations N."},
    Foreign{"warmup-iters num-warmup-batches num-warmups warmup-batches w", "--warmup",
            "Write --warmup N."},
    Foreign{"num-workers dataloader-workers data-workers j", "--loader-threads",
            "Write --loader-threads N: threads of a rank that read and decode."},
    Foreign{"minbytes maxbytes message-size message-sizes b e m", "--sizes",
            "Write --sizes, such as 8B,1MiB,128MiB."},
    Foreign{"json csv markdown output-format out-format", "--format",
            "Write --format json, csv or another of its words."},
    Foreign{"out output-file outfile export-json export-csv", "--output", "Write --output FILE."},
    Foreign{"runs repetitions repeat repeats min-runs benchmark-repetitions r", "--rounds",
            "Write --rounds N."},
    Foreign{"threshold tolerance alert-threshold", "--margin",
            "Write --margin, such as 0.02 for 2 %."},
    Foreign{"allreduce allreduce-algorithm algo nccl-algo", "--all-reduce",
            "Write --all-reduce ALGORITHM."},
    Foreign{"dataset data-dir data-path dataset-path", "--data", "Write --data FOLDER."}};

/// Without leading hyphens, in lower case, with hyphens between words.
std::string plain_option(std::string_view word) {
  std::string name;
  for (const char c : word.substr(std::min(word.find_first_not_of('-'), word.size()))) {
    name += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

bool is_among(std::string_view words, const std::string& word) {
  const std::vector<std::string> all = CLI::detail::split(std::string(words), ' ');
  return std::ranges::find(all, word) != all.end();
}

/// Data types as frameworks write them, in lower case, and as we do.
struct DataType {
  std::string_view others;
  std::string_view ours;
};
constexpr std::array data_types{
    DataType{"f32 fp32 float32 float single", "f32"}, DataType{"tf32 tensorfloat32", "tf32"},
    DataType{"bf16 bfloat16 bfloat", "bf16"}, DataType{"f16 fp16 float16 half", "f16"},
    DataType{"f64 fp64 float64 double", "f64"}};

}  // namespace

std::string answer_to_foreign(const CLI::App& command, std::string_view word) {
  const std::string name = plain_option(word);
  if (word == "-N") return answer_to_foreign(command, "--nodes");
  for (const Foreign& known : foreign_options) {
    if (!is_among(known.others, name)) continue;
    const bool has_ours =
        known.ours.empty() || command.get_option_no_throw(std::string(known.ours)) != nullptr;
    if (has_ours) return std::string(known.advice);
  }
  return {};
}

std::string our_values(std::string_view option, const std::string& value) {
  if (option != "--dtype") return value;
  std::vector<std::string> items = CLI::detail::split(value, ',');
  for (std::string& item : items) {
    const std::string name = plain_option(item);
    for (const DataType& type : data_types) {
      if (is_among(type.others, name)) item = type.ours;
    }
  }
  return fmt::format("{}", fmt::join(items, ","));
}

}  // namespace dlscale::app
