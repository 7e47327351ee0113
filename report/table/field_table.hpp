#pragma once
#include <algorithm>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "regression/statistics/metric.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// The colour of a verdict in tables and on pages.
inline Tone tone_of(regression::Verdict verdict) {
  switch (verdict) {
    case regression::Verdict::improved:
      return Tone::good;
    case regression::Verdict::unchanged:
    case regression::Verdict::not_regressed:
      return Tone::plain;
    case regression::Verdict::regressed:
    case regression::Verdict::shifted:
    case regression::Verdict::wrong:
      return Tone::bad;
    case regression::Verdict::inconclusive:
      return Tone::caution;
  }
  return Tone::plain;
}

/// Adds columns of records with a common meaning for tracking numbers from run to run. Every column
/// of records declares its meaning (tests/report/records_declared.hpp). By its heading alone, a
/// number without a unit would be a key, and so a new series in every run.
inline void add_columns(std::vector<Column>& columns, Meaning meaning,
                        std::initializer_list<std::string_view> headings) {
  for (const std::string_view heading : headings) {
    columns.push_back({std::string(heading), Align::right, meaning, {}});
  }
}

// An answer is written once: a list of fields describes a row. The table for people, the records
// (CSV) and the JSON object of a row are made from it, each in the order of the list.

/// A value of an answer: null, boolean, integer, number, text, or a list or object of these. Keys
/// keep their order.
using Json = nlohmann::ordered_json;

/// A finite number. Infinities and NaN are a bug in dlscale, since JSON has none.
Json number(double value);
/// A whole number without ".0", as settings appear in JSON.
Json setting(double value);
/// Null if the text is empty.
Json text_or_null(std::string text);

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;

/// Converts the result of a getter to a value: quantities in SI, null for an absent optional.
template <class T>
Json value_of(const T& it) {
  if constexpr (is_optional<T>) {
    return it ? value_of(*it) : Json(nullptr);
  } else if constexpr (is_list<T>) {
    Json list = Json::array();
    for (const auto& each : it) list.push_back(value_of(each));
    return list;
  } else if constexpr (requires { it.si(); }) {
    return number(it.si());
  } else if constexpr (std::floating_point<T>) {
    return number(it);
  } else {
    static_assert(!std::is_enum_v<T>, "an enumerator is written by its name");
    return Json(it);
  }
}

/// The value at the end of a path of members, pointers and functions.
template <class Row, class First, class... Rest>
auto follow(const Row& row, First first, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return std::invoke(first, row);
  } else {
    return follow(std::invoke(first, row), rest...);
  }
}

/// A getter along a path: via(&Prediction::run, &Run::dtype, dtype_name).
template <class... Path>
auto via(Path... path) {
  return [=](const auto& row) { return follow(row, path...); };
}

/// A function of a row. std::function would make compilers write ten functions for every getter;
/// this takes one, and a second for getters with a state.
template <class Result, class Row>
class Getter {
 public:
  Getter() = default;
  /// `get` is a member or a function of the row; its result is converted to `Result`.
  template <class Get>
  // NOLINTNEXTLINE(google-explicit-constructor): lists of fields name getters alone.
  Getter(Get get) : call_(call<Get>) {
    if constexpr (has_state<Get>) {
      const void* state = new Get(std::move(get));  // one kind of shared_ptr for all getters
      state_ = {state, destroy<Get>};
    }
  }

  explicit operator bool() const { return call_ != nullptr; }
  Result operator()(const Row& row) const { return call_(state_.get(), row); }

 private:
  template <class Get>
  static constexpr bool has_state = !std::is_empty_v<Get> || !std::default_initializable<Get>;

  template <class Get>
  static Result call([[maybe_unused]] const void* state, const Row& row) {
    if constexpr (!has_state<Get>) {
      return converted(Get{}(row));
    } else {
      const Get& get = *static_cast<const Get*>(state);
      if constexpr (std::is_member_pointer_v<Get>) {
        return converted(std::invoke(get, row));
      } else {
        return converted(get(row));
      }
    }
  }
  template <class Get>
  static void destroy(const void* state) {
    delete static_cast<const Get*>(state);
  }

  template <class T>
  static Result converted(const T& it) {
    if constexpr (std::is_same_v<T, Result>) {
      return it;
    } else if constexpr (std::is_same_v<Result, Json>) {
      return value_of(it);
    } else {
      return {std::string(it)};
    }
  }

  Result (*call_)(const void* state, const Row& row) = nullptr;
  std::shared_ptr<const void> state_{};
};

/// A value in a record: "" for null, the shortest decimal that reads back as the same number, list
/// items joined by "; ".
std::string record_text(const Json& value);

/// Text and alignment of a value for people.
struct Look {
  std::string (*text)(const Json& value);
  Align align = Align::right;
};

