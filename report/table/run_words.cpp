#include "report/table/run_words.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::report {

namespace {

bool by_server(const Run& run) {
  return run.synchronisation == Synchronisation::parameter_server;
}

/// Names and values of the run's unusual settings.
std::vector<std::string> unusual_settings(const Run& run) {
  const ScheduleSettings usual;
  const ScheduleSettings& settings = run.settings;
  std::vector<std::string> texts;
  const auto add = [&texts](std::string_view name, const auto& value, const auto& other) {
    if (value != other) texts.push_back(fmt::format("{} {}", name, to_text(value)));
  };
  if (run.schedule == Schedule::horovod) {
    add("cycle", settings.cycle, usual.cycle);
    add("fusion threshold", settings.fusion_threshold, usual.fusion_threshold);
  }
  if (has_buckets(run.schedule)) {
    add("bucket", settings.bucket, usual.bucket);
    if (settings.first_bucket != settings.bucket) {
      add("first bucket", settings.first_bucket, usual.first_bucket);
    }
  }
  if (run.schedule == Schedule::priority) {
    add("partition", settings.partition, usual.partition);
    if (settings.credit != usual.credit) {
      texts.push_back(fmt::format("credit {}", settings.credit));
    }
  }
  if (by_server(run) && settings.servers != usual.servers) {
    texts.push_back(counted(settings.servers, "server"));
  }
  if (by_server(run) && settings.sharding != usual.sharding) {
    texts.push_back(fmt::format("sharding {}", sharding_name(settings.sharding)));
  }
  if (by_server(run) && settings.transport != usual.transport) {
    texts.push_back(fmt::format("transport {}", transport_name(settings.transport)));
  }
  if (by_server(run) && settings.callers != usual.callers) {
    texts.push_back(fmt::format("callers {}", callers_name(settings.callers)));
  }
  return texts;
}

}  // namespace

std::string_view phase_word(std::string_view series) {
  for (const Phase& phase : iteration_phases) {
    if (phase.series == series) return phase.word;
  }
  return series == "t_iter" ? "iteration" : series;
}

std::string schedule_text(const Run& run) {
  std::string text(schedule_name(run.schedule));
  if (by_server(run)) text += " by parameter server";
  const std::vector<std::string> settings = unusual_settings(run);
  if (!settings.empty()) text += fmt::format(" ({})", fmt::join(settings, ", "));
  return text;
}

std::string ranks_among(const std::set<int>& ranks, const std::set<int>& all) {
  std::vector<std::string> texts;
  std::vector<int> run;
  const auto end_run = [&] {
    constexpr std::size_t least = 3;
    if (run.size() >= least) {
      texts.push_back(fmt::format("{} to {}", run.front(), run.back()));
    } else {
      for (const int each : run) texts.push_back(std::to_string(each));
    }
    run.clear();
  };
  for (const int each : all) {
    if (ranks.contains(each)) {
      run.push_back(each);
    } else {
      end_run();
    }
  }
  end_run();
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string rate_text(double rate) {
  if (rate < 1000) return significant(rate, 3);
  const double digit = std::pow(10, std::floor(std::log10(rate)) - 2);
  return grouped(std::llround(rate / digit) * std::llround(digit));
}

}  // namespace dlscale::report
