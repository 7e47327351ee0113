#include "model/communication/message_judge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/remedy.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::model {
namespace {

Half half_of(const MessageSample& sample) {
  return sample.half.value_or(half_of_size(sample.bytes));
}

/// The largest number of ranks in the fit of a family.
int most_ranks_of(const MessageFamily& family, int wanted) {
  if (wanted > 0) return wanted;
  std::set<int> ranks;
  for (const MessageSample& sample : family.samples) ranks.insert(sample.layout.ranks);
  if (ranks.size() > 1) ranks.erase(std::prev(ranks.end()));
  return ranks.empty() ? 0 : *ranks.rbegin();
}

bool is_seen(const MessageSample& sample, int most_ranks) {
  return sample.layout.ranks <= most_ranks && half_of(sample) == Half::training;
}

/// The family without the held-out samples.
MessageFamily training_part(const MessageFamily& family, int most_ranks) {
  MessageFamily part = family;
  std::erase_if(part.samples,
                [&](const MessageSample& sample) { return !is_seen(sample, most_ranks); });
  return part;
}

FamilyJudgement judge(const MessageFamily& family, AlgorithmFit fit, int most_ranks) {
  FamilyJudgement judgement{family, std::move(fit), most_ranks, {}, 0};
  for (const MessageSample& sample : family.samples) {
    if (is_seen(sample, most_ranks)) continue;
    auto prediction = predict_message(judgement.fit, sample.layout, sample.bytes);
    if (!prediction) {
      ++judgement.not_judged;
      continue;
    }
    judgement.messages.push_back(
        {sample, sample.layout.ranks > most_ranks ? HeldOut::ranks : HeldOut::sizes,
         std::move(*prediction), straight_line(judgement.fit, sample.layout, sample.bytes)});
  }
  return judgement;
}

}  // namespace

MessageErrors errors_of(std::span<const JudgedMessage* const> messages) {
  EXPECT(!messages.empty());
  MessageErrors result;
  result.messages = static_cast<int>(messages.size());
  std::vector<double> errors;
  std::vector<double> sizes;
  std::vector<double> naive;
  for (const JudgedMessage* judged : messages) {
    errors.push_back(judged->error());
    sizes.push_back(std::abs(judged->error()));
    naive.push_back(std::abs(judged->naive_error()));
    result.sizes_extrapolated += judged->prediction.sizes_extrapolated ? 1 : 0;
  }
  result.bias = median(errors);
  result.median = median(sizes);
  result.p90 = quantile(sizes, 0.9);
  result.naive_median = median(naive);
  result.naive_p90 = quantile(naive, 0.9);
  return result;
}

MessageJudgement judge_messages(std::span<const MessageFamily> families, int most_ranks) {
  MessageJudgement judgement;
  for (const MessageFamily& family : families) {
    const int most = most_ranks_of(family, most_ranks);
    const auto leave_out = [&](std::string_view why) {
      judgement.left_out.push_back(fmt::format("{} ({}): {}", family.name(), family.source, why));
    };
    auto fit = fit_algorithm(training_part(family, most));
    if (!fit) {
      leave_out("nowhere are there 2 sizes to fit to, or no closed form of it is known");
      continue;
    }
    FamilyJudgement judged = judge(family, std::move(*fit), most);
    if (judged.messages.empty()) {
      leave_out("of what was not fitted nothing can be predicted");
      continue;
    }
    judgement.families.push_back(std::move(judged));
  }
  if (judgement.families.empty()) {
    throw RemediableError(
        fmt::format("no messages among the results can be judged{}{}. Measure more sizes, and on "
                    "several numbers of ranks.",
                    judgement.left_out.empty() ? "" : ": ", fmt::join(judgement.left_out, "; ")),
        {.subject = "comm", .ranks = 4});
  }
  return judgement;
}

}  // namespace dlscale::model
