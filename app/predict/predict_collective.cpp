#include "app/predict/predict_collective.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <string_view>

#include "app/cli/number_sweep.hpp"
#include "app/cli/option_values.hpp"
#include "core/base/error.hpp"
#include "core/collective/algorithm.hpp"
#include "core/collective/names.hpp"
#include "core/text/quantity_text.hpp"
#include "core/text/suggest.hpp"
#include "model/collectives/collective_question.hpp"
#include "report/messages/collective_table.hpp"

namespace dlscale::app {
namespace {

using collective::Collective;

constexpr Bytes least_message(4);
/// Times of one answer; each takes some microseconds.
constexpr std::size_t most_times = 100'000;
constexpr std::string_view every_algorithm = "all";

Collective parse_collective(const std::string& name) {
  if (const auto named = collective::collective_named(name)) return *named;
  throw ConfigError(fmt::format("--collective: \"{}\" is not a collective. {}", name,
                                suggestion(name, collective::collective_names())));
}

std::vector<Bytes> parse_sizes(const std::vector<std::string>& texts) {
  std::vector<Bytes> sizes;
  for (const std::string& text : swept_quantities<Bytes>("--sizes", texts)) {
    const auto size = parse_quantity<Bytes>(text, "--sizes");
    if (size < least_message) {
      throw ConfigError(fmt::format(
          "--sizes {}: a message holds at least one number of 4 B. Write 4B or more.", text));
    }
    if (std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(size);
  }
  return sizes;
}

std::vector<std::string> chosen_algorithms(const std::vector<std::string>& words,
                                           const model::Machine& machine, Collective collective) {
  if (words.empty()) return {std::string(model::by_library)};
  std::vector<std::string> chosen;
  const auto add = [&](const std::string& word) {
    if (std::ranges::find(chosen, word) == chosen.end()) chosen.push_back(word);
  };
  for (const std::string& word : words) {
    if (word != every_algorithm) {
      add(word);
      continue;
    }
    for (const std::string& each : model::single_algorithms(machine, collective)) add(each);
  }
  return chosen;
}

}  // namespace

void PredictCollective::declare(CLI::App& verb) {
  CLI::Option* collective =
      verb.add_option("--collective", collective_,
                      "Predict messages alone: times of this collective for --sizes")
          ->type_name(one_of(collective::collective_names()));
  CLI::Option* sizes =
      verb.add_option("--sizes", sizes_,
                      "Sizes of the messages of --collective: 64KiB,1MiB, or a sweep such as "
                      "1MiB..1GiB or 4KiB..1GiB:x4")
          ->delimiter(',')
          ->type_name("SIZES");
  CLI::Option* algorithms =
      verb.add_option("--algorithm", algorithms_,
                      "Algorithms of --collective: library (what the library does), those that "
                      "dlscale info lists, chain, nccl, sharp, open_mpi, mpich, gloo, or all "
                      "(default: library)")
          ->delimiter(',')
          ->type_name("NAMES");
  collective->needs(sizes);
  sizes->needs(collective);
  algorithms->needs(collective);
  collective->needs(verb.get_option("--ranks"));
  exclude_others(verb, *collective,
                 {"--sizes", "--algorithm", "--ranks", "--cluster", "--machine", "--message-times",
                  "--log-ranks", "--inter-node-bandwidth", "--inter-node-latency", "--format",
                  "--color", "--quiet", "--output"});
}

report::Document PredictCollective::predict(const TrainingOptions& options,
                                            const std::vector<std::string>& ranks) const {
  options.check_hardware();
  model::CollectiveQuestion question;
  question.collective = parse_collective(collective_);
  question.ranks = swept_counts("--ranks", ranks);
  question.sizes = parse_sizes(sizes_);
  const model::Machine machine = options.find_machine();
  question.algorithms = chosen_algorithms(algorithms_, machine, question.collective);
  const std::size_t times =
      question.ranks.size() * question.sizes.size() * question.algorithms.size();
  if (times > most_times) {
    throw ConfigError(
        fmt::format("--ranks, --sizes and --algorithm ask for {} times, and at most {} are "
                    "answered at once. Take larger steps.",
                    times, most_times));
  }
  return report::collective_document(model::answer(machine, question));
}

}  // namespace dlscale::app
