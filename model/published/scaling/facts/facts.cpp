#include "model/published/scaling/facts/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/base/error.hpp"
#include "core/collective/selection/parameter_servers.hpp"
#include "core/config/config_path.hpp"
#include "core/text/suggest.hpp"
#include "model/published/scaling/facts/framework_traits.hpp"
#include "model/published/scaling/facts/network_kind.hpp"

namespace dlscale::model::scaling {
namespace {

using cases::ScalingCase;

/// Kinds of NVLink that join GPUs without switches.
constexpr std::array<std::string_view, 2> meshes{"nvlink1", "nvlink2"};

/// Memory bandwidth and year of an unknown GPU: those of most publications.
constexpr BytesPerSecond usual_memory_bandwidth{900e9};
constexpr int usual_launch = 2018;

Layout layout(int gpus, int gpus_per_node) {
  const int nodes = gpus / gpus_per_node + (gpus % gpus_per_node > 0 ? 1 : 0);
  return {gpus, nodes, std::min(gpus, gpus_per_node)};
}

/// Reverses the order of layers, but keeps the weights of a layer before its bias. Tensors of a
/// layer are ready at the same time.
std::vector<Bytes> in_forward_order(const std::vector<GradientTensor>& backward, Bytes element) {
  std::vector<Bytes> forward;
  for (std::size_t end = backward.size(); end > 0;) {
    std::size_t begin = end - 1;
    while (begin > 0 && backward[begin - 1].ready == backward[end - 1].ready) --begin;
    for (std::size_t i = begin; i < end; ++i) forward.push_back(backward[i].elements * element);
    end = begin;
  }
  return forward;
}

/// Whether it is known which server keeps what.
bool follows_rule(const TrainingFacts& facts) {
  return facts.framework.sharding && facts.profile.source == TensorSource::layers;
}

/// The imbalance of one server a node.
double busiest_server(const TrainingFacts& facts, int nodes, std::vector<std::string>& guesses) {
  constexpr int most_followed = 100'000;
  if (facts.synchronisation != cases::Synchronisation::parameter_server) return 1;
  if (nodes <= most_followed) return server_imbalance(facts, nodes);
  if (follows_rule(facts)) {
    guesses.push_back(fmt::format(
        "what each of {} servers keeps is not followed (on more than {}): taken as even", nodes,
        most_followed));
  }
  return 1;
}

/// The network as profiles of frameworks may name it: "ResNet-50", "BERT-Large, 512 tokens".
std::string in_words(const cases::CaseNetwork& network) {
  if (!network.seq) return network.name;
  return fmt::format("{}, {} tokens", network.name, *network.seq);
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

const LinkKind* find_kind(const FactSources& sources, std::string_view name, LinkReach reach) {
  for (const LinkKind& kind : sources.links) {
    if (kind.name == name && kind.reach == reach) return &kind;
  }
  return nullptr;
}

std::string guessed_link(std::string_view kind, std::string_view as) {
  return fmt::format("\"{}\" is not a kind of link in configs/links: taken for {}", kind, as);
}

NodeFabric node_fabric(const ScalingCase& training, const FactSources& sources,
                       std::vector<std::string>& guesses) {
  const std::string& name = training.cluster.intra_node.kind;
  if (std::find(meshes.begin(), meshes.end(), name) != meshes.end()) return NodeFabric::mesh;
  if (const LinkKind* kind = find_kind(sources, name, LinkReach::intra_node)) {
    return kind->transport == LinkTransport::nvlink ? NodeFabric::switched : NodeFabric::pcie;
  }
  const std::string word = plain_name(name);
  const bool nvlink = holds(word, "nvlink") || holds(word, "nvswitch");
  guesses.push_back(guessed_link(name, nvlink ? "links through switches" : "PCI Express"));
  return nvlink ? NodeFabric::switched : NodeFabric::pcie;
}

ClusterFabric cluster_fabric(const ScalingCase& training, const FactSources& sources,
                             std::vector<std::string>& guesses) {
  if (!training.cluster.inter_node) return ClusterFabric::none;
  const std::string& name = training.cluster.inter_node->kind;
  if (const LinkKind* kind = find_kind(sources, name, LinkReach::inter_node)) {
    return kind->transport == LinkTransport::tcp ? ClusterFabric::tcp : ClusterFabric::rdma;
  }
  const std::string word = plain_name(name);
  const bool tcp =
      holds(word, "tcp") || (holds(word, "ethernet") && !holds(word, "rdma")) || holds(word, "gbe");
  guesses.push_back(guessed_link(name, tcp ? "TCP" : "RDMA"));
  return tcp ? ClusterFabric::tcp : ClusterFabric::rdma;
}

std::size_t common_start(std::string_view a, std::string_view b) {
  const auto [end, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(end - a.begin());
}

/// Whether a GPU may have the chip of that name. The names must begin alike over four letters and
/// digits, or the GPU's must extend a name of three.
bool may_share_chip(std::string_view gpu, std::string_view name) {
  const std::size_t common = common_start(gpu, name);
  return common >= 4 || (common >= 3 && common == name.size());
}

/// The sheet with the most similar name among those that may share the GPU's chip.
const DeviceSheet* similar(const DeviceCatalogue& devices, std::string_view gpu) {
  const DeviceSheet* best = nullptr;
  int least = std::numeric_limits<int>::max();
  const std::string word = plain_name(gpu);
  for (const DeviceSheet& sheet : devices.sheets()) {
    std::vector<std::string> names = sheet.aliases;
    names.push_back(sheet.id);
    for (const std::string& name : names) {
      const std::string other = plain_name(name);
      const int distance = edit_distance(word, other);
      if (!may_share_chip(word, other) || distance >= least) continue;
      least = distance;
      best = &sheet;
    }
  }
  return best;
}

/// The year of the first GPU with that chip, since more memory does not make a new generation.
int first_launch(const DeviceCatalogue& devices, const DeviceSheet& of) {
  int year = of.launched;
  for (const DeviceSheet& sheet : devices.sheets()) {
    if (sheet.chip == of.chip) year = std::min(year, sheet.launched);
  }
  return year;
}

/// A name without its maker or product line: "Tesla V100-SXM2", "NVIDIA A100 (400 W)".
std::string_view without_maker(std::string_view gpu) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view word : {"NVIDIA ", "Nvidia ", "Tesla ", "GeForce "}) {
      if (!gpu.starts_with(word)) continue;
      gpu.remove_prefix(word.size());
      again = true;
    }
  }
  return gpu;
}

void look_up_gpu(const std::string& gpu, const FactSources& sources, TrainingFacts& facts) {
  const DeviceSheet* sheet = sources.devices.find(gpu);
  if (sheet == nullptr) {
    sheet = similar(sources.devices, without_maker(gpu));
    facts.guesses.push_back(fmt::format("\"{}\" has no data sheet in configs/devices: taken for {}",
                                        gpu, sheet != nullptr ? sheet->name : "a GPU of 2018"));
  }
  facts.memory_bandwidth = sheet != nullptr ? sheet->memory_bandwidth : usual_memory_bandwidth;
  facts.launched = sheet != nullptr ? first_launch(sources.devices, *sheet) : usual_launch;
}

/// Samples that are no pictures are far smaller.
Bytes sample_bytes(const ScalingCase& training) {
  return training.sample_unit == "image" ? picture_bytes : Bytes();
}

/// Whether products are of 16 or 8 bits: "mixed-fp16", "bf16", "fp8", but not "tf32".
bool half_precision(std::string_view precision) {
  return !holds(precision, "32");
}

std::optional<std::string> other_parallelism(const ScalingCase& training) {
  const cases::CaseParallelism& parallel = training.run.parallel;
  if (parallel.tp > 1 || parallel.pp > 1 || parallel.cp > 1 || parallel.ep > 1 ||
      parallel.dp != training.gpus) {
    return fmt::format(
        "the network is split over GPUs (dp {}, tp {}, pp {}, cp {}, ep {}), which the model of "
        "data-parallel scaling has no terms for",
        parallel.dp, parallel.tp, parallel.pp, parallel.cp, parallel.ep);
  }
  if (parallel.zero_stage.value_or(0) > 0 ||
      training.run.synchronisation == cases::Synchronisation::fsdp) {
    return "states are sharded over the replicas, which the model of data-parallel scaling has no "
           "terms for";
  }
  return {};
}

/// The statements that a clause may consist of, apart from words_around.
constexpr std::array<std::string_view, 26> statements{"compute only",
                                                      "computation only",
                                                      "computing only",
                                                      "compute alone",
                                                      "computation alone",
                                                      "computing alone",
                                                      "only compute",
                                                      "only computes",
                                                      "only computation",
                                                      "only computing",
                                                      "pure compute",
                                                      "pure computation",
                                                      "pure computing",
                                                      "forward and backward only",
                                                      "forward and backward alone",
                                                      "only forward and backward",
                                                      "no update",
                                                      "without update",
                                                      "without weight update",
                                                      "no optimizer",
                                                      "without optimizer",
                                                      "without optimizer update",
                                                      "no optimiser",
                                                      "without optimiser",
                                                      "without optimiser update",
                                                      "excluding optimizer"};

/// Words that do not change a statement. None of them denies or doubts.
constexpr std::array<std::string_view, 21> words_around{
    "the",        "a",     "an",         "this",     "it",    "its",     "is",
    "was",        "of",    "time",       "times",    "step",  "steps",   "iteration",
    "iterations", "point", "throughput", "measured", "speed", "samples", "given"};

/// The first words of clauses that may take back the previous statement.
constexpr std::array<std::string_view, 9> reservations{
    "which", "but", "though", "although", "unless", "except", "if", "or", "not"};

template <class Words>
bool is_one_of(std::string_view word, const Words& words) {
  return std::ranges::find(words, word) != words.end();
}

bool is_mark(char letter, std::string_view marks) {
  return marks.find(letter) != std::string_view::npos;
}

using Clause = std::vector<std::string>;

/// The words between punctuation marks, in lower case, sentence by sentence. A hyphen separates
/// words.
std::vector<std::vector<Clause>> sentences_of(std::string_view text) {
  std::vector<std::vector<Clause>> sentences(1);
  Clause clause;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) clause.push_back(std::move(word));
    word.clear();
  };
  const auto end_clause = [&] {
    end_word();
    if (!clause.empty()) sentences.back().push_back(std::move(clause));
    clause.clear();
  };
  for (const char letter : text) {
    if (is_mark(letter, " \t-_")) {
      end_word();
    } else if (is_mark(letter, ",:()[]")) {
      end_clause();
    } else if (is_mark(letter, ".;\n")) {
      end_clause();
      sentences.emplace_back();
    } else {
      word.push_back(letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a')
                                                    : letter);
    }
  }
  end_clause();
  return sentences;
}

