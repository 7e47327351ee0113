#pragma once
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "model/fits/piecewise.hpp"

/// Reading of the values of a machine file: each knows its place, which errors name. Used by
/// machine_read.cpp and machine_links.cpp only.
namespace dlscale::model::machine_file {

/// A value with its place, "machine.json: /cluster/nodes", for errors.
class Value {
 public:
  Value(const nlohmann::json& json, std::string place) : json_(&json), place_(std::move(place)) {}

  [[noreturn]] void fail(const std::string& problem) const {
    throw ConfigError(fmt::format("{} {}. Calibrate the machine again.", place_, problem));
  }
  [[nodiscard]] std::string text() const {
    if (!json_->is_string()) fail("is not text");
    return json_->get<std::string>();
  }
  [[nodiscard]] bool boolean() const {
    if (!json_->is_boolean()) fail("is neither true nor false");
    return json_->get<bool>();
  }
  [[nodiscard]] int integer(int least) const {
    if (!json_->is_number_integer()) fail("is not an integer");
    const double value = json_->get<double>();  // valid for any integer, however large
    if (value < least || value > 1e9) fail(fmt::format("is {}, out of [{}, 1e9]", value, least));
    return static_cast<int>(value);
  }
  /// A number in [0, 1e31]: no quantity of a machine is negative, and all results stay finite.
  [[nodiscard]] double number() const {
    if (!json_->is_number()) fail("is not a number");
    const double value = json_->get<double>();
    if (!(value >= 0 && value <= 1e31)) fail(fmt::format("is {}, out of [0, 1e31]", value));
    return value;
  }
  /// A rate in bytes or operations a second, used as a divisor: 0 (unknown) or ≥ 1e-3.
  [[nodiscard]] double rate() const {
    const double value = number();
    if (value > 0 && value < 1e-3) fail(fmt::format("is {}, too small", value));
    return value;
  }
  /// A finite number.
  [[nodiscard]] double signed_number() const {
    if (!json_->is_number()) fail("is not a number");
    const double value = json_->get<double>();
    if (!std::isfinite(value)) fail(fmt::format("is {}, out of range", value));
    return value;
  }
  [[nodiscard]] std::vector<Value> elements() const {
    if (!json_->is_array()) fail("is not a list");
    std::vector<Value> result;
    for (std::size_t i = 0; i < json_->size(); ++i) {
      result.emplace_back((*json_)[i], below(std::to_string(i)));
    }
    return result;
  }
  [[nodiscard]] std::vector<std::pair<std::string, Value>> members() const {
    if (!json_->is_object()) fail("is not an object");
    std::vector<std::pair<std::string, Value>> result;
    for (const auto& [key, value] : json_->items()) {
      result.emplace_back(key, Value(value, below(key)));
    }
    return result;
  }

 private:
  [[nodiscard]] std::string below(std::string_view key) const {
    return fmt::format("{}{}/{}", place_, place_.back() == ':' ? " " : "", key);
  }

  const nlohmann::json* json_;
  std::string place_;
};

/// The members of an object, each read once; done() rejects members that were not read.
class Object {
 public:
  explicit Object(const Value& value) : value_(value) {
    for (auto& [key, member] : value.members()) members_.emplace(key, member);
  }
  Value take(const std::string& key) {
    const auto found = members_.find(key);
    if (found == members_.end()) value_.fail(fmt::format("has no \"{}\"", key));
    Value result = found->second;
    members_.erase(found);
    return result;
  }
  [[nodiscard]] bool has(const std::string& key) const { return members_.contains(key); }
  void done() const {
    if (!members_.empty()) {
      value_.fail(fmt::format("has \"{}\", which is unknown", members_.begin()->first));
    }
  }
  [[noreturn]] void fail(const std::string& problem) const { value_.fail(problem); }

 private:
  Value value_;
  std::map<std::string, Value> members_;
};

template <class Q>
Estimate<Q> read_estimate(const Value& value) {
  Object object(value);
  const Estimate<Q> result{Q(object.take("value").number()), Q(object.take("low").number()),
                           Q(object.take("high").number())};
  object.done();
  if (result.low > result.value || result.value > result.high) {
    value.fail("has its value outside of [low, high]");
  }
  return result;
}

/// A word that `parse` knows.
template <class Enum>
Enum read_word(const Value& value, Enum (*parse)(std::string_view)) {
  const std::string word = value.text();
  try {
    return parse(word);
  } catch (const ConfigError& error) {
    value.fail(fmt::format("is wrong: {}", error.what()));
  }
}

template <class T>
std::vector<T> read_list(const Value& value, T (*read)(const Value&)) {
  std::vector<T> result;
  for (const Value& element : value.elements()) result.push_back(read(element));
  return result;
}

}  // namespace dlscale::model::machine_file
