#include "regression/import/nccl_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/json_problem.hpp"
#include "regression/import/imports.hpp"
#include "regression/import/printed_json.hpp"

namespace dlscale::regression::history {
namespace {

using nlohmann::json;

const json& member(const json& parent, const char* name) {
  static const json none;
  const auto found = parent.is_object() ? parent.find(name) : parent.end();
  return parent.is_object() && found != parent.end() ? *found : none;
}

/// A value as one word; empty if it is missing. Numbers have all digits of the JSON, which are six
/// decimals.
std::string word_of(const json& value) {
  if (value.is_null()) return "";
  if (value.is_number_float()) return fmt::format("{:.6f}", value.get<double>());
  const std::string text = value_text(value);
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

bool is_true(const json& value) {
  return value.is_boolean() ? value.get<bool>() : value == "true";
}

/// A cell of a column that is as wide as any of its values.
std::string cell(const std::string& word) {
  return fmt::format(" {:>31}", word);
}

/// The time, or the processor's time, of a side.
const char* time_key(const json& side) {
  return side.contains("cpu_time") ? "cpu_time" : "time";
}

/// A missing side was not measured, and a missing number of wrong elements not counted.
std::string side_text(const json& side) {
  const auto number = [&side](const char* name, const char* missing) {
    const std::string word = word_of(member(side, name));
    return cell(word.empty() ? missing : word);
  };
  if (!side.is_object()) return cell("N/A") + cell("N/A") + cell("N/A") + cell("N/A");
  return number(time_key(side), "null") + number("alg_bw", "null") + number("bus_bw", "null") +
         number("nwrong", "N/A");
}

/// The value of an option among the arguments, as getopt_long() takes it; empty without it.
std::string option_of(const json& arguments, char letter, std::string_view name) {
  std::string value;
  const std::string short_name{'-', letter};
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string word = value_text(arguments[i]);
    const std::string next = i + 1 < arguments.size() ? value_text(arguments[i + 1]) : "";
    const std::string key = word.substr(0, word.find('='));
    constexpr std::size_t shortest = 4;  // two dashes and two letters
    const bool is_long = key.size() >= shortest && key.starts_with("--") &&
                         name.starts_with(std::string_view(key).substr(2));
    if (is_long) {
      value = key.size() < word.size() ? word.substr(key.size() + 1) : next;
    } else if (word.starts_with(short_name)) {
      value = word.size() > short_name.size() ? word.substr(short_name.size()) : next;
    }
  }
  return value;
}

/// JSON only says that there is a way to wait; the arguments say which.
std::string blocking_text(const json& arguments) {
  const std::string way = option_of(arguments, 'z', "blocking");
  if (way == "1") return "wait and barrier after each inner iteration (-m)";
  if (way == "2") return "wait after each inner iteration (-m), no barrier";
  if (way == "3") return "wait and barrier after each outer iteration (-n)";
  return "an unknown way";
}

std::string settings_text(const json& config, const json& arguments) {
  std::string text = "#";
  for (const auto& [words, name] :
       {std::pair("nThread", "nthreads"), std::pair("nGpus", "ngpus"),
        std::pair("agg iters:", "aggregated_iterations"), std::pair("graph:", "graph"),
        std::pair("per-iteration timing:", "per_iter_timing")}) {
    const std::string value = word_of(member(config, name));
    if (!value.empty()) text += fmt::format(" {} {}", words, value);
  }
  const std::string unalign = option_of(arguments, 'u', "unalign");
  return unalign.empty() ? text : text + " unalign: " + unalign;
}

/// The time at which a test began, in the form that all versions so far write.
std::string start_of(const json& document) {
  const std::string text = word_of(member(document, "start_time"));
  constexpr std::string_view form = "0000-00-00 00:00:00";
  if (text.size() != form.size()) return "";
  for (std::size_t i = 0; i < form.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (form[i] == '0' ? !is_digit : text[i] != form[i]) return "";
  }
  return text;
}

constexpr std::size_t most_ranks = 100'000;

std::size_t count_of(const json& value) {
  return value.is_number_unsigned() ? value.get<std::size_t>() : 1;
}

/// Ranks for each device listed, since nccl-tests lists the first rank of a process alone.
std::size_t ranks_for_each(const json& config) {
  const json& devices = member(config, "devices");
  std::set<std::string> processes;
  for (const json& device : devices) {
    processes.insert(word_of(member(device, "hostname")) + " " + word_of(member(device, "pid")));
  }
  if (processes.size() != devices.size()) return 1;
  const std::size_t threads = std::min(count_of(member(config, "nthreads")), most_ranks);
  return threads * std::min(count_of(member(config, "ngpus")), most_ranks);
}

class Lines {
 public:
  std::vector<LauncherLine> of(const json& document) && {
    const json& arguments = member(document, "args");
    const json& config = member(document, "config");
    add("# nccl-tests version nccl-library=" + word_of(member(document, "nccl_version")));
    if (arguments.is_array() && !arguments.empty()) {
      add("# Collective test starting: " + word_of(arguments[0]));
    }
    if (config.is_object()) add(settings_text(config, arguments));
    if (is_true(member(config, "blocking_collectives"))) {
      add("# Blocking Enabled: " + blocking_text(arguments));
    }
    add_ranks(config);
    add_results(document.at("results"));
    number_ = 0;
    if (const json& bounds = member(document, "out_of_bounds"); bounds.is_object()) {
      add(fmt::format("# Out of bounds values : {} {}", word_of(member(bounds, "count")),
                      is_true(member(bounds, "okay")) ? "OK" : "FAILED"));
    }
    const json& average = member(document, "average_bus_bandwidth");
    if (const json& okay = member(average, "okay"); okay == false || okay == "false") {
      add(fmt::format("# Avg bus bandwidth : {} FAILED", word_of(member(average, "bandwidth"))));
    }
    for (const json& error : member(document, "errors")) {
      if (!word_of(error).empty()) add("# error: " + word_of(error));
    }
    return std::move(lines_);
  }

