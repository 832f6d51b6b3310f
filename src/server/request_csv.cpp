#include "server/request_csv.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/csv_rows.h"
#include "base/text.h"
#include "server/request_error.h"

namespace l0gm {
namespace {

// A body as the csv reader wants it: all bytes are there from the start.
class BodyText : public CsvText {
 public:
  BodyText(std::string& body, bool any_bytes) : CsvText("the body", static_cast<int64_t>(body.size()) + 1, any_bytes) {
    bytes_ = body.data();
    end_ = body.size();
    if (std::string_view(body).starts_with("\xEF\xBB\xBF")) begin_ = checked_ = 3;
    end_of_file_ = true;
    check();
  }

 private:
  void grow() override {}
};

void refuse_many(int64_t most) {
  throw RequestError(413, fmt::format("there are more than {} rows; send fewer at a time", most));
}

// Of each column of the model, its place in the header.
std::vector<size_t> places_of(const std::vector<std::string>& header, const ColumnNames& columns) {
  std::vector<size_t> places;
  for (const std::string& name : columns.predictor().columns()) {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end()) {
      throw RequestError(400, fmt::format("there is no column '{}'; there are: {}.{}", name, list_some(header),
                                          did_you_mean(name, header)));
    }
    places.push_back(static_cast<size_t>(found - header.begin()));
  }
  return places;
}

}  // namespace

void read_csv_rows(std::string& body, const ColumnNames& columns, char delimiter, int64_t most_rows, RequestRows& rows) {
  try {
    CsvRows reader("the body", {.delimiter = delimiter, .names = {}, .any_bytes = columns.predictor().reads_texts()});
    BodyText text(body, columns.predictor().reads_texts());
    std::vector<std::string_view> cells;
    const std::vector<size_t> places = places_of(reader.read_names(text, cells), columns);
    while (reader.read(text, cells)) {
      if (++rows.rows > most_rows) refuse_many(most_rows);
      for (const size_t place : places) rows.cells.push_back(cells[place]);
    }
  } catch (const RequestError&) {
    throw;
  } catch (const UserError& error) {
    throw RequestError(400, error.what());
  }
  if (rows.rows == 0) throw RequestError(400, "the body has a header and no rows");
}

}  // namespace l0gm