bool is_statement(const Clause& clause) {
  std::string said;
  for (const std::string& word : clause) {
    if (is_one_of(word, words_around)) continue;
    if (!said.empty()) said += ' ';
    said += word;
  }
  return is_one_of(said, statements);
}

bool says_so(const std::vector<Clause>& sentence) {
  return std::ranges::any_of(sentence, is_statement) &&
         std::ranges::none_of(sentence, [](const Clause& clause) {
           return is_one_of(clause.front(), reservations) && clause.size() > 1 &&
                  clause.at(1) != "including" && clause.at(1) != "counting";
         });
}

}  // namespace

FactSources FactSources::load() {
  FactSources sources{DeviceCatalogue::load(), load_link_kinds(), load_frameworks()};
  for (const std::string& name : config_names("networks")) {
    if (network_kind(name).file != name) continue;  // no training takes its layers from there
    sources.networks.emplace(name, load_network(name));
  }
  return sources;
}

double server_imbalance(const TrainingFacts& facts, int servers) {
  EXPECT(servers >= 1);
  if (!follows_rule(facts)) return 1;
  const Bytes element = facts.gradient / facts.parameters;
  const std::vector<Bytes> tensors = in_forward_order(facts.profile.tensors, element);
  return collective::imbalance(
      collective::servers_by(*facts.framework.sharding, tensors, element, servers));
}