 private:
  void add(std::string text) { lines_.push_back({number_, "", std::move(text)}); }

  /// The first rank of a process names its host and device. More ranks than any launch has end as
  /// a list that was cut.
  void add_ranks(const json& config) {
    const json& devices = member(config, "devices");
    const std::size_t for_each = ranks_for_each(config);
    const bool is_cut = devices.size() * for_each > most_ranks;
    std::size_t rank = 0;
    for (const json& device : devices) {
      const std::string number =
          for_each == 1 ? word_of(member(device, "rank")) : std::to_string(rank);
      add(fmt::format("# Rank {} Group {} Pid {} on {} device {} [{}] {}", number,
                      word_of(member(device, "group")), word_of(member(device, "pid")),
                      word_of(member(device, "hostname")), word_of(member(device, "device")),
                      word_of(member(device, "device_hex")),
                      word_of(member(device, "device_info"))));
      const std::size_t end = rank + (is_cut ? 1 : for_each);
      while (++rank < end) add(fmt::format("# Rank {}", rank));
    }
    if (is_cut) add("# Rank ...");
  }

  void add_results(const json& results) {
    const bool is_of_processor = std::ranges::any_of(results, [](const json& row) {
      return member(row, "out_of_place").contains("cpu_time") ||
             member(row, "in_place").contains("cpu_time");
    });
    const std::string side =
        cell(is_of_processor ? "cputime" : "time") + cell("algbw") + cell("busbw") + cell("#wrong");
    std::string headings = "#";
    for (const char* name : parameters) headings += cell(name);
    add(headings + side + side);
    for (const json& row : results) {
      ++number_;
      std::string text = " ";
      for (const char* name : parameters) text += cell(word_of(member(row, name)));
      add(text + side_text(member(row, "out_of_place")) + side_text(member(row, "in_place")));
    }
  }

  static constexpr std::array parameters{"size", "count", "type", "redop", "root"};
  std::size_t number_ = 0;
  std::vector<LauncherLine> lines_;
};

}  // namespace

NcclJsonText text_of_nccl_json(std::string_view content, std::vector<std::string>& notes) {
  PrintedJson printed = printed_json(content);
  notes.insert(notes.end(), printed.notes.begin(), printed.notes.end());
  const std::string strict = std::move(printed.text);
  expect_json_depth(strict);
  try {
    const json document = json::parse(strict);
    return {Lines().of(document), start_of(document)};
  } catch (const json::exception& error) {
    throw ConfigError(json_problem(error, strict));
  }
}

}  // namespace dlscale::regression::history