namespace as {
std::string exact_text(const Json& value);
std::string dash_text(const Json& value);
std::string milliseconds_text(const Json& value);
std::string percent_text(const Json& value);
std::string signed_percent_text(const Json& value);
std::string whole_text(const Json& value);
std::string giga_text(const Json& value);
std::string significant_text(const Json& value, int digits);

// "–" means null in all but the first two.
inline constexpr Look exact{record_text};                     ///< as in records
inline constexpr Look words{record_text, Align::left};        ///< a text
inline constexpr Look words_or_dash{dash_text, Align::left};  ///< a text
inline constexpr Look exact_or_dash{dash_text};               ///< as in records
inline constexpr Look milliseconds{milliseconds_text};        ///< from seconds
inline constexpr Look percent{percent_text};                  ///< "3.2 %" from 0.032
inline constexpr Look signed_percent{signed_percent_text};    ///< "+3.2 %", for errors
inline constexpr Look whole{whole_text};                      ///< without decimals
inline constexpr Look giga{giga_text};                        ///< 1e9 per second
template <int digits>
inline constexpr Look significant{
    [](const Json& value) { return significant_text(value, digits); }};
}  // namespace as

/// "kept" or "missed" for a limit; "–" if there is none.
Cell kept_cell(std::optional<bool> kept);

/// "passed", "inconclusive" or "failed": the verdict for an exit code.
std::string_view verdict_word(ExitCode code);

/// One named value of a row: the value for programs, and its form for people.
template <class Row>
struct Field {
  enum class In { records_and_json, records, json };

  std::string key{};                  ///< name with its unit, "t_iter_s"; empty: for people only
  Meaning meaning = Meaning::remark;  ///< meaning of the column of records
  Getter<Json, Row> value{};
  std::string header{};  ///< with its unit, "iteration ms"; empty: for programs only
  Look look = as::exact;
  Getter<Cell, Row> cell{};  ///< replaces value and look
  In in = In::records_and_json;
  std::vector<std::string> states{};  ///< all possible words of a Meaning::state
  int spare = 0;                      ///< as Column::spare

  /// For programs only.
  Field(std::string name, Meaning what, Getter<Json, Row> get)
      : key(std::move(name)), meaning(what), value(std::move(get)) {}

  /// For programs and for people.
  Field(std::string name, Meaning what, Getter<Json, Row> get, std::string heading, Look shown)
      : Field(std::move(name), what, std::move(get)) {
    header = std::move(heading);
    look = shown;
  }

  /// For programs, and in other words for people: `show` makes a cell or its text from the row.
  Field(std::string name, Meaning what, Getter<Json, Row> get, std::string heading,
        Getter<Cell, Row> show, Align align = Align::right)
      : Field(std::move(name), what, std::move(get), std::move(heading), Look{record_text, align}) {
    cell = std::move(show);
  }

  /// For people only.
  static Field table(std::string heading, Getter<Json, Row> get, Look shown) {
    return {"", Meaning::remark, std::move(get), std::move(heading), shown};
  }
  static Field table(std::string heading, Getter<Cell, Row> show, Align align = Align::right) {
    return {"",
            Meaning::remark,
            [](const Row&) { return Json(nullptr); },
            std::move(heading),
            std::move(show),
            align};
  }
  /// For records only; JSON expresses it differently.
  static Field record(std::string name, Meaning what, Getter<Json, Row> get) {
    Field field(std::move(name), what, std::move(get));
    field.in = In::records;
    return field;
  }
  /// For JSON only: objects, lists, and values that records express differently.
  static Field json(std::string name, Getter<Json, Row> get) {
    Field field(std::move(name), Meaning::remark, std::move(get));
    field.in = In::json;
    return field;
  }

  [[nodiscard]] bool in_records() const { return !key.empty() && in != In::json; }
  [[nodiscard]] bool in_json() const { return !key.empty() && in != In::records; }
  [[nodiscard]] Cell shown(const Row& row) const {
    return cell ? cell(row) : Cell{look.text(value(row))};
  }
};

template <class Row>
using Fields = std::vector<Field<Row>>;

