#include "core/network/file/layer_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/error.hpp"
#include "core/network/file/layer_reader.hpp"
#include "core/text/suggest.hpp"

namespace dlscale {
namespace {

constexpr IntegerRange number_range{0, 1 << 30};
constexpr IntegerRange repeat_range{1, 10'000};
constexpr std::size_t most_written_layers = 20'000;
/// Outputs that a layer or block reads. Nested blocks that read one twice double it at each level.
constexpr std::size_t most_inputs = 1'000;
/// The word by which layers of a block name what the block reads.
constexpr std::string_view before = "before";

/// A layer, or a block of layers, as the file has it.
struct Entry {
  std::string name;
  std::vector<std::string> from;  ///< as written; empty: what precedes
  LayerKind kind;                 ///< of a layer
  std::optional<int> repeat;      ///< of a block: its copies; none: one, whose name has no number
  std::vector<Entry> layers;      ///< of a block; empty: this is a layer
};

/// Reads entries, each block once, whatever its number of copies.
class Reader {
 public:
  std::vector<Entry> read(const ConfigMap& file, const NamedNumbers& numbers) {
    numbers_ = numbers;
    if (file.has("blocks")) define(file.map("blocks"));
    return read_list(file, numbers, "");
  }

 private:
  void define(const ConfigMap& blocks) {
    for (const std::string& name : blocks.keys()) {
      const ConfigMap map = blocks.map(name);
      map.allow_only({"with", "layers"});
      definitions_.emplace(name, map);
    }
  }

  /// The list "layers" of `map`. `inside` begins the titles of its entries.
  std::vector<Entry> read_list(const ConfigMap& map, const NamedNumbers& numbers,
                               const std::string& inside) {
    const auto shared = std::make_shared<const NamedNumbers>(numbers);
    std::vector<Entry> entries;
    for (ConfigMap& entry : map.maps("layers")) {
      if (++entries_ > most_written_layers) {
        throw ConfigError(
            fmt::format("{} brings the file's layers to more than {}, of which none "
                        "is known. Use blocks less often.",
                        map.where("layers"), most_written_layers));
      }
      entry.set_numbers(shared);
      entries.push_back(entry.has("block") ? read_block(entry, numbers, inside)
                                           : read_layer(entry, inside));
    }
    if (entries.empty() && !inside.empty()) {
      throw ConfigError(fmt::format("{} is empty. Write layers.", map.where("layers")));
    }
    return entries;
  }

  static Entry read_layer(ConfigMap& map, const std::string& inside) {
    Entry entry;
    if (map.has("name")) {
      map.set_title(fmt::format("{}layer \"{}\"", inside, map.name("name")));
    }
    entry.kind = read_kind(map);
    entry.name = map.name("name");
    if (map.has("from")) entry.from = map.texts("from");
    return entry;
  }

  Entry read_block(ConfigMap& map, const NamedNumbers& numbers, const std::string& inside) {
    Entry entry;
    entry.name = map.name("block");
    const std::string title = fmt::format("{}block \"{}\"", inside, entry.name);
    map.set_title(title);
    map.allow_only({"block", "of", "with", "repeat", "from", "layers"});
    if (map.has("repeat")) entry.repeat = map.integer("repeat", repeat_range);
    if (map.has("from")) entry.from = map.texts("from");
    if (map.has("of") == map.has("layers")) {
      throw ConfigError(
          fmt::format("{} needs either \"of\", the name of a block that the file "
                      "defines, or \"layers\" of its own. Write one of the two.",
                      map.where()));
    }
    if (map.has("with") && !map.has("of")) {
      map.refuse("with", "beside layers of its own", "Write the numbers where they are used.");
    }
    entry.layers = map.has("of") ? read_defined(map, numbers, title + ": ")
                                 : read_list(map, numbers, title + ": ");
    return entry;
  }

  std::vector<Entry> read_defined(const ConfigMap& map, const NamedNumbers& numbers,
                                  const std::string& inside) {
    const std::string name = map.text("of");
    const auto found = definitions_.find(name);
    if (found == definitions_.end()) {
      std::vector<std::string> names;
      for (const auto& [known, definition] : definitions_) names.push_back(known);
      map.refuse("of", "not a block that the file defines", suggestion(name, names));
    }
    if (++depth_ > most_nested) {
      map.refuse("of", "nested too deep", "A block must not contain itself.");
    }
    const ConfigMap& definition = found->second;
    const NamedNumbers given = read_given(map, definition, numbers);
    std::vector<Entry> entries =
        read_list(definition, read_numbers(definition, numbers_, given), inside);
    --depth_;
    return entries;
  }

  static constexpr int most_nested = 4;
  NamedNumbers numbers_;  ///< of the file
  std::map<std::string, ConfigMap, std::less<>> definitions_;
  int depth_ = 0;
  std::size_t entries_ = 0;
};

/// Writes blocks out and finds what each name stands for.
class Writer {
 public:
  std::vector<Network::Node> write(const std::vector<Entry>& entries) {
    Scope file;
    (void)write_list(entries, file, "input");
    return std::move(nodes_);
  }

 private:
  /// Names in one copy of a block, or in the file.
  struct Scope {
    const Scope* outer = nullptr;
    std::string prefix = {};
    std::vector<std::string> reads = {};              ///< what "before" stands for
    std::map<std::string, std::string> outputs = {};  ///< by name of a layer or block
  };

  /// The layers for which a name stands. A name from elsewhere stands for itself.
  [[nodiscard]] std::vector<std::string> resolve(const Scope& scope,
                                                 const std::string& name) const {
    for (const Scope* place = &scope; place != nullptr; place = place->outer) {
      const auto found = place->outputs.find(name);
      if (found != place->outputs.end()) return {found->second};
      if (names_.contains(place->prefix + name)) return {place->prefix + name};
      if (place->reads.empty()) continue;
      if (name == before) return place->reads;
      if (const auto one = one_of(place->reads, name)) return {*one};
    }
    return {name};
  }

  /// "before.0" is the first of what a block reads, and so on.
  static std::optional<std::string> one_of(const std::vector<std::string>& reads,
                                           const std::string& name) {
    for (std::size_t i = 0; i < reads.size(); ++i) {
      if (name == fmt::format("{}.{}", before, i)) return reads[i];
    }
    return std::nullopt;
  }

  [[nodiscard]] std::vector<std::string> inputs_of(const Entry& entry, const Scope& scope,
                                                   std::vector<std::string> previous) const {
    if (entry.from.empty()) return previous;
    std::vector<std::string> inputs;
    for (const std::string& name : entry.from) {
      for (std::string& input : resolve(scope, name)) inputs.push_back(std::move(input));
      if (inputs.size() > most_inputs) {
        throw ConfigError(
            fmt::format("{}{}: it reads more than {} outputs. Name fewer in \"from\".",
                        scope.prefix, entry.name, most_inputs));
      }
    }
    return inputs;
  }

  /// Returns the layer with the output of the last entry.
  std::vector<std::string> write_list(const std::vector<Entry>& entries, Scope& scope,
                                      std::vector<std::string> previous) {
    for (const Entry& entry : entries) {
      std::vector<std::string> inputs = inputs_of(entry, scope, previous);
      previous = {entry.layers.empty() ? write_layer(entry, scope, std::move(inputs))
                                       : write_block(entry, scope, std::move(inputs))};
      scope.outputs[entry.name] = previous.front();
    }
    return previous;
  }
  std::vector<std::string> write_list(const std::vector<Entry>& entries, Scope& scope,
                                      const char* previous) {
    return write_list(entries, scope, std::vector<std::string>{previous});
  }

  std::string write_layer(const Entry& entry, const Scope& scope, std::vector<std::string> inputs) {
    if (nodes_.size() >= most_written_layers) {
      throw ConfigError(fmt::format(
          "{}{}: with it, the network has more than {} layers, of which none is known. Repeat "
          "less.",
          scope.prefix, entry.name, most_written_layers));
    }
    Network::Node node{scope.prefix + entry.name, entry.kind, std::move(inputs)};
    if (const std::string owner(weights_of(entry.kind)); !owner.empty()) {
      set_weights_of(node.kind, resolve(scope, owner).front());
    }
    names_.insert(node.name);
    nodes_.push_back(std::move(node));
    return nodes_.back().name;
  }

  static void set_weights_of(LayerKind& kind, const std::string& owner) {
    if (auto* linear = std::get_if<Linear>(&kind)) linear->weights_of = owner;
    if (auto* embedding = std::get_if<Embedding>(&kind)) embedding->weights_of = owner;
  }

  std::string write_block(const Entry& entry, const Scope& scope, std::vector<std::string> inputs) {
    for (int copy = 0; copy < entry.repeat.value_or(1); ++copy) {
      const std::string number = entry.repeat ? std::to_string(copy) : "";
      Scope inner{&scope, fmt::format("{}{}{}.", scope.prefix, entry.name, number), inputs};
      inputs = write_list(entry.layers, inner, inputs);
    }
    return inputs.front();
  }

  std::vector<Network::Node> nodes_;
  std::unordered_set<std::string> names_;  ///< of nodes_
};

}  // namespace

NamedNumbers read_given(const ConfigMap& use, const ConfigMap& owner, const NamedNumbers& names) {
  NamedNumbers given;
  if (!use.has("with")) return given;
  ConfigMap with = use.map("with");
  const std::vector<std::string> known =
      owner.has("with") ? owner.map("with").keys() : std::vector<std::string>();
  with.set_numbers(std::make_shared<const NamedNumbers>(names));
  for (const std::string& name : with.keys()) {
    if (std::ranges::find(known, name) == known.end()) {
      throw ConfigError(
          fmt::format("{} is not a known key. {}", with.where(name), suggestion(name, known)));
    }
    given[name] = with.integer(name, number_range);
  }
  return given;
}

NamedNumbers read_numbers(const ConfigMap& owner, const NamedNumbers& outer,
                          const NamedNumbers& given) {
  if (!owner.has("with")) return outer;
  const auto numbers = std::make_shared<NamedNumbers>(outer);
  ConfigMap with = owner.map("with");
  with.set_numbers(numbers);
  for (const std::string& name : with.keys()) {
    if (!is_number_name(name)) {
      throw ConfigError(
          fmt::format("{} has a name that no expression could use. Write a letter, then letters, "
                      "digits and _.",
                      with.where(name)));
    }
    const auto found = given.find(name);
    const int value = found == given.end() ? with.integer(name, number_range) : found->second;
    (*numbers)[name] = value;
  }
  return *numbers;
}

std::vector<Network::Node> read_layers(const ConfigMap& file, const NamedNumbers& numbers) {
  return Writer().write(Reader().read(file, numbers));
}

}  // namespace dlscale
