#include "app/cli/foreign_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/config/config_path.hpp"
#include "core/run/run.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/near_words.hpp"

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
    Foreign{"seq seq-len seq-length sequence-length max-seq-length context-length tokens",
            "--sequence", "Write --sequence N: the tokens of a sequence."},
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
    Foreign{
        "json csv markdown output-format out-format benchmark-format benchmark-json d dump-to-json "
        "export-markdown export-asciidoc export-orgmode",
        "--format",
        "Write --format json, csv or another of its words, and --output FILE for a file."},
    Foreign{"out output-file outfile export-json export-csv benchmark-out", "--output",
            "Write --output FILE."},
    Foreign{"runs repetitions repeat repeats min-runs max-runs benchmark-repetitions "
            "benchmark-min-rounds sample-size iterations iters n r",
            "--rounds", "Write --rounds N: the base and the new version run once in each."},
    Foreign{"threshold tolerance alert-threshold factor benchmark-compare-fail noise-threshold "
            "fail-threshold max-regression delta",
            "--margin", "Write --margin, such as 0.02 for 2 %."},
    Foreign{"alpha significance-level confidence-level p-value pvalue no-utest utest", "--margin",
            "How often a verdict may err is fixed. Write --margin for the smallest change that "
            "matters, such as 0.02 for 2 %."},
    Foreign{"benchmark-max-time measurement-time max-time benchmark-min-time min-time duration",
            "--time-budget", "Write --time-budget TIME, such as 10min."},
    Foreign{"warmup warmups warmup-runs benchmark-warmup w", "--rounds",
            "Each round is a fresh process, which warms up by itself. Write --warm-ups N behind -- "
            "for a benchmark of dlscale."},
    Foreign{"prepare setup cleanup conclude p", "--rounds",
            "It belongs into the commands. Write --base and --new with scripts that prepare "
            "themselves."},
    Foreign{"baseline before old reference save-baseline load-baseline from-commit", "--base",
            "Write --base COMMAND and --new COMMAND, or --base-commit REV and --new-commit REV."},
    Foreign{"contender candidate current head after", "--new",
            "Write --base COMMAND and --new COMMAND, or --base-commit REV and --new-commit REV."},
    Foreign{"benchmark-storage storage database db results-dir", "--store",
            "Write --store FOLDER: the folder of the history."},
    Foreign{"benchmark-save benchmark-autosave save", "",
            "Results are kept by dlscale history add FILE --store FOLDER. Leave it out."},
    Foreign{"benchmark-compare", "", "Give both files to dlscale compare BASE NEW."},
    Foreign{"allreduce allreduce-algorithm algo nccl-algo", "--all-reduce",
            "Write --all-reduce ALGORITHM."},
    Foreign{"dataset data-dir data-path dataset-path", "--data", "Write --data FOLDER."},
    Foreign{"bucket-cap bucket-cap-mb bucket-size reduce-bucket-size allreduce-bucket-size",
            "--bucket", "Write --bucket SIZE, such as 25MiB."},
    Foreign{"fusion-threshold-mb fusion-buffer fusion-buffer-size", "--fusion-threshold",
            "Write --fusion-threshold SIZE, such as 64MiB."},
    Foreign{"cycle-time cycle-time-ms", "--cycle", "Write --cycle TIME, such as 5ms."},
    Foreign{"timeline timeline-filename trace-file", "--trace", "Write --trace FILE."},
    Foreign{"revision rev sha ref branch", "--commit", "Write --commit COMMIT."},
    Foreign{"after from", "--since", "Write --since TIME."},
    Foreign{"filter pattern test bench benchmark benchmark-filter k b", "--name",
            "Write --name PATTERN."},
    Foreign{
        "zero zero-stage tensor-parallel tensor-parallel-size tensor-model-parallel-size tp "
        "pipeline-parallel pipeline-parallel-size pipeline-model-parallel-size pp expert-parallel "
        "ep context-parallel-size cp sequence-parallel gradient-accumulation-steps grad-accum "
        "accumulate-grad-batches seq-length seq-len hidden-size num-layers",
        "", "Whole networks are trained here, data-parallel alone. Leave it out."},
    Foreign{"hostfile machinefile host hosts master-addr master-port rdzv-backend rdzv-endpoint "
            "standalone",
            "", "A launcher such as mpirun starts the ranks, and takes it. Leave it out here."}};

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

/// Values of other tools that have no word here.
struct ForeignValue {
  std::string_view option;
  std::string_view others;  ///< in lower case, with hyphens, separated by blanks
  std::string_view advice;
};