/// Concatenates the lists.
template <class Row>
Fields<Row> joined(std::initializer_list<Fields<Row>> lists) {
  Fields<Row> all;
  for (const Fields<Row>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

/// Lifts the fields of a part of a row, `get`, to the row: for example those of a prediction's run.
template <class Row, class Part, class Get>
Fields<Row> part_of(const Fields<Part>& fields, Get get) {
  Fields<Row> all;
  for (const Field<Part>& field : fields) {
    Field<Row> mine(field.key, field.meaning, [get, value = field.value](const Row& row) {
      return value(std::invoke(get, row));
    });
    mine.header = field.header;
    mine.look = field.look;
    if (field.cell) {
      mine.cell = [get, cell = field.cell](const Row& row) { return cell(std::invoke(get, row)); };
    }
    mine.in = static_cast<typename Field<Row>::In>(field.in);
    mine.states = field.states;
    mine.spare = field.spare;
    all.push_back(std::move(mine));
  }
  return all;
}

/// The fields with these keys, in the order of the keys.
template <class Row>
Fields<Row> picked(const Fields<Row>& fields, std::initializer_list<std::string_view> keys) {
  Fields<Row> some;
  for (const std::string_view key : keys) {
    const auto found = std::ranges::find(fields, key, &Field<Row>::key);
    EXPECT(found != fields.end());
    some.push_back(*found);
  }
  return some;
}

/// All fields except those with these keys.
template <class Row>
Fields<Row> without(Fields<Row> fields, std::initializer_list<std::string_view> keys) {
  std::erase_if(fields, [keys](const Field<Row>& field) {
    return std::ranges::find(keys, field.key) != keys.end();
  });
  return fields;
}

/// The same fields, which a table for people may leave out: see Column::spare.
template <class Row>
Fields<Row> spared(int rank, Fields<Row> fields) {
  for (Field<Row>& field : fields) field.spare = rank;
  return fields;
}

/// The same fields without their form for people.
template <class Row>
Fields<Row> for_programs(Fields<Row> fields) {
  std::erase_if(fields, [](const Field<Row>& field) { return field.key.empty(); });
  for (Field<Row>& field : fields) field.header.clear();
  return fields;
}

/// The same fields for people only; fields without a header are left out.
template <class Row>
Fields<Row> for_people(Fields<Row> fields) {
  std::erase_if(fields, [](const Field<Row>& field) { return field.header.empty(); });
  for (Field<Row>& field : fields) field.key.clear();
  return fields;
}

/// The same fields in records only, for rows whose JSON has the part as a separate object.
template <class Row>
Fields<Row> in_records(Fields<Row> fields) {
  std::erase_if(fields, [](const Field<Row>& field) { return !field.in_records(); });
  for (Field<Row>& field : fields) field.in = Field<Row>::In::records;
  return fields;
}

/// The fields that have a text for people in some row.
template <class Row, std::ranges::input_range Rows>
Fields<Row> filled(Fields<Row> fields, const Rows& rows) {
  std::erase_if(fields, [&rows](const Field<Row>& field) {
    return std::ranges::all_of(rows,
                               [&field](const Row& row) { return field.shown(row).text.empty(); });
  });
  return fields;
}

/// Appends the row's cells for people to a table.
template <class Row>
void add_shown(const Fields<Row>& fields, const Row& row, Table& table) {
  std::vector<Cell>& cells = table.rows.emplace_back();
  for (const Field<Row>& field : fields) {
    if (!field.header.empty()) cells.push_back(field.shown(row));
  }
}

/// The table for people: one column for each field with a header, without title and notes.
template <class Row, class Rows>
Table table_of(const Fields<Row>& fields, const Rows& rows) {
  Table table;
  for (const Field<Row>& field : fields) {
    if (field.header.empty()) continue;
    table.columns.push_back({field.header, field.look.align, Meaning::undeclared, {}, field.spare});
  }
  for (const Row& row : rows) add_shown(fields, row, table);
  return table;
}

/// Records, one for each row.
template <class Row, class Rows>
Table records_of(const Fields<Row>& fields, const Rows& rows) {
  Table table;
  for (const Field<Row>& field : fields) {
    if (!field.in_records()) continue;
    table.columns.push_back({field.key, Align::right, field.meaning, field.states});
  }
  for (const Row& row : rows) {
    std::vector<Cell>& cells = table.rows.emplace_back();
    cells.reserve(table.columns.size());
    for (const Field<Row>& field : fields) {
      if (field.in_records()) cells.push_back({record_text(field.value(row))});
    }
  }
  return table;
}

/// The row as a JSON object.
template <class Row>
Json object_of(const Fields<Row>& fields, const Row& row) {
  Json object = Json::object();
  for (const Field<Row>& field : fields) {
    if (field.in_json()) object[field.key] = field.value(row);
  }
  return object;
}
/// Null if absent.
template <class Row>
Json object_of(const Fields<Row>& fields, const std::optional<Row>& row) {
  return row ? object_of(fields, *row) : Json(nullptr);
}

/// A list of such objects.
template <class Row, class Rows>
Json list_of(const Fields<Row>& fields, const Rows& rows) {
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(object_of(fields, row));
  return list;
}

/// Indented by two; invalid UTF-8 becomes U+FFFD.
std::string dump(const Json& json);

/// The version of answers with the notes of predictions. In version 1 a note was its text alone.
inline constexpr int notes_with_kinds = 2;

/// The JSON of an answer: {"schema": …, "version": …, …}, followed by the fields of the object from
/// `rest`. `add_drawings` adds what only figures need, which the summary leaves out. Both own the
/// data that they read.
JsonText json_answer(std::string schema, std::function<Json()> rest, int version = 1,
                     std::function<void(Json&)> add_drawings = {});

}  // namespace dlscale::report
