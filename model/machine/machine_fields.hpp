#pragma once
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

/// Machine files: what describes a structure by its keys, once, both reads and writes it. Used by
/// machine_file.cpp only.
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
  /// The place below this one, for errors.
  [[nodiscard]] Value at(std::string_view key) const { return {*json_, below(key)}; }
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

/// Both follow `describe(file, structure)`, of which each kind of structure has one.
template <class T>
T read(const Value& value);
template <class T>
nlohmann::ordered_json write(const T& value);

/// Fills a structure from the members of an object. Each is read once; done() rejects members that
/// were not read. Values are as Value says, integers ≥ `least`.
class Reader {
 public:
  static constexpr bool reads = true;

  explicit Reader(const Value& value) : value_(value) {
    for (auto& [key, member] : value.members()) members_.emplace(key, member);
  }
  Value take(const std::string& key) {
    const auto found = members_.find(key);
    if (found == members_.end()) value_.fail(fmt::format("has no \"{}\"", key));
    Value result = found->second;
    members_.erase(found);
    return result;
  }
  void done() const {
    if (!members_.empty()) {
      value_.fail(fmt::format("has \"{}\", which is unknown", members_.begin()->first));
    }
  }
  /// Whether an optional key is there.
  [[nodiscard]] bool has(const std::string& key, bool) const { return members_.contains(key); }
  void require(bool holds, const std::string& key, const std::string& problem) const {
    if (!holds) at(key).fail(problem);
  }
  /// A place in the object, for errors.
  [[nodiscard]] Value at(const std::string& key) const { return value_.at(key); }

  void text(const char* key, std::string& to) { to = take(key).text(); }
  void boolean(const char* key, bool& to) { to = take(key).boolean(); }
  void integer(const char* key, int& to, int least) { to = take(key).integer(least); }
  void signed_number(const char* key, double& to) { to = take(key).signed_number(); }
  template <class Q>
  void number(const char* key, Q& to) {
    to = Q(take(key).number());
  }
  template <class Q>
  void rate(const char* key, Q& to) {
    to = Q(take(key).rate());
  }
  /// A word that `parse` knows.
  template <class Enum>
  void word(const char* key, Enum& to, std::string_view (*)(Enum),
            Enum (*parse)(std::string_view)) {
    const Value value = take(key);
    try {
      to = parse(value.text());
    } catch (const ConfigError& error) {
      value.fail(fmt::format("is wrong: {}", error.what()));
    }
  }
  template <class T>
  void object(const char* key, T& to) {
    to = read<T>(take(key));
  }
  template <class T>
  void list(const char* key, std::vector<T>& to) {
    to.clear();
    for (const Value& element : take(key).elements()) to.push_back(read<T>(element));
  }
  /// By name, such as libraries.
  template <class T>
  void map(const char* key, std::map<std::string, T>& to) {
    for (const auto& [name, value] : take(key).members()) to[name] = read<T>(value);
  }
  /// A structure that is there or not.
  template <class T>
  void optional(const char* key, std::optional<T>& to) {
    if (has(key, false)) object(key, to.emplace());
  }

 private:
  Value value_;
  std::map<std::string, Value> members_;
};

/// Writes a structure as an object, with its keys in order.
class Writer {
 public:
  static constexpr bool reads = false;

  nlohmann::ordered_json json = nlohmann::ordered_json::object();

  [[nodiscard]] bool has(const std::string&, bool present) const { return present; }
  void require(bool, const std::string&, const std::string&) const {}

  void text(const char* key, const std::string& from) { json[key] = from; }
  void boolean(const char* key, bool from) { json[key] = from; }
  void integer(const char* key, int from, int) { json[key] = from; }
  void signed_number(const char* key, double from) { json[key] = finite(from); }
  template <class Q>
  void number(const char* key, const Q& from) {
    json[key] = finite(from);
  }
  template <class Q>
  void rate(const char* key, const Q& from) {
    json[key] = finite(from);
  }
  template <class Enum>
  void word(const char* key, Enum from, std::string_view (*name)(Enum),
            Enum (*)(std::string_view)) {
    json[key] = name(from);
  }
  template <class T>
  void object(const char* key, const T& from) {
    json[key] = write(from);
  }
  template <class T>
  void list(const char* key, const std::vector<T>& from) {
    json[key] = nlohmann::ordered_json::array();
    for (const T& element : from) json[key].push_back(write(element));
  }
  template <class T>
  void map(const char* key, const std::map<std::string, T>& from) {
    json[key] = nlohmann::ordered_json::object();
    for (const auto& [name, value] : from) json[key][name] = write(value);
  }
  template <class T>
  void optional(const char* key, const std::optional<T>& from) {
    if (from) object(key, *from);
  }

 private:
  /// In SI units. Requires a finite number, because a file never holds NaN or infinity.
  template <class Q>
  static double finite(const Q& value) {
    double number = 0;
    if constexpr (std::is_same_v<Q, double>) {
      number = value;
    } else {
      number = value.si();
    }
    EXPECT(std::isfinite(number));
    return number;
  }
};

template <class T>
concept AnEstimate = requires(T& estimate) {
  estimate.value;
  estimate.low;
  estimate.high;
};

void describe(auto& file, AnEstimate auto& estimate) {
  file.number("value", estimate.value);
  file.number("low", estimate.low);
  file.number("high", estimate.high);
  file.require(estimate.low <= estimate.value && estimate.value <= estimate.high, "value",
               "is outside of [low, high]");
}

template <class T>
T read(const Value& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return value.text();
  } else if constexpr (std::is_same_v<T, int>) {
    return value.integer(0);
  } else {
    T result{};
    Reader reader(value);
    describe(reader, result);
    reader.done();
    return result;
  }
}

template <class T>
nlohmann::ordered_json write(const T& value) {
  if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, int>) {
    return value;
  } else {
    Writer writer;
    describe(writer, value);
    return std::move(writer.json);
  }
}

}  // namespace dlscale::model::machine_file
