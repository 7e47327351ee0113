#include "app/complete_values.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <set>
#include <span>
#include <string>

#include "app/command_tree.hpp"
#include "app/complete_alerts.hpp"
#include "app/history_options.hpp"
#include "app/noise_study.hpp"
#include "app/suite.hpp"
#include "app/suite_list.hpp"
#include "app/topics.hpp"
#include "app/training_target.hpp"
#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"
#include "core/collective/algorithm.hpp"
#include "core/config_path.hpp"
#include "core/network.hpp"
#include "core/run.hpp"
#include "core/system_file.hpp"
#include "model/sgd_iter/asked_all_reduce.hpp"
#include "model/what_if/stated_inputs.hpp"
#include "report/format/format.hpp"

namespace dlscale::app {
namespace {

using Candidates = std::vector<Candidate>;

Candidates without_docs(std::span<const std::string> words) {
  Candidates candidates;
  for (const std::string& word : words) candidates.push_back({word, ""});
  return candidates;
}

Candidates named(std::string_view group) {
  return without_docs(config_names(group));
}

Candidates with(Candidates candidates, std::initializer_list<Candidate> more) {
  candidates.insert(candidates.end(), more);
  return candidates;
}

/// What the line says of an option so far, or what is used where it says nothing.
std::string given(const Typed& typed, const std::string& option, const std::string& otherwise) {
  const auto found = typed.given.find(option);
  return found == typed.given.end() ? otherwise : found->second;
}

Candidates networks(const Typed&) {
  return named("networks");
}
Candidates networks_of_a_benchmark(const Typed&) {
  return with(named("networks"), {{"all", "those in configs/networks"}});
}
Candidates clusters(const Typed&) {
  return named("clusters");
}
Candidates measured_clusters(const Typed&) {
  return with(named("clusters"), {{"local", "this machine, detected"}});
}
Candidates devices(const Typed&) {
  return named("devices");
}
Candidates suites(const Typed&) {
  return named("suites");
}
Candidates systems(const Typed&) {
  return named("systems");
}
Candidates models(const Typed&) {
  return named("models");
}
Candidates shapes(const Typed&) {
  return named("shapes");
}

template <class Member>
Candidates members_with_docs() {
  Candidates candidates;
  for (const Member* member : family<Member>().members) {
    candidates.push_back({std::string(member->name), std::string(member->doc)});
  }
  return candidates;
}

Candidates formats(const Typed&) {
  return members_with_docs<report::format::Format>();
}

/// "csv=", which a file follows.
Candidates formats_of_files(const Typed& typed) {
  Candidates candidates = formats(typed);
  for (Candidate& candidate : candidates) candidate.word += '=';
  return candidates;
}

Candidates compute_backends(const Typed&) {
  return members_with_docs<backend::ComputeBackend>();
}

Candidates communicators(const Typed&) {
  return with(members_with_docs<backend::CommBackend>(), {{"auto", "the best there is"}});
}

template <class Enum, std::size_t N>
Candidates words_of(const std::array<Enum, N>& all, std::string_view (*name_of)(Enum)) {
  Candidates candidates;
  for (const Enum one : all) candidates.push_back({std::string(name_of(one)), ""});
  return candidates;
}

Candidates shardings(const Typed&) {
  return words_of(all_shardings, sharding_name);
}

Candidates transports(const Typed&) {
  return words_of(all_transports, transport_name);
}

Candidates callers(const Typed&) {
  return words_of(all_callers, callers_name);
}

Candidates schedules(const Typed&) {
  return words_of(all_schedules, schedule_name);
}
Candidates synchronisations(const Typed&) {
  return words_of(all_synchronisations, synchronisation_name);
}
Candidates targets(const Typed&) {
  return without_docs(target_names());
}
Candidates frameworks(const Typed&) {
  return named("frameworks");
}
Candidates dtypes(const Typed&) {
  return words_of(all_dtypes, dtype_name);
}

Candidates all_reduces(const Typed&) {
  return with(without_docs(model::asked_all_reduces()),
              {{"nccl", "by NCCL's own cost model"}, {"quickest", "of rings and trees"}});
}

/// "inter_node.bandwidth=", which a value follows.
Candidates stated_inputs(const Typed&) {
  Candidates candidates;
  for (const std::string& key : model::stated_input_keys()) candidates.push_back({key + "=", ""});
  return candidates;
}

Candidates kernels_of_studies(const Typed&) {
  Candidates candidates;
  for (const NoiseKernel& kernel : noise_kernels()) candidates.push_back({kernel.name, ""});
  return candidates;
}

/// Of any collective, each once.
Candidates algorithms(const Typed&) {
  Candidates candidates{{"library", "whatever the library does"}, {"all", "each of them"}};
  for (const collective::Collective one : collective::collectives) {
    for (const collective::Algorithm* algorithm : collective::algorithms_of(one)) {
      const auto known = std::ranges::find(candidates, algorithm->name, &Candidate::word);
      if (known != candidates.end()) continue;
      candidates.push_back({std::string(algorithm->name), std::string(algorithm->doc)});
    }
  }
  return candidates;
}

/// Of the first network that the line names, or of the one that is measured without.
Candidates layers(const Typed& typed) {
  const std::string list = given(typed, "--network", "resnet50");
  const Network network = load_network(list.substr(0, list.find(',')));
  Candidates candidates{{"all", ""}};
  for (const Layer& layer : network.layers()) candidates.push_back({layer.name, ""});
  return candidates;
}

/// Of the suite that the line names, on this machine or another: how they are called does not
/// depend on its workers.
Candidates cells(const Typed& typed) {
  const std::string suite = given(typed, "suite", "");
  if (suite.empty()) return {};
  const Suite read = load_suite(suite, values_of_any_machine());
  Candidates candidates;
  for (const SuiteCell& cell : read.cells) candidates.push_back({cell.name, cell.doc});
  return candidates;
}

/// Of the cells of the suite that the line names, or of all suites.
Candidates tags(const Typed& typed) {
  const std::string suite = given(typed, "suite", "");
  std::set<std::string> found;
  for (const std::string& name :
       suite.empty() ? config_names("suites") : std::vector<std::string>{suite}) {
    const Suite read = load_suite(name, values_of_any_machine());
    if (suite.empty()) found.insert(read.tags.begin(), read.tags.end());
    for (const SuiteCell& cell : read.cells) found.insert(cell.tags.begin(), cell.tags.end());
  }
  return without_docs(std::vector<std::string>(found.begin(), found.end()));
}

Candidates partitions(const Typed& typed) {
  Candidates candidates;
  for (const Partition& partition : load_system(given(typed, "--system", "local")).partitions) {
    candidates.push_back({partition.name, ""});
  }
  return candidates;
}

/// As the command would judge the history, by the options on its line.
Candidates alerts(const Typed& typed) {
  const char* usual = std::getenv("DLSCALE_HISTORY");
  const std::string place =
      given(typed, "--store", usual != nullptr && *usual != '\0' ? usual : "history");
  HistoryRules rules;
  rules.sensitive = typed.given.contains("--sensitive");
  if (const auto margin = typed.given.find("--margin"); margin != typed.given.end()) {
    rules.margin = std::stod(margin->second);
  }
  const bool annotates = typed.command == "history annotate";
  return alert_candidates(place, rules.chosen(), annotates ? AlertsOf::all_time : AlertsOf::now);
}

Candidates all_topics(const Typed&) {
  Candidates candidates;
  for (const Topic& topic : topics()) {
    candidates.push_back({std::string(topic.name), std::string(topic.doc)});
  }
  CommandTree tree;
  for (const CLI::App* verb : commands_below(tree.root())) {
    candidates.push_back({verb->get_name(), verb->get_description()});
  }
  return candidates;
}

enum class In { one_word, list };

/// One line of the table: which options, of which commands, take which values.
struct Line {
  std::string_view option;
  std::string_view command = {};  ///< the beginning of their words; empty: all
  std::string_view words = {};    ///< between commas; they stand in the option's help, too
  Candidates (*read)(const Typed&) = nullptr;  ///< others, which are read from somewhere
  Paths paths = Paths::none;
  In in = In::one_word;
  bool command_line = false;
};

constexpr Paths files = Paths::files;
constexpr Paths folders = Paths::folders;

/// The first line that fits counts. What is not here takes numbers or text of one's own.
constexpr std::array table{
    Line{.option = "--network",
         .command = "bench",
         .read = networks_of_a_benchmark,
         .paths = files,
         .in = In::list},
    Line{.option = "--network", .read = networks, .paths = files},
    Line{.option = "--networks",
         .command = "bench",
         .read = networks,
         .paths = files,
         .in = In::list},
    Line{.option = "--cluster", .command = "calibrate", .read = measured_clusters, .paths = files},
    Line{.option = "--cluster", .read = clusters, .paths = files},
    Line{.option = "--machine", .command = "history"},  // NAME=VALUE
    Line{.option = "--machine", .paths = files},
    Line{.option = "--device", .read = devices},
    Line{.option = "--set", .read = stated_inputs},
    Line{.option = "--model", .read = models, .paths = files},
    Line{.option = "--cases", .paths = files},
    Line{.option = "--predictions", .paths = files},
    Line{.option = "--layer-times", .paths = files},
    Line{.option = "--message-times", .paths = files},
    Line{.option = "--trace", .paths = files},
    Line{.option = "--replay", .command = "bench", .paths = files},
    Line{.option = "--profile", .command = "bench", .paths = files},
    Line{.option = "--ceilings", .command = "bench", .paths = files},
    Line{.option = "--data", .paths = folders},
    Line{.option = "--out", .command = "data", .paths = folders},
    Line{.option = "--write-scripts", .command = "run", .paths = folders},
    Line{.option = "--base-build", .command = "gate", .paths = folders},
    Line{.option = "--new-build", .command = "gate", .paths = folders},
    Line{.option = "--repository", .paths = folders},
    Line{.option = "--store", .command = "history", .paths = folders},
    Line{.option = "--history", .command = "report", .paths = folders},
    Line{.option = "--output", .command = "run", .paths = folders},
    Line{.option = "--output", .command = "report", .paths = folders},
    Line{.option = "--output", .command = "gate", .paths = folders},
    Line{.option = "--output", .command = "noise", .paths = folders},
    Line{.option = "--output", .command = "bench", .paths = files},
    Line{.option = "--output", .command = "calibrate", .paths = files},
    Line{.option = "--output", .command = "roofline fit", .paths = files},
    Line{.option = "--output", .read = formats_of_files, .paths = files},
    Line{.option = "--write", .read = formats_of_files},
    Line{.option = "suite", .command = "run", .read = suites, .paths = files},
    Line{.option = "--suite", .read = suites, .paths = files},
    Line{.option = "--system", .command = "run", .read = systems, .paths = files},
    Line{.option = "--partition", .command = "run", .read = partitions},
    Line{.option = "--name", .command = "run", .read = cells},
    Line{.option = "--exclude", .command = "run", .read = cells},
    Line{.option = "--tag", .command = "run", .read = tags},
    Line{.option = "results", .paths = files},
    Line{.option = "files", .command = "history add", .paths = files},
    Line{.option = "a", .command = "compare", .paths = files},
    Line{.option = "b", .command = "compare", .paths = files},
    Line{.option = "folder", .command = "data info", .paths = folders},
    Line{.option = "--since", .command = "history list", .words = "10days,2weeks,3months,1year"},
    Line{.option = "commit", .command = "history", .read = alerts},
    Line{.option = "words", .command = "gate", .command_line = true},
    Line{.option = "command", .command = "history bisect", .command_line = true},
    Line{.option = "topic", .command = "help", .read = all_topics},
    Line{.option = "--format", .read = formats},
    Line{.option = "--backend", .command = "bench", .read = compute_backends, .in = In::list},
    Line{.option = "--backend", .read = compute_backends},
    Line{.option = "--comm", .command = "bench", .read = communicators},
    Line{.option = "--framework", .read = frameworks, .paths = files},
    Line{.option = "--schedule", .read = schedules, .in = In::list},
    Line{
        .option = "--synchronisation", .command = "plan", .read = synchronisations, .in = In::list},
    Line{.option = "--synchronisation", .read = synchronisations},
    Line{.option = "--sharding", .command = "plan", .read = shardings, .in = In::list},
    Line{.option = "--sharding", .read = shardings},
    Line{.option = "--transport", .command = "plan", .read = transports, .in = In::list},
    Line{.option = "--transport", .read = transports},
    Line{.option = "--callers", .command = "plan", .read = callers, .in = In::list},
    Line{.option = "--callers", .read = callers},
    Line{.option = "--all-reduce", .read = all_reduces},
    Line{.option = "--input-copy", .words = "on_path,ahead"},
    Line{.option = "--normalise", .command = "bench", .words = "host,device,auto"},
    Line{.option = "--normalise", .words = "host,device"},
    Line{.option = "--launch", .command = "history"},  // NAME=VALUE
    Line{.option = "--launch", .words = "eager,graph"},
    Line{.option = "--fuse", .words = "relu,none"},
    Line{.option = "--dtype",
         .command = "bench comm",
         .words = "f32,f64,bf16,f16,i32,i64,u8",
         .in = In::list},
    Line{.option = "--dtype", .command = "bench peak", .words = "f32,f64,bf16", .in = In::list},
    Line{.option = "--dtype", .command = "bench update", .words = "f32,bf16"},
    Line{.option = "--dtype", .read = dtypes},
    Line{.option = "--straggler-shape", .words = "normal,log_normal,exponential"},
    Line{.option = "--objective", .command = "plan", .words = "time,cost,efficiency"},
    Line{.option = "--target", .read = targets},
    Line{.option = "--kernels", .command = "noise", .read = kernels_of_studies, .in = In::list},
    Line{.option = "--kernels", .command = "choose", .paths = files},
    Line{.option = "--measure", .command = "gate", .words = "results,google,wall,auto"},
    Line{.option = "--inconclusive", .command = "gate", .words = "fail,pass"},
    Line{.option = "--cache", .command = "gate", .paths = folders},
    Line{.option = "--cache", .command = "bench comm", .words = "cold,hot,reused", .in = In::list},
    Line{.option = "--cache",
         .command = "bench",
         .words = "cold,producer,hot,rotating",
         .in = In::list},
    Line{.option = "--state",
         .command = "history annotate",
         .words = "acknowledged,expected,fixed,invalid,new"},
    Line{.option = "--passes",
         .command = "bench conv",
         .words = "all,forward,backward_data,backward_filter,accumulate",
         .in = In::list},
    Line{.option = "--layers", .command = "bench conv", .read = layers, .in = In::list},
    Line{.option = "--list", .command = "bench", .read = shapes, .paths = files, .in = In::list},
    Line{.option = "--values", .command = "bench", .words = "normal,uniform,zeros"},
    Line{.option = "--layout",
         .command = "bench conv",
         .words = "chosen,nchw,nhwc,blocked",
         .in = In::list},
    Line{.option = "--algorithms", .command = "bench conv", .words = "chosen,all"},
    Line{.option = "--cut", .command = "bench gemm", .words = "blocks,whole", .in = In::list},
    Line{.option = "--check", .command = "bench", .words = "yes,no"},
    Line{.option = "--operations",
         .command = "bench memory",
         .words = "copy,scale,add,triad,sum,fill,h2d",
         .in = In::list},
    Line{.option = "--operations",
         .command = "bench latency",
         .words = "chase,levels,line,page_reach",
         .in = In::list},
    Line{.option = "--operations",
         .command = "bench peak",
         .words = "fma,intensity,gemm",
         .in = In::list},
    Line{.option = "--operations",
         .command = "bench device",
         .words = "copy,scale,add,triad,chase,levels,bank_latency,bank_throughput,launch,"
                  "launch_synchronised,launch_graph,h2d,d2h,d2d",
         .in = In::list},
    Line{.option = "--stores",
         .command = "bench memory",
         .words = "ordinary,streaming",
         .in = In::list},
    Line{.option = "--pages", .command = "bench latency", .words = "small,huge", .in = In::list},
    Line{.option = "--paths", .command = "bench device", .words = "all_caches,l2", .in = In::list},
    Line{.option = "--host-memory",
         .command = "bench device",
         .words = "pageable,pinned,registered",
         .in = In::list},
    Line{.option = "--company",
         .command = "bench device",
         .words = "solo,bidirectional,kernel",
         .in = In::list},
    Line{
        .option = "--source", .command = "bench io", .words = "page_cache,storage", .in = In::list},
    Line{.option = "--phases", .command = "bench e2e", .words = "yes,no"},
    Line{.option = "--waiting", .command = "bench", .words = "spin,sleep", .in = In::list},
    Line{.option = "--collectives",
         .command = "bench comm",
         .words = "all_reduce,reduce,broadcast,all_gather,reduce_scatter,all_to_all,barrier,"
                  "sendrecv,bandwidth,bidirectional,pairs",
         .in = In::list},
    Line{.option = "--sizes",
         .command = "bench comm",
         .words = "powers,large,neighbours,gradients",
         .in = In::list},
    Line{.option = "--op", .command = "bench comm", .words = "sum,max,min", .in = In::list},
    Line{.option = "--mode",
         .command = "bench comm",
         .words = "blocking,nonblocking,persistent",
         .in = In::list},
    Line{.option = "--algorithm", .command = "bench comm", .read = algorithms, .in = In::list},
    Line{.option = "--in-place", .command = "bench comm", .words = "yes,no", .in = In::list},
    Line{.option = "--memory", .command = "bench comm", .words = "host,device", .in = In::list},
    Line{.option = "--gaps", .command = "bench comm", .words = "recorded,none"},
    Line{.option = "--beside",
         .command = "bench comm",
         .words = "nothing,gemm,conv,memcpy",
         .in = In::list},
};

bool is_of(const Line& line, const CLI::Option& option, std::string_view command) {
  const bool there = command == line.command || line.command.empty() ||
                     (command.starts_with(line.command) && command[line.command.size()] == ' ');
  if (!there) return false;
  const std::vector<std::string> names = names_of(option);
  return option.get_name() == line.option || std::ranges::find(names, line.option) != names.end();
}

auto find_line(const CLI::Option& option, std::string_view command) {
  return std::ranges::find_if(
      table, [&](const Line& candidate) { return is_of(candidate, option, command); });
}

/// None where a file that they stand in is missing or wrong: what is wrong with it, the verb says.
Candidates read(const Line& line, const Typed& typed) {
  try {
    return line.read(typed);
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace

bool takes_command_line(const CLI::Option& option, std::string_view command) {
  const auto line = find_line(option, command);
  return line != table.end() && line->command_line;
}

OptionValues values_of(const CLI::Option& option, const Typed& typed) {
  OptionValues values;
  values.list = option.get_delimiter() == ',';
  if (const std::vector<std::string> choices = choices_of(option); !choices.empty()) {
    values.words = without_docs(choices);
    return values;
  }
  const auto line = find_line(option, typed.command);
  if (line == table.end()) return values;
  values.list = values.list || line->in == In::list;
  values.paths = line->paths;
  if (!line->words.empty()) {
    values.words = without_docs(CLI::detail::split(std::string(line->words), ','));
  }
  if (line->read != nullptr) values.words = read(*line, typed);
  return values;
}

std::vector<ValuesLine> lines_of_values() {
  std::vector<ValuesLine> lines;
  for (const Line& line : table) lines.push_back({line.option, line.command, line.words});
  return lines;
}

}  // namespace dlscale::app
