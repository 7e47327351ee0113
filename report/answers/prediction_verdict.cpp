#include "report/answers/prediction_verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/units.hpp"
#include "core/results/json_count.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/answers/answer_json.hpp"
#include "report/table/interval.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {
namespace {

/// Samples a second on so many ranks.
struct RateOfRanks {
  int ranks = 1;
  double rate = 0;
  std::optional<double> low = {};
  std::optional<double> high = {};
  /// "456 images/s (90 % interval 382 to 545)".
  [[nodiscard]] std::string text(const std::string& samples) const {
    const std::string ends =
        low && high ? "90 % interval " + from_to(rate_text(*low), rate_text(*high)) : "no interval";
    return fmt::format("{} {}/s ({})", rate_text(rate), samples, ends);
  }
};

/// Whether even the high end of `one` is below the low end of `other`.
bool is_surely_slower(const RateOfRanks& one, const RateOfRanks& other) {
  return one.high && other.low && *one.high < *other.low;
}

RateOfRanks rate_of_ranks(const Json& row) {
  const double rate = row.at("images_per_s").get<double>();
  const auto at = [&](const char* end) -> std::optional<double> {
    const auto time = number_in(row, end);
    if (!time || !(*time > 0)) return {};
    return rate * iteration_of(row) / *time;
  };
  return {json_count<int>(row.at("run").at("ranks"), "ranks"), rate, at("t_iter_high_s"),
          at("t_iter_low_s")};
}

/// The fastest row for each number of ranks over the links of `best`, by ranks.
std::vector<RateOfRanks> rates_by_ranks(const Json& rows, const Json& best) {
  const auto links_of = [](const Json& row) { return row.value("inter_node", Json(nullptr)); };
  const Json links = links_of(best);
  std::map<int, RateOfRanks> fastest;
  for (const Json& row : rows) {
    if (links_of(row) != links) continue;
    const RateOfRanks one = rate_of_ranks(row);
    const auto [known, is_first] = fastest.try_emplace(one.ranks, one);
    if (!is_first && one.rate > known->second.rate) known->second = one;
  }
  std::vector<RateOfRanks> rates;
  for (const auto& [ranks, one] : fastest) rates.push_back(one);
  return rates;
}

/// The fastest number of ranks of those that more ranks surely slow down, and the first of these.
std::optional<std::pair<RateOfRanks, RateOfRanks>> slow_down(
    const std::vector<RateOfRanks>& rates) {
  const RateOfRanks* from = nullptr;
  std::optional<double> least_high;
  for (auto one = rates.rbegin(); one != rates.rend(); ++one) {
    const bool slows = least_high && one->low && *least_high < *one->low;
    if (slows && (from == nullptr || one->rate > from->rate)) from = &*one;
    if (one->high) least_high = std::min(least_high.value_or(*one->high), *one->high);
  }
  if (from == nullptr) return {};
  const auto slower = std::find_if(rates.begin(), rates.end(), [from](const RateOfRanks& one) {
    return one.ranks > from->ranks && is_surely_slower(one, *from);
  });
  return std::pair(*from, *slower);
}

/// Says which more ranks than the fastest number are slower, or where else they slow a training
/// down; empty if the rate grows with the ranks, or may.
std::string scaling_sentence(const std::vector<RateOfRanks>& rates, const RateOfRanks& top,
                             const std::string& samples) {
  const auto more =
      std::ranges::upper_bound(rates, top.ranks, std::ranges::less(), &RateOfRanks::ranks);
  if (more == rates.end()) {
    const auto drop = slow_down(rates);
    if (!drop) return "";
    return fmt::format(" From {} to {} ranks it slows down: from {} to {}.", drop->first.ranks,
                       drop->second.ranks, drop->first.text(samples), drop->second.text(samples));
  }
  const auto is_slower = [&top](const RateOfRanks& one) { return is_surely_slower(one, top); };
  if (std::all_of(more, rates.end(), is_slower)) {
    return fmt::format(" More ranks slow it down: {} reach {}.", more->ranks, more->text(samples));
  }
  const auto slower = std::find_if(more, rates.end(), is_slower);
  if (slower == rates.end()) return "";
  return fmt::format(" {} ranks slow it down, to {}.", slower->ranks, slower->text(samples));
}

/// "4 or 16", "4 to 8": the numbers of ranks that their intervals do not tell from the fastest.
std::string as_fast_text(const std::vector<RateOfRanks>& rates, const RateOfRanks& top) {
  std::vector<int> alike;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (is_surely_slower(rates[i], top)) continue;
    alike.push_back(rates[i].ranks);
    places.push_back(i);
  }
  if (alike.size() > 2 && places.back() - places.front() + 1 == alike.size()) {
    return fmt::format("{} to {}", alike.front(), alike.back());
  }
  const int last = alike.back();
  alike.pop_back();
  return alike.empty() ? std::to_string(last)
                       : fmt::format("{} or {}", fmt::join(alike, ", "), last);
}