std::optional<std::string> not_covered(const ScalingCase& training) {
  if (auto reason = other_parallelism(training)) return reason;
  if (training.run.synchronisation == cases::Synchronisation::other) {
    return "gradients are synchronised in a way that the model does not know";
  }
  if (training.given.empty()) {
    return "no smaller scale of the training is given, and the model scales one";
  }
  if (!(training.gradient_element > Bytes()) || training.network.parameters <= 0) {
    return "the size of the gradients is not known";
  }
  constexpr std::int64_t most_layers = 10'000;
  if (training.network.layers.value_or(1) > most_layers) {
    return fmt::format("a network of {} layers is more than the {} that the model goes through",
                       *training.network.layers, most_layers);
  }
  const int most_gpus = std::max(training.gpus, nearest_given(training).gpus);
  if (most_gpus > training.gpus_per_node && !training.cluster.inter_node) {
    return "the links between its nodes are not known";
  }
  return {};
}

const cases::GivenPoint& nearest_given(const ScalingCase& training) {
  EXPECT(!training.given.empty());
  const auto distance = [&](const cases::GivenPoint& point) {
    const double gpus = std::log2(static_cast<double>(training.gpus) / point.gpus);
    const double batch = std::log2(training.batch_per_gpu / point.batch_per_gpu);
    return std::tuple(computes_only(point), std::abs(gpus) + std::abs(batch), point.gpus);
  };
  return *std::min_element(training.given.begin(), training.given.end(),
                           [&](const cases::GivenPoint& a, const cases::GivenPoint& b) {
                             return distance(a) < distance(b);
                           });
}

