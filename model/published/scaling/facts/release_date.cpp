#include "model/published/scaling/facts/release_date.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <string>

namespace dlscale::model::scaling {
namespace {

/// The first release of a version [releases of the projects' repositories].
struct Version {
  std::string_view framework;  ///< in lower case
  int first;
  int second;
  ReleaseMonth month;
};

constexpr std::array<Version, 68> versions{{
    {"torch", 0, 4, {2018, 4}},        {"torch", 1, 0, {2018, 12}},
    {"torch", 1, 1, {2019, 5}},        {"torch", 1, 2, {2019, 8}},
    {"torch", 1, 3, {2019, 10}},       {"torch", 1, 4, {2020, 1}},
    {"torch", 1, 5, {2020, 4}},        {"torch", 1, 6, {2020, 7}},
    {"torch", 1, 7, {2020, 10}},       {"torch", 1, 8, {2021, 3}},
    {"torch", 1, 9, {2021, 6}},        {"torch", 1, 10, {2021, 10}},
    {"torch", 1, 11, {2022, 3}},       {"torch", 1, 12, {2022, 6}},
    {"torch", 1, 13, {2022, 10}},      {"torch", 2, 0, {2023, 3}},
    {"torch", 2, 1, {2023, 10}},       {"torch", 2, 2, {2024, 1}},
    {"torch", 2, 3, {2024, 4}},        {"torch", 2, 4, {2024, 7}},
    {"torch", 2, 5, {2024, 10}},       {"torch", 2, 6, {2025, 1}},
    {"tensorflow", 1, 0, {2017, 2}},   {"tensorflow", 1, 1, {2017, 4}},
    {"tensorflow", 1, 2, {2017, 6}},   {"tensorflow", 1, 3, {2017, 8}},
    {"tensorflow", 1, 4, {2017, 11}},  {"tensorflow", 1, 5, {2018, 1}},
    {"tensorflow", 1, 6, {2018, 3}},   {"tensorflow", 1, 7, {2018, 3}},
    {"tensorflow", 1, 8, {2018, 4}},   {"tensorflow", 1, 9, {2018, 7}},
    {"tensorflow", 1, 10, {2018, 8}},  {"tensorflow", 1, 11, {2018, 9}},
    {"tensorflow", 1, 12, {2018, 11}}, {"tensorflow", 1, 13, {2019, 2}},
    {"tensorflow", 1, 14, {2019, 6}},  {"tensorflow", 1, 15, {2019, 10}},
    {"tensorflow", 2, 0, {2019, 9}},   {"tensorflow", 2, 1, {2020, 1}},
    {"tensorflow", 2, 2, {2020, 5}},   {"tensorflow", 2, 3, {2020, 7}},
    {"tensorflow", 2, 4, {2020, 12}},  {"tensorflow", 2, 5, {2021, 5}},
    {"tensorflow", 2, 6, {2021, 8}},   {"tensorflow", 2, 7, {2021, 11}},
    {"mxnet", 0, 10, {2017, 5}},       {"mxnet", 0, 11, {2017, 8}},
    {"mxnet", 0, 12, {2017, 10}},      {"mxnet", 1, 0, {2017, 12}},
    {"mxnet", 1, 1, {2018, 2}},        {"mxnet", 1, 2, {2018, 5}},
    {"mxnet", 1, 3, {2018, 9}},        {"mxnet", 1, 4, {2019, 2}},
    {"mxnet", 1, 5, {2019, 7}},        {"mxnet", 1, 6, {2020, 2}},
    {"mxnet", 1, 7, {2020, 8}},        {"mxnet", 1, 8, {2021, 3}},
    {"horovod", 0, 16, {2019, 2}},     {"horovod", 0, 18, {2019, 9}},
    {"horovod", 0, 19, {2020, 1}},     {"horovod", 0, 20, {2020, 9}},
    {"horovod", 0, 21, {2020, 11}},    {"horovod", 0, 22, {2021, 5}},
    {"horovod", 0, 23, {2021, 10}},    {"caffe", 0, 15, {2016, 6}},
    {"caffe", 0, 16, {2017, 2}},       {"cntk", 2, 0, {2017, 6}},
}};

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

/// Two numbers separated by a dot, and the rest of the text.
struct Numbers {
  int first;
  int second;
  std::size_t first_digits;
  std::size_t second_digits;
};

std::size_t digits_at_start(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  return static_cast<std::size_t>(end - text.begin());
}

/// A number of at most four digits, which fits an int.
std::optional<int> number(std::string_view digits) {
  if (digits.empty() || digits.size() > 4) return {};
  int value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

/// The numbers at the start of `text`: "21.05-tf1" gives 21 and 5.
std::optional<Numbers> numbers_at_start(std::string_view text) {
  const std::size_t first_digits = digits_at_start(text);
  if (first_digits >= text.size() || text[first_digits] != '.') return {};
  const std::string_view rest = text.substr(first_digits + 1);
  const std::size_t second_digits = digits_at_start(rest);
  const auto first = number(text.substr(0, first_digits));
  const auto second = number(rest.substr(0, second_digits));
  if (!first || !second) return {};
  return Numbers{*first, *second, first_digits, second_digits};
}

/// Container names consist of year and month with two digits each, from 16.12 on.
std::optional<ReleaseMonth> container(const Numbers& numbers) {
  const auto& [year, month, year_digits, month_digits] = numbers;
  const bool is_container = year_digits == 2 && month_digits == 2 && year >= 16 && year <= 39 &&
                            month >= 1 && month <= 12;
  if (!is_container) return {};
  return ReleaseMonth{2000 + year, month};
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(), [](char letter) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  });
  return small;
}

/// The word before a number: the letters before its spaces and signs.
std::string_view word_before(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" ,:=_-v");
  if (end == std::string_view::npos) return {};
  return text.substr(0, end + 1);
}

std::optional<ReleaseMonth> version(std::string_view before, const Numbers& numbers) {
  const std::string_view word = word_before(before);
  for (const Version& known : versions) {
    if (word.ends_with(known.framework) && known.first == numbers.first &&
        known.second == numbers.second) {
      return known.month;
    }
  }
  return {};
}

}  // namespace

std::optional<ReleaseMonth> stated_release(std::string_view text) {
  const std::string small = in_small_letters(text);
  const std::string_view all = small;
  std::optional<ReleaseMonth> latest;
  for (std::size_t at = 0; at < all.size(); ++at) {
    const bool in_number = at > 0 && (is_digit(all[at - 1]) || all[at - 1] == '.');
    if (!is_digit(all[at]) || in_number) continue;
    const auto numbers = numbers_at_start(all.substr(at));
    if (!numbers) continue;
    auto month = version(all.substr(0, at), *numbers);
    if (!month) month = container(*numbers);
    if (month && (!latest || *latest < *month)) latest = month;
  }
  return latest;
}

}  // namespace dlscale::model::scaling
