#include "core/run/compute_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "core/base/error.hpp"
#include "core/run/phrase_match.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/words.hpp"

namespace dlscale {
namespace {

constexpr NumberRange years{2000, 2100};
constexpr NumberRange shares{0.01, 1};
constexpr IntegerRange token_counts{1, 1'000'000};

constexpr Words<NetworkFamily, 2> families{
    {{NetworkFamily::cnn, "cnn"}, {NetworkFamily::transformer, "transformer"}}};
constexpr Words<ElementWidth, 2> widths{
    {{ElementWidth::four_bytes, "four_bytes"}, {ElementWidth::two_bytes, "two_bytes"}}};

NetworkFamily parse_family(std::string_view name) {
  return value_of("kind of network", name, families);
}

ElementWidth parse_width(std::string_view name) {
  return value_of("width of elements", name, widths);
}

ImageLayout parse_layout(std::string_view name) {
  return parse_word("layout", name, all_image_layouts, image_layout_name);
}

Elementwise parse_elementwise(std::string_view name) {
  return parse_word("kind of fusion", name, all_elementwise, elementwise_name);
}

UpdateKernels parse_update(std::string_view name) {
  return parse_word("kind of update", name, all_update_kernels, update_kernels_name);
}

Optimizer parse_optimizer(std::string_view name) {
  return parse_word("optimizer", name, all_optimizers, optimizer_name);
}

DecodedTokens parse_head(std::string_view name) {
  return parse_word("kind of head", name, all_decoded_tokens, decoded_tokens_name);
}

AlgorithmSearch parse_search(std::string_view name) {
  return parse_word("choice of algorithms", name, all_algorithm_searches, algorithm_search_name);
}

/// The value of a word; nothing where the file says `absent`.
template <class Enum>
std::optional<Enum> read_unless(std::string_view absent, const ConfigMap& map, std::string_view key,
                                Enum (*parse)(std::string_view)) {
  if (map.text(key) == absent) return std::nullopt;
  return read_word(map, key, parse);
}

/// Replaces a value that the file states.
template <class Enum>
void read_if_stated(const ConfigMap& map, std::string_view key, Enum (*parse)(std::string_view),
                    Enum& value) {
  if (map.has(key)) value = read_word(map, key, parse);
}

/// Whether the file says `other` where it may say `usual`, or nothing.
bool read_either(const ConfigMap& map, std::string_view key, std::string_view usual,
                 std::string_view other) {
  const std::string word = map.text_or(key, usual);
  if (word == other) return true;
  if (word != usual) {
    map.refuse(key, "an unknown word", fmt::format("Write {} or {}.", usual, other));
  }
  return false;
}

void check_family(const ConfigMap& map, const ComputeRow& row) {
  if (!row.traits.elementwise || *row.traits.elementwise == Elementwise::all) return;
  const bool of_cnns = *row.traits.elementwise <= Elementwise::norm_act;
  if (of_cnns == (row.networks == NetworkFamily::cnn)) return;
  map.refuse("elementwise", "a word about other networks",
             of_cnns ? "Write primitive, kernels, all or epilogue."
                     : "Write separate, pointwise, norm_act or all.");
}

void read_tokens(const ConfigMap& map, ComputeTraits& traits) {
  traits.tokens = map.number_or("tokens", traits.tokens, shares);
  traits.tokens_of_sequence = map.integer_or("tokens_of_sequence", 0, token_counts);
  traits.tokens_from_batch = map.integer_or("tokens_from_batch", 0, token_counts);
}

ComputeTraits read_traits(const ConfigMap& map, NetworkFamily family) {
  ComputeTraits traits = usual_traits(family);
  traits.stated = true;
  if (family == NetworkFamily::cnn || map.has("layout")) {
    traits.layout = read_unless("unknown", map, "layout", parse_layout);
  }
  traits.elementwise = read_unless("unknown", map, "elementwise", parse_elementwise);
  read_if_stated(map, "update", parse_update, traits.update);
  read_if_stated(map, "optimizer", parse_optimizer, traits.optimizer);
  read_if_stated(map, "head", parse_head, traits.head);
  read_if_stated(map, "search", parse_search, traits.search);
  traits.libraries = map.number_or("libraries", traits.libraries, years);
  traits.float_math = read_either(map, "math", "half", "float");
  traits.fused_attention = read_either(map, "attention", "unfused", "fused");
  traits.master_weights = !read_either(map, "weights", "master", "half");
  traits.frozen_norm = read_either(map, "norm", "trained", "frozen");
  traits.input_gradient = map.flag_or("input_gradient", false);
  traits.first_1x1_strided = read_either(map, "variant", "v1.5", "v1");
  read_tokens(map, traits);
  return traits;
}

ComputeRow read_row(const ConfigMap& map) {
  map.allow_only({"networks",
                  "network",
                  "match",
                  "width",
                  "layout",
                  "elementwise",
                  "update",
                  "libraries",
                  "optimizer",
                  "head",
                  "search",
                  "math",
                  "attention",
                  "weights",
                  "norm",
                  "input_gradient",
                  "variant",
                  "tokens",
                  "tokens_of_sequence",
                  "tokens_from_batch",
                  "source"});
  ComputeRow row;
  row.match = read_phrases(map, "match");
  row.networks = read_word(map, "networks", parse_family);
  row.network = map.text_or("network", "");
  if (map.has("width")) row.width = read_word(map, "width", parse_width);
  row.traits = read_traits(map, row.networks);
  row.source = map.name("source");
  check_family(map, row);
  return row;
}

}  // namespace

std::vector<ComputeRow> read_compute(const ConfigMap& map) {
  std::vector<ComputeRow> rows;
  if (!map.has("compute")) return rows;
  for (const ConfigMap& row : map.maps("compute")) rows.push_back(read_row(row));
  return rows;
}

}  // namespace dlscale
