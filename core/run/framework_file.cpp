#include "core/run/framework_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <utility>

#include "core/config/config_path.hpp"
#include "core/run/compute_file.hpp"
#include "core/run/phrase_match.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/suggest.hpp"
#include "core/text/words.hpp"

namespace dlscale {
namespace {

constexpr std::string_view unknown_word = "unknown";
constexpr std::string_view none_word = "none";

constexpr Words<HostMemory, 2> host_memories{
    {{HostMemory::pinned, "pinned"}, {HostMemory::pageable, "pageable"}}};
constexpr Words<GradientPath, 4> gradient_paths{
    {{GradientPath::all_reduce, "all_reduce"},
     {GradientPath::parameter_server, "parameter_server"},
     {GradientPath::replicated_copy, "replicated_copy"},
     {GradientPath::reduce_broadcast, "reduce_broadcast"}}};
constexpr Words<GradientLibrary, 7> gradient_libraries{{{GradientLibrary::nccl, "nccl"},
                                                        {GradientLibrary::nccl_tcp, "nccl_tcp"},
                                                        {GradientLibrary::mpi, "mpi"},
                                                        {GradientLibrary::gloo, "gloo"},
                                                        {GradientLibrary::grpc, "grpc"},
                                                        {GradientLibrary::ps_lite, "ps_lite"},
                                                        {GradientLibrary::copies, "copies"}}};
constexpr Words<NodeSum, 3> node_sums{
    {{NodeSum::host, "host"}, {NodeSum::ring, "ring"}, {NodeSum::star, "star"}}};
constexpr Words<UpdatePlace, 2> update_places{
    {{UpdatePlace::worker, "worker"}, {UpdatePlace::server, "server"}}};
constexpr Words<Negotiation, 2> negotiations{
    {{Negotiation::per_tensor, "per_tensor"}, {Negotiation::per_part, "per_part"}}};
constexpr Words<KernelLaunch, 3> kernel_launches{{{KernelLaunch::eager, "eager"},
                                                  {KernelLaunch::runtime, "runtime"},
                                                  {KernelLaunch::recorded, "recorded"}}};

template <class Enum, std::size_t N>
Enum word_or_none(std::string_view name, const Words<Enum, N>& words) {
  std::vector<std::string> names;
  for (const Word<Enum>& word : words) {
    if (word.name == name) return word.value;
    names.emplace_back(word.name);
  }
  names.emplace_back(unknown_word);
  names.emplace_back(none_word);
  throw ConfigError(fmt::format("\"{}\" is not among the words for it. {}",
                                escape_for_terminal(name), suggestion(name, names)));
}

template <class T, class Name>
std::string fact_text(const Fact<T>& fact, Name name) {
  if (fact.is_unknown()) return std::string(unknown_word);
  return fact.is_none() ? std::string(none_word) : std::string(name(fact.value()));
}

/// Value from `read` for a key that is neither unknown nor none.
template <class T, class Read>
Fact<T> read_fact(const ConfigMap& map, std::string_view key, Read read) {
  const std::string word = map.text(key);
  if (word == unknown_word) return Fact<T>::unknown();
  if (word == none_word) return Fact<T>::none();
  return Fact<T>::stated(read());
}

template <class Enum, std::size_t N>
Fact<Enum> read_words(const ConfigMap& map, std::string_view key, const Words<Enum, N>& words) {
  return read_fact<Enum>(map, key, [&] {
    try {
      return word_or_none(map.text(key), words);
    } catch (const ConfigError& error) {
      throw ConfigError(map.where(key) + ": " + error.what());
    }
  });
}

/// Adds to the error for an invalid number that the key does not require one.
template <class Q>
Fact<Q> read_quantity(const ConfigMap& map, std::string_view key) {
  return read_fact<Q>(map, key, [&] {
    try {
      return map.quantity<Q>(key);
    } catch (const ConfigError& error) {
      throw ConfigError(std::string(error.what()) +
                        " Or write unknown, or none where it does not exist.");
    }
  });
}

constexpr std::string_view compute_key = "compute";

constexpr std::array<std::string_view, 18> properties{
    "input_copy", "gradients", "in_node",          "between_nodes", "schedule",    "first_bucket",
    "bucket",     "groups",    "fusion_threshold", "fusion_cycle",  "partition",   "credit",
    "sharding",   "callers",   "node_sum",         "update_on",     "negotiation", "launch"};

void read_sizes(const ConfigMap& map, FrameworkProfile& profile) {
  profile.first_bucket = read_quantity<Bytes>(map, "first_bucket");
  profile.bucket = read_quantity<Bytes>(map, "bucket");
  profile.groups = read_fact<int>(map, "groups", [&] {
    return map.integer("groups", {1, 1'000'000});
  });
  profile.fusion_threshold = read_quantity<Bytes>(map, "fusion_threshold");
  profile.fusion_cycle = read_quantity<Seconds>(map, "fusion_cycle");
  profile.partition = read_quantity<Bytes>(map, "partition");
  profile.credit = read_quantity<Bytes>(map, "credit");
}

void check_sizes(const ConfigMap& map, const FrameworkProfile& profile) {
  if (profile.first_bucket.is_stated() && profile.bucket.is_none()) {
    map.refuse("first_bucket", "of buckets that are none", "Write its bucket, too.");
  }
  if (profile.first_bucket.is_stated() && profile.bucket.is_stated() &&
      profile.first_bucket.value() > profile.bucket.value()) {
    map.refuse("first_bucket", "more than bucket", "Swap them.");
  }
  if (profile.credit.is_stated() && profile.partition.is_none()) {
    map.refuse("credit", "of parts that are none", "Write its partition, too.");
  }
}

/// Reads the properties of servers; other gradient paths do not have them.
void read_servers(const ConfigMap& map, FrameworkProfile& profile) {
  profile.sharding = read_fact<Sharding>(
      map, "sharding", [&] { return read_word(map, "sharding", parse_sharding); });
  profile.callers =
      read_fact<Callers>(map, "callers", [&] { return read_word(map, "callers", parse_callers); });
  const bool no_servers =
      profile.gradients.is_none() || (profile.gradients.is_stated() &&
                                      profile.gradients.value() != GradientPath::parameter_server);
  if (!no_servers) return;
  for (const auto& [key, stated] : {std::pair("sharding", profile.sharding.is_stated()),
                                    std::pair("callers", profile.callers.is_stated())}) {
    if (stated) map.refuse(key, "of servers where gradients take another way", "Write none.");
  }
}

std::vector<std::string_view> known_properties(const ConfigMap& map) {
  std::vector<std::string_view> known;
  for (const std::string_view key : properties) {
    if (map.text(key) != unknown_word) known.push_back(key);
  }
  return known;
}

/// Reads a month written as "2020-11".
std::optional<ReleaseMonth> read_month(const ConfigMap& map, std::string_view key) {
  if (!map.has(key)) return {};
  const std::string text = map.text(key);
  ReleaseMonth read;
  // Checks the shape first, so that only four and two digits are read.
  const auto is_digit = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '9'; };
  bool good = text.size() == 7 && text[4] == '-';
  for (std::size_t at = 0; good && at < text.size(); ++at) good = at == 4 || is_digit(at);
  if (good) {
    read = {std::stoi(text.substr(0, 4)), std::stoi(text.substr(5))};
    good = read.month >= 1 && read.month <= 12;
  }
  if (!good) map.refuse(key, "no month", "Write year and month, such as 2020-11.");
  return read;
}

void read_releases(const ConfigMap& map, FrameworkProfile& profile) {
  profile.since = read_month(map, "since");
  profile.until = read_month(map, "until");
  if (profile.since && profile.until && *profile.until < *profile.since) {
    map.refuse("until", "before since", "Swap them.");
  }
}

bool came_out(const FrameworkProfile& profile, ReleaseMonth month) {
  return (!profile.since || *profile.since <= month) && (!profile.until || month <= *profile.until);
}

/// The single profile; nullptr if there are none or several.
const FrameworkProfile* only(const std::vector<const FrameworkProfile*>& profiles) {
  return profiles.size() == 1 ? profiles.front() : nullptr;
}

/// Profiles whose versions include that month; of these, those with the latest first release.
std::vector<const FrameworkProfile*> latest(std::vector<const FrameworkProfile*> profiles,
                                            ReleaseMonth month) {
  std::erase_if(profiles, [&](const auto* profile) { return !came_out(*profile, month); });
  ReleaseMonth last;
  for (const auto* profile : profiles) last = std::max(last, profile->since.value_or(last));
  std::erase_if(profiles, [&](const auto* profile) {
    return profile->since.value_or(ReleaseMonth{}) != last;
  });
  return profiles;
}

constexpr std::string_view like_key = "like";
/// Keys of a profile beside its properties.
constexpr std::array<std::string_view, 8> keys_of_all{
    "framework", "name", "versions", "doc", "match", "since", "until", compute_key};

/// A profile with properties of its own.
FrameworkProfile read_own(const ConfigMap& map) {
  std::vector<std::string_view> keys(keys_of_all.begin(), keys_of_all.end());
  keys.push_back("sources");
  keys.insert(keys.end(), properties.begin(), properties.end());
  map.allow_only(keys);
  FrameworkProfile profile;
  profile.input_copy = read_words(map, "input_copy", host_memories);
  profile.gradients = read_words(map, "gradients", gradient_paths);
  profile.in_node = read_words(map, "in_node", gradient_libraries);
  profile.between_nodes = read_words(map, "between_nodes", gradient_libraries);
  profile.schedule = read_fact<Schedule>(
      map, "schedule", [&] { return read_word(map, "schedule", parse_schedule); });
  read_sizes(map, profile);
  check_sizes(map, profile);
  read_servers(map, profile);
  profile.node_sum = read_words(map, "node_sum", node_sums);
  profile.update_on = read_words(map, "update_on", update_places);
  profile.negotiation = read_words(map, "negotiation", negotiations);
  profile.launch = read_words(map, "launch", kernel_launches);
  profile.sources = read_sources(map, known_properties(map));
  return profile;
}

/// A profile with the properties of another one.
FrameworkProfile read_like(const ConfigMap& map) {
  std::vector<std::string_view> keys(keys_of_all.begin(), keys_of_all.end());
  keys.push_back(like_key);
  map.allow_only(keys);
  const ConfigMap other = ConfigMap::load(find_config("frameworks", map.text(like_key)));
  if (other.has(like_key)) {
    map.refuse(like_key, "a profile that is itself like another", "Name that one.");
  }
  FrameworkProfile profile = read_own(other);
  profile.like = other.name("framework");
  return profile;
}

}  // namespace