TrainingFacts training_facts(const ScalingCase& training, const FactSources& sources) {
  EXPECT(!not_covered(training));
  const cases::GivenPoint& given = nearest_given(training);
  const cases::CaseCluster& cluster = training.cluster;
  TrainingFacts facts;
  facts.parameters = static_cast<double>(training.network.parameters);
  facts.gradient = facts.parameters * training.gradient_element;
  facts.profile = gradient_tensors(training.network, sources.networks);
  facts.given = layout(given.gpus, training.gpus_per_node);
  facts.given_iteration = given.iteration();
  facts.given_batch = given.batch_per_gpu;
  facts.given_computes_only = computes_only(given);
  facts.asked = layout(training.gpus, training.gpus_per_node);
  facts.batch = training.batch_per_gpu;
  facts.sample = sample_bytes(training);
  facts.uneven_samples = network_kind(training.network.name).uneven_samples;
  facts.half_precision = half_precision(training.precision);
  facts.synthetic_input = training.run.input == cases::Input::synthetic;
  facts.node_fabric = node_fabric(training, sources, facts.guesses);
  facts.node_bandwidth = cluster.intra_node.bandwidth;
  if (const LinkKind* kind = find_kind(sources, cluster.intra_node.kind, LinkReach::intra_node)) {
    facts.node_links = kind->channels;
  }
  facts.cluster_fabric = cluster_fabric(training, sources, facts.guesses);
  if (cluster.inter_node) {
    facts.cluster_bandwidth = cluster.inter_node->bandwidth;
    facts.cards = cluster.inter_node->nics.value_or(1);
  }
  look_up_gpu(cluster.gpu, sources, facts);
  facts.synchronisation = training.run.synchronisation;
  facts.overlap = training.run.overlap;
  facts.framework = framework_traits(training.run.framework, in_words(training.network),
                                     sources.frameworks, facts.guesses);
  for (Layout* at : {&facts.given, &facts.asked}) {
    at->busiest_server = busiest_server(facts, at->nodes, facts.guesses);
  }
  if (training.given.size() > 1) {
    facts.notes.push_back(fmt::format("of {} given points that of {} GPUs is the nearest",
                                      training.given.size(), given.gpus));
  }
  if (facts.profile.source == TensorSource::ramp) {
    facts.notes.push_back(
        fmt::format("the layers of \"{}\" are not known: {} tensors are taken to shrink evenly",
                    training.network.name, facts.profile.tensors.size()));
  }
  return facts;
}

bool computes_only(const cases::GivenPoint& given) {
  if (given.computes_only) return *given.computes_only;
  return std::ranges::any_of(sentences_of(given.note), says_so);
}

}  // namespace dlscale::model::scaling