constexpr std::array foreign_values{
    ForeignValue{
        "--dtype", "f8 float8 e4m3 e5m2 fp8-e4m3 fp8-e5m2 nvfp4 mxfp8 mxfp4 int8 uint8 i8 int4 fp6",
        "8 bits and fewer are not modelled, but for fp8 and fp4 of predict --parallel. Write "
        "one of these, or f32, tf32, bf16 or f16."},
    ForeignValue{"--dtype", "amp mixed mixed-precision autocast o1 o2 16-mixed auto",
                 "Kernels of mixed precision compute in one type. Write f16 or bf16."},
    ForeignValue{"--format", "html htm pdf page",
                 "A page in HTML is what dlscale report makes, of results and of predictions in "
                 "JSON. Write --format json, and give it that file."},
    ForeignValue{"--format", "svg png plot",
                 "Figures are made by dlscale report. Write --format json, and give it that file."},
    ForeignValue{"--framework",
                 "fsdp pytorch-fsdp fsdp2 zero zero1 zero2 zero3 zero-1 zero-2 zero-3",
                 "Data parallelism has whole parameters on each rank. Write pytorch_ddp, or add a "
                 "plan that shards them: --parallel zero=3."},
    ForeignValue{"--schedule", "allreduce all-reduce synchronous sync ssgd",
                 "That is how ranks get the same parameters: --synchronisation all_reduce, the "
                 "default. A schedule says when, such as wait_free or bucketed."},
    ForeignValue{"--schedule", "ps parameter-server param-server kvstore",
                 "That is how ranks get the same parameters. Write --synchronisation "
                 "parameter_server."},
    ForeignValue{"--schedule", "ring tree hierarchical double-tree nccl",
                 "That is an algorithm of all-reduces. Write --all-reduce, and its name."},
    ForeignValue{"--schedule", "1f1b gpipe pipeline interleaved zero-bubble pipedream async asgd",
                 "The model has synchronous data-parallel training alone. Write wait_free or "
                 "bucketed, for example."},
    ForeignValue{
        "--device", "gaudi gaudi2 gaudi3 max1550 pvc tpu tpuv4 tpuv5e trainium trn1 inferentia",
        "Data sheets here are of GPUs of NVIDIA and AMD alone. Name one of configs/devices, or a "
        "file with the data sheet."},
    ForeignValue{"--network",
                 "bert gpt gpt3 gpt-3 llama llama2 llama3 t5 vit vit-b16 transformer mixtral opt "
                 "bloom deepseek",
                 "Name a transformer with its size, such as bert_large, gpt2_xl or llama3_8b: "
                 "dlscale info --networks lists them. Another one is a short file."}};

/// Verbs of other tools, or programs of them, that one of ours does.
struct ForeignVerb {
  std::string_view command;  ///< whose verb it would be; empty: the program's
  std::string_view others;   ///< in lower case, with hyphens, separated by blanks
  std::string_view advice;
};

constexpr std::array foreign_verbs{
    ForeignVerb{"", "diff cmp benchcmp benchstat bench-compare compare-results versus vs delta",
                "Write dlscale compare BASE NEW, of two results."},
    ForeignVerb{"", "continuous ab ab-test hyperfine regression regressions check-regression guard",
                "Write dlscale gate --base COMMAND --new COMMAND, which runs both in turns, or "
                "dlscale history check, of results kept night by night."},
    ForeignVerb{"", "train training fit torchrun horovodrun deepspeed accelerate",
                "Write dlscale bench e2e, which trains a network and times it, or dlscale predict, "
                "which needs no hardware."},
    ForeignVerb{"",
                "benchmark benchmarks benchmark-run run-bench run-benchmark microbench measure "
                "perf profile "
                "time test",
                "Write dlscale bench and a kind, such as gemm or comm, or dlscale run SUITE."},
    ForeignVerb{
        "",
        "all-reduce-perf all-gather-perf reduce-scatter-perf broadcast-perf nccl-tests nccl "
        "osu-allreduce osu-latency osu-bw allreduce all-reduce",
        "Write dlscale bench comm, with the kind of message as --operations."},
    ForeignVerb{"", "mpirun mpiexec srun",
                "A launcher stands before the program: mpirun -n 2 dlscale bench comm."},
    ForeignVerb{"", "sbatch submit queue slurm pbs lsf",
                "Write dlscale run SUITE --system SYSTEM --submit."},
    ForeignVerb{"", "simulate simulation estimate forecast model scale scaling what-if project",
                "Write dlscale predict --network NETWORK --cluster CLUSTER --ranks N."},
    ForeignVerb{"", "tune optimize optimise search sweep best recommend autotune advise",
                "Write dlscale plan --network NETWORK --cluster CLUSTER --max-ranks N."},
    ForeignVerb{"", "publish preview html page dashboard plot graph graphs view serve summary",
                "Write dlscale report FILE, which makes a page."},
    ForeignVerb{"", "add save record upload import ingest push log-results store archive",
                "Write dlscale history add FILE --store FOLDER."},
    ForeignVerb{"", "show list ls log trend", "Write dlscale history list --store FOLDER."},
    ForeignVerb{"", "bisect find", "Write dlscale history bisect COMMIT --store FOLDER."},
    ForeignVerb{"", "ack acknowledge triage annotate", "Write dlscale history annotate COMMIT."},
    ForeignVerb{"",
                "machine sysinfo system hardware env environment devices gpus clusters networks "
                "backends list-networks",
                "Write dlscale info, or dlscale doctor for what is wrong here."},
    ForeignVerb{"", "check selftest self-test healthcheck diagnose verify status setup install",
                "Write dlscale doctor for software and machine, or dlscale history check for "
                "regressions."},
    ForeignVerb{"", "version", "Write dlscale --version."},
    ForeignVerb{"history", "show ls log print trend view", "Write dlscale history list."},
    ForeignVerb{"history", "save record upload import ingest push append put store",
                "Write dlscale history add FILE."},
    ForeignVerb{"history", "detect regressions alerts judge test verify status diff compare",
                "Write dlscale history check."},
    ForeignVerb{"history", "ack acknowledge triage accept expect mark close ignore resolve",
                "Write dlscale history annotate COMMIT --state STATE."},
    ForeignVerb{"history", "find blame culprit", "Write dlscale history bisect COMMIT."},
    ForeignVerb{"history", "plot publish graph html report page",
                "Write dlscale report, which makes a page of a history."},
    ForeignVerb{"bench", "all-reduce allreduce nccl all-to-all alltoall broadcast p2p pingpong mpi",
                "Write dlscale bench comm, with the kind of message as --operations."},
    ForeignVerb{"bench", "train training", "Write dlscale bench e2e."},
    ForeignVerb{"bench", "matmul blas sgemm linear", "Write dlscale bench gemm."},
    ForeignVerb{"bench", "conv2d convolution cnn layers", "Write dlscale bench conv."},
    ForeignVerb{"bench", "stream triad membw bandwidth babelstream", "Write dlscale bench memory."},
    ForeignVerb{"bench", "flops linpack hpl", "Write dlscale bench peak."},
    ForeignVerb{"bench", "disk dataloader loader input data", "Write dlscale bench io."},
    ForeignVerb{"bench", "optimizer sgd step", "Write dlscale bench update."}};