FrameworkProfile load_framework(std::string_view name) {
  const ConfigMap map = ConfigMap::load(find_config("frameworks", name));
  FrameworkProfile profile = map.has(like_key) ? read_like(map) : read_own(map);
  profile.id = map.name("framework");
  profile.name = map.name("name");
  profile.versions = map.text("versions");
  profile.doc = map.text_or("doc", "");
  profile.match = read_phrases(map, "match");
  read_releases(map, profile);
  profile.compute = read_compute(map);
  return profile;
}

std::vector<FrameworkProfile> load_frameworks() {
  std::vector<FrameworkProfile> profiles;
  for (const std::string& name : config_names("frameworks")) {
    profiles.push_back(load_framework(name));
  }
  return profiles;
}

const FrameworkProfile* find_framework(const std::vector<FrameworkProfile>& profiles,
                                       std::string_view text,
                                       std::optional<ReleaseMonth> released) {
  std::vector<const FrameworkProfile*> found;
  std::size_t longest = 1;
  for (const FrameworkProfile& profile : profiles) {
    const std::size_t letters = longest_match(profile.match, text);
    if (letters < longest) continue;
    if (letters > longest) found.clear();
    longest = letters;
    found.push_back(&profile);
  }
  return only(found.size() < 2 || !released ? found : latest(found, *released));
}

