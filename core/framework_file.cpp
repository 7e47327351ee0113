#include "core/framework_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>

#include "core/config_path.hpp"
#include "core/shown_text.hpp"
#include "core/suggest.hpp"

namespace dlscale {
namespace {

constexpr std::string_view unknown_word = "unknown";
constexpr std::string_view none_word = "none";

template <class Enum>
struct Word {
  Enum value;
  std::string_view name;
};

constexpr std::array<Word<HostMemory>, 2> host_memories{
    {{HostMemory::pinned, "pinned"}, {HostMemory::pageable, "pageable"}}};
constexpr std::array<Word<GradientPath>, 4> gradient_paths{
    {{GradientPath::all_reduce, "all_reduce"},
     {GradientPath::parameter_server, "parameter_server"},
     {GradientPath::replicated_copy, "replicated_copy"},
     {GradientPath::reduce_broadcast, "reduce_broadcast"}}};
constexpr std::array<Word<GradientLibrary>, 6> gradient_libraries{
    {{GradientLibrary::nccl, "nccl"},
     {GradientLibrary::mpi, "mpi"},
     {GradientLibrary::gloo, "gloo"},
     {GradientLibrary::grpc, "grpc"},
     {GradientLibrary::ps_lite, "ps_lite"},
     {GradientLibrary::copies, "copies"}}};
constexpr std::array<Word<UpdatePlace>, 2> update_places{
    {{UpdatePlace::worker, "worker"}, {UpdatePlace::server, "server"}}};
constexpr std::array<Word<Negotiation>, 2> negotiations{
    {{Negotiation::per_tensor, "per_tensor"}, {Negotiation::per_part, "per_part"}}};

template <class Enum, std::size_t N>
Enum value_of(std::string_view name, const std::array<Word<Enum>, N>& words) {
  std::vector<std::string> names;
  for (const Word<Enum>& word : words) {
    if (word.name == name) return word.value;
    names.emplace_back(word.name);
  }
  names.emplace_back(unknown_word);
  names.emplace_back(none_word);
  throw ConfigError(fmt::format("\"{}\" is not among the words for it. {}", shown_text(name),
                                suggestion(name, names)));
}

template <class Enum, std::size_t N>
std::string_view name_of(Enum value, const std::array<Word<Enum>, N>& words) {
  for (const Word<Enum>& word : words) {
    if (word.value == value) return word.name;
  }
  fail_expectation("a known word of a framework's profile");
}

template <class T, class Name>
std::string fact_text(const Fact<T>& fact, Name name) {
  if (fact.is_unknown()) return std::string(unknown_word);
  return fact.is_none() ? std::string(none_word) : std::string(name(fact.value()));
}

/// What `read` makes of a key that is neither unknown nor none.
template <class T, class Read>
Fact<T> read_fact(const ConfigMap& map, std::string_view key, Read read) {
  const std::string word = map.text(key);
  if (word == unknown_word) return Fact<T>::unknown();
  if (word == none_word) return Fact<T>::none();
  return Fact<T>::stated(read());
}

template <class Enum, std::size_t N>
Fact<Enum> read_words(const ConfigMap& map, std::string_view key,
                      const std::array<Word<Enum>, N>& words) {
  return read_fact<Enum>(map, key, [&] {
    try {
      return value_of(map.text(key), words);
    } catch (const ConfigError& error) {
      throw ConfigError(map.where(key) + ": " + error.what());
    }
  });
}

/// Says of a number that is refused that it need not be one.
template <class Q>
Fact<Q> read_quantity(const ConfigMap& map, std::string_view key) {
  return read_fact<Q>(map, key, [&] {
    try {
      return map.quantity<Q>(key);
    } catch (const ConfigError& error) {
      throw ConfigError(std::string(error.what()) +
                        " Or write unknown, or none where there is no such thing.");
    }
  });
}

constexpr std::array<std::string_view, 14> properties{
    "input_copy",   "gradients", "in_node",   "between_nodes",    "schedule",
    "first_bucket", "bucket",    "groups",    "fusion_threshold", "fusion_cycle",
    "partition",    "credit",    "update_on", "negotiation"};

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

std::vector<std::string_view> known_properties(const ConfigMap& map) {
  std::vector<std::string_view> known;
  for (const std::string_view key : properties) {
    if (map.text(key) != unknown_word) known.push_back(key);
  }
  return known;
}

std::vector<std::string> read_match(const ConfigMap& map) {
  std::vector<std::string> match;
  if (map.has("match")) match = map.texts("match");
  // Two letters are in nearly every text.
  if (std::any_of(match.begin(), match.end(), [](const auto& part) { return part.size() < 3; })) {
    map.refuse("match", "with a part of less than three letters", "Write a longer one.");
  }
  return match;
}

bool holds_in_any_case(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

}  // namespace

FrameworkProfile load_framework(std::string_view name) {
  const ConfigMap map = ConfigMap::load(find_config("frameworks", name));
  std::vector<std::string_view> keys{"framework", "name", "versions", "doc", "match", "sources"};
  keys.insert(keys.end(), properties.begin(), properties.end());
  map.allow_only(keys);
  FrameworkProfile profile;
  profile.id = map.text("framework");
  profile.name = map.text("name");
  profile.versions = map.text("versions");
  profile.doc = map.text_or("doc", "");
  profile.match = read_match(map);
  profile.input_copy = read_words(map, "input_copy", host_memories);
  profile.gradients = read_words(map, "gradients", gradient_paths);
  profile.in_node = read_words(map, "in_node", gradient_libraries);
  profile.between_nodes = read_words(map, "between_nodes", gradient_libraries);
  profile.schedule = read_fact<Schedule>(
      map, "schedule", [&] { return read_word(map, "schedule", parse_schedule); });
  read_sizes(map, profile);
  check_sizes(map, profile);
  profile.update_on = read_words(map, "update_on", update_places);
  profile.negotiation = read_words(map, "negotiation", negotiations);
  profile.sources = read_sources(map, known_properties(map));
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
                                       std::string_view text) {
  const FrameworkProfile* found = nullptr;
  std::size_t longest = 0;
  for (const FrameworkProfile& profile : profiles) {
    for (const std::string& part : profile.match) {
      if (part.size() < longest || !holds_in_any_case(text, part)) continue;
      const bool as_long = part.size() == longest && found != &profile;
      found = as_long ? nullptr : &profile;
      longest = part.size();
    }
  }
  return found;
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

std::string to_text(const Fact<UpdatePlace>& fact) {
  return fact_text(fact, [](UpdatePlace value) { return name_of(value, update_places); });
}

std::string to_text(const Fact<Negotiation>& fact) {
  return fact_text(fact, [](Negotiation value) { return name_of(value, negotiations); });
}

}  // namespace dlscale
