// dlscale select-algorithm: predicts the fastest algorithm for every convolution of a network.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "app/cli/document_output.hpp"
#include "app/cli/option_values.hpp"
#include "app/cli/verb.hpp"
#include "core/network/step.hpp"
#include "core/system/file_kind.hpp"
#include "core/system/input_file.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "core/text/shell_words.hpp"
#include "model/roofline/kernels/kernel_model.hpp"
#include "report/kernels/roofline_table.hpp"

namespace dlscale::app {
namespace {

struct SelectOptions {
  std::string network;
  std::string kernels;
  int batch = 8;
  int threads = 1;
  std::string cache = "cold";
  std::string workspace;
  DocumentOutput output;
};

model::KernelModels load_models(const std::string& path) {
  refuse_other_kind(path, FileKind::kernels);
  const std::string advice =
      fmt::format("Write it first: dlscale roofline fit RESULTS -o {}.", path);
  return model::kernel_models_from_json(read_input(path, advice), path);
}

/// Each distinct convolution and pass of an iteration, in the order in which they run.
std::vector<report::LayerChoice> convolution_steps(const Network& network) {
  std::vector<Step> steps = forward_steps(network);
  std::ranges::copy(backward_steps(network), std::back_inserter(steps));
  std::vector<report::LayerChoice> choices;
  std::set<std::pair<std::string, Pass>> seen;
  for (const Step& step : steps) {
    const Layer& layer = network.layer(step.layer);
    if (!std::holds_alternative<Convolution>(layer.kind) || step.pass == Pass::accumulate) continue;
    const std::string key = kernel_key(network, step.layer);
    if (seen.insert({key, step.pass}).second) choices.push_back({layer.name, key, step.pass, {}});
  }
  return choices;
}

ExitCode select_algorithm(const SelectOptions& options) {
  const Network network = load_network(options.network);
  Run run;
  run.network = network.name();
  run.batch = options.batch;
  check(run);
  const model::KernelModels models = load_models(options.kernels);
  std::optional<Bytes> limit;
  if (!options.workspace.empty()) {
    limit = parse_quantity<Bytes>(options.workspace, "--workspace");
    if (*limit < Bytes()) {
      throw ConfigError(fmt::format("--workspace is {}, which is below zero. Write 0 B or more.",
                                    options.workspace));
    }
  }
  std::vector<report::LayerChoice> choices = convolution_steps(network);
  bool any = false;
  for (report::LayerChoice& choice : choices) {
    choice.candidates = model::choose(models, choice.kernel, options.batch, choice.pass,
                                      options.threads, options.cache, limit);
    choice.untold = model::untold_ways(models, choice.kernel, options.batch, choice.pass,
                                       options.threads, options.cache);
    any |= !choice.candidates.empty();
  }
  if (!any) {
    throw ConfigError(fmt::format(
        "{0} has no model for the convolutions of {1} with {2} and {3} caches. Measure them and fit "
        "again, with the results that it was fitted to: dlscale bench conv --network {4} "
        "--algorithms all --threads {5} --cache {3} -o more.jsonl && dlscale roofline fit RESULTS "
        "more.jsonl -o {0}.",
        options.kernels, network.name(), counted(options.threads, "thread"), options.cache,
        options.network, options.threads));
  }
  if (limit) {
    const std::string problem =
        report::nothing_fits(network.name(), options.batch, *limit, choices);
    if (!problem.empty()) throw ConfigError(problem);
  }
  report::Document document =
      report::choice_document(network.name(), options.batch, limit, choices);
  document.next = {{"Measure what it chose from:",
                    fmt::format("dlscale bench conv --network {} --batch {} --threads {} --cache {} "
                                "--algorithms all -o {}",
                                shell_word(options.network), options.batch, options.threads,
                                options.cache, "choices.jsonl")}};
  options.output.write(document);
  return report::exit_code(choices);
}

void declare_select_algorithm(CLI::App& verb, ExitCode& result) {
  auto options = std::make_shared<SelectOptions>();
  verb.add_option("--network", options->network,
                  "Network: a name in configs/networks, or a YAML file")
      ->type_name("NETWORK")
      ->required();
  verb.add_option("--kernels", options->kernels, "Kernel models: a file of dlscale roofline fit")
      ->type_name("FILE")
      ->required();
  verb.add_option("--batch", options->batch, "Images per rank, up to 65536")
      ->check(positive())
      ->capture_default_str();
  verb.add_option("--threads", options->threads, "Compute threads per rank")
      ->check(positive())
      ->capture_default_str();
  verb.add_option("--cache", options->cache,
                  "State of the caches in which the times were measured (bench conv --cache)")
      ->check(CLI::IsMember({"cold", "producer", "hot", "rotating"}))
      ->capture_default_str();
  verb.add_option("--workspace", options->workspace,
                  "Most memory an algorithm may take beside the tensors, such as \"64 MiB\"");
  options->output.declare(verb);
  verb.footer(
      "Exit code 2: some convolution has no algorithm that fits into --workspace; 3: whether one "
      "fits "
      "is not known.\n"
      "Example: dlscale select-algorithm --network vgg16 --batch 8 --kernels kernels.json "
      "--workspace \"64 "
      "MiB\"");
  verb.callback([options, &result] { result = select_algorithm(*options); });
}

}  // namespace

extern const Verb select_algorithm_verb{"select-algorithm",
                                        "Name the fastest algorithm for each convolution",
                                        declare_select_algorithm};

}  // namespace dlscale::app
