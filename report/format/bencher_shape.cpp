#include "report/format/bencher_shape.hpp"

#include <cstddef>
#include <istream>
#include <nlohmann/json.hpp>
#include <string>

namespace dlscale::report::format {
namespace {

using nlohmann::json;

/// Tracks the levels: benchmarks, their measures, the numbers of each.
class Shape : public nlohmann::json_sax<json> {
 public:
  bool null() override { return false; }
  bool boolean(bool) override { return false; }
  bool number_integer(number_integer_t) override { return number(); }
  bool number_unsigned(number_unsigned_t) override { return number(); }
  bool number_float(number_float_t, const string_t&) override { return number(); }
  bool string(string_t&) override { return false; }
  bool binary(binary_t&) override { return false; }
  bool start_array(std::size_t) override { return false; }
  bool end_array() override { return false; }
  bool start_object(std::size_t) override {
    is_filled_ = depth_ == 0;  // the outermost object may be empty
    return ++depth_ <= deepest;
  }
  bool key(string_t& name) override {
    if (depth_ < deepest) return !name.empty();
    is_filled_ = is_filled_ || name == "value";
    return name == "value" || name == "lower_value" || name == "upper_value";
  }
  bool end_object() override {
    --depth_;
    const bool was_filled = is_filled_;
    is_filled_ = true;  // by the object that ended here
    return was_filled;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return false;
  }

 private:
  static constexpr int deepest = 3;
  [[nodiscard]] bool number() const { return depth_ == deepest; }

  int depth_ = 0;
  bool is_filled_ = false;  ///< whether the innermost object has its required members
};

}  // namespace

bool is_bencher_metrics(std::istream& content) {
  content.clear();
  content.seekg(0);
  Shape shape;
  return json::sax_parse(content, &shape);
}

}  // namespace dlscale::report::format
