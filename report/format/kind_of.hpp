#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "report/table/table.hpp"

namespace dlscale::report::format {

/// What a document is, in whatever format: the schema of its JSON, such as "dlscale.prediction".
std::string kind_of(const Document& document);

/// The same as part of a name: "dlscale_prediction".
std::string plain_kind_of(const Document& document);

/// The column of that heading in the records.
std::optional<std::size_t> column_of(const Table& table, std::string_view heading);

}  // namespace dlscale::report::format