std::string to_text(const Fact<HostMemory>& fact) {
  return fact_text(fact, [](HostMemory value) { return name_of(value, host_memories); });
}

std::string to_text(const Fact<GradientPath>& fact) {
  return fact_text(fact, [](GradientPath value) { return name_of(value, gradient_paths); });
}

std::string to_text(const Fact<GradientLibrary>& fact) {
  return fact_text(fact, [](GradientLibrary value) { return name_of(value, gradient_libraries); });
}

std::string to_text(const Fact<Schedule>& fact) {
  return fact_text(fact, schedule_name);
}

std::string to_text(const Fact<Sharding>& fact) {
  return fact_text(fact, sharding_name);
}

std::string to_text(const Fact<Callers>& fact) {
  return fact_text(fact, callers_name);
}

std::string to_text(const Fact<NodeSum>& fact) {
  return fact_text(fact, [](NodeSum value) { return name_of(value, node_sums); });
}

std::string to_text(const Fact<UpdatePlace>& fact) {
  return fact_text(fact, [](UpdatePlace value) { return name_of(value, update_places); });
}

std::string to_text(const Fact<Negotiation>& fact) {
  return fact_text(fact, [](Negotiation value) { return name_of(value, negotiations); });
}

std::string to_text(const Fact<KernelLaunch>& fact) {
  return fact_text(fact, [](KernelLaunch value) { return name_of(value, kernel_launches); });
}

}  // namespace dlscale
