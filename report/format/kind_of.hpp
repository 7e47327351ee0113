#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "report/table/table.hpp"

namespace dlscale::report::format {

/// Kind of a document in any format: the schema of its JSON, for example "dlscale.prediction".
std::string kind_of(const Document& document);

/// The same as part of a name: "dlscale_prediction".
std::string plain_kind_of(const Document& document);

/// Index of the column with that heading in the records.
std::optional<std::size_t> column_of(const Table& table, std::string_view heading);

}  // namespace dlscale::report::format