/// The beginning of a verdict, up to the iteration. It calls a number of ranks the fastest only if
/// more were asked about, and beside those that may be as fast.
std::string opening_of(const std::vector<RateOfRanks>& rates, const RateOfRanks& top,
                       const std::string& place, const std::string& rate,
                       const std::string& slower) {
  if (rates.back().ranks == top.ranks) return fmt::format("{} on {}{}:", rate, place, slower);
  const std::string fastest = as_fast_text(rates, top);
  if (fastest == std::to_string(top.ranks)) {
    return fmt::format("Fastest on {}: {}{},", place, rate, slower);
  }
  return fmt::format(
      "Fastest on {} ranks, which their intervals do not tell apart: {} reach{} {}{},", fastest,
      place, top.ranks == 1 ? "es" : "", rate, slower);
}

/// " Batch 512 needs about 60.5 GB of …": a note on memory, as a sentence; empty where it fits.
std::string memory_sentence(const Json& row) {
  const auto notes = row.find("notes");
  if (notes == row.end()) return "";
  for (const Json& note : *notes) {
    if (note.at("kind") != "memory_short" && note.at("kind") != "memory_too_small") continue;
    auto text = note.at("text").get<std::string>();
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    return fmt::format(" {}.", text);
  }
  return "";
}

/// The choices of `best` in which rows differ: " with 64 images each, schedule bucketed".
std::string choices_of(const Json& rows, const Json& best) {
  std::string text;
  const auto add = [&](const char* object, const char* key, auto words) {
    const auto value_of = [&](const Json& row) {
      const auto found = row.find(object);
      return found == row.end() || found->is_null() ? Json(nullptr) : found->value(key, Json());
    };
    const Json own = value_of(best);
    const auto differs = [&](const Json& row) { return value_of(row) != own; };
    if (own.is_null() || std::none_of(rows.begin(), rows.end(), differs)) return;
    text += words(own);
  };
  add("run", "batch", [&](const Json& batch) {
    return fmt::format(" with {} {} each", batch.dump(), samples_of(best));
  });
  for (const char* key : {"schedule", "synchronisation", "sharding"}) {
    add("run", key,
        [key](const Json& word) { return fmt::format(", {} {}", key, word.get<std::string>()); });
  }
  add("run", "bucket_bytes", [](const Json& bytes) {
    return fmt::format(", buckets of {}", to_text(Bytes(bytes.get<double>())));
  });
  add("run", "servers",
      [](const Json& servers) { return ", " + counted(servers.get<long long>(), "server"); });
  add("inter_node", "bandwidth_bytes_per_s", [](const Json& rate) {
    return fmt::format(", {} between nodes", to_text(BytesPerSecond(rate.get<double>())));
  });
  add("inter_node", "latency_s", [](const Json& latency) {
    return fmt::format(", start-up {}", to_text(Seconds(latency.get<double>())));
  });
  return text;
}

/// ", slower than one rank (132 images/s)" if even the high end of the speed-up is below 1.
std::string slower_clause(const Json& row, const std::string& samples) {
  const auto high = number_in(row, "speedup_high");
  if (!high || *high >= 1) return "";
  const double alone = row.at("images_per_s").get<double>() / row.at("speedup").get<double>();
  return fmt::format(", slower than one rank ({} {}/s)", rate_text(alone), samples);
}

}  // namespace

std::string samples_of(const Json& row) {
  const auto tokens = row.find("tokens_per_s");
  return tokens != row.end() && tokens->is_number() ? "sequences" : "images";
}

std::string ranks_of(const Json& row) {
  return counted(json_count<int>(row.at("run").at("ranks"), "ranks"), "rank");
}

std::string iteration_interval(const Json& row) {
  const auto low = number_in(row, "t_iter_low_s");
  const auto high = number_in(row, "t_iter_high_s");
  if (!low || !high) return "";
  return from_to(to_text(Seconds(*low)), to_text(Seconds(*high)));
}

std::string rate_interval(const Json& row) {
  const RateOfRanks rate = rate_of_ranks(row);
  return rate.low && rate.high ? from_to(rate_text(*rate.low), rate_text(*rate.high)) : "";
}

double iteration_of(const Json& row) {
  return row.at("time").at("t_iter_s").get<double>();
}

std::string prediction_verdict(const Json& rows, const Json& best) {
  const std::vector<RateOfRanks> rates = rates_by_ranks(rows, best);
  const RateOfRanks top = rate_of_ranks(best);
  const std::string samples = samples_of(best);
  const std::string rate = fmt::format("{} {}/s", rate_text(top.rate), samples);
  const std::string place = ranks_of(best) + choices_of(rows, best);
  const std::string interval = iteration_interval(best);
  return fmt::format("{} an iteration takes {}{}, bound by {}.{}{}",
                     opening_of(rates, top, place, rate, slower_clause(best, samples)),
                     to_text(Seconds(iteration_of(best))),
                     interval.empty() ? "" : fmt::format(" (90 % interval {})", interval),
                     best.at("bound").get<std::string>(), memory_sentence(best),
                     scaling_sentence(rates, top, samples));
}

}  // namespace dlscale::report