/// Names of GPUs, where a number of them is taken: "--gpu h100".
bool names_gpu(std::string_view value) {
  return !value.empty() && std::isalpha(static_cast<unsigned char>(value.front())) != 0 &&
         value.find_first_of("0123456789") != std::string_view::npos;
}

}  // namespace

std::string answer_to_foreign(const CLI::App& command, std::string_view word,
                              std::string_view value) {
  const std::string name = plain_option(word);
  if (word == "-N") return answer_to_foreign(command, "--nodes", value);
  const bool asks_for_gpu = is_among("gpu gpus gpu-type gpu-model accelerator", name);
  if (asks_for_gpu && names_gpu(value) && command.get_option_no_throw("--device") != nullptr) {
    return fmt::format(
        "Write --cluster with a system of such GPUs, and --device {} to put them in place of its "
        "own.",
        escape_for_terminal(value));
  }
  for (const Foreign& known : foreign_options) {
    if (!is_among(known.others, name)) continue;
    const bool has_ours =
        known.ours.empty() || command.get_option_no_throw(std::string(known.ours)) != nullptr;
    if (has_ours) return std::string(known.advice);
  }
  return {};
}

std::string answer_to_foreign_verb(const CLI::App& command, std::string_view word) {
  const std::string name = plain_option(word);
  const std::string_view whose =
      command.get_parent() == nullptr ? std::string_view() : std::string_view(command.get_name());
  for (const ForeignVerb& known : foreign_verbs) {
    if (known.command == whose && is_among(known.others, name)) return std::string(known.advice);
  }
  return {};
}

std::string advice_on_value(std::string_view option, const std::string& value) {
  for (const ForeignValue& known : foreign_values) {
    if (known.option != option || !is_among(known.others, plain_option(value))) continue;
    if (option == "--network" && std::ranges::count(config_names("networks"), value) > 0) continue;
    return std::string(known.advice);
  }
  return {};
}

std::string our_values(std::string_view option, const std::string& value) {
  if (option == "--framework") return value;  // plans of predict take free text
  if (const std::string advice = advice_on_value(option, value); !advice.empty()) {
    throw ConfigError(fmt::format("{} {}: {}", option, escape_for_terminal(value), advice));
  }
  if (option != "--dtype") return value;
  std::vector<std::string> names;
  for (const DType type : all_dtypes) names.emplace_back(dtype_name(type));
  std::vector<std::string> items = CLI::detail::split(value, ',');
  for (std::string& item : items) {
    const std::vector<std::string> same = same_words(item, names);
    if (same.size() == 1) item = same.front();
  }
  return fmt::format("{}", fmt::join(items, ","));
}

}  // namespace dlscale::app
