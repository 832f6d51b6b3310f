#include "server/request_json.h"

#include <gtest/gtest.h>

#include "server/fake_predictor.h"
#include "server/request_error.h"

namespace l0gm {
namespace {

using testing_tools::FakePredictor;

struct Result {
  std::vector<std::string> cells;
  std::vector<bool> missing;
  int64_t rows = 0;
  std::optional<bool> calibrated;
};

Result read(std::string body, const Predictor& predictor, int64_t most_rows = 100) {
  const ColumnNames names(predictor);
  RequestRows rows;
  read_json_rows(body, names, most_rows, rows);
  Result result;
  for (const std::string_view cell : rows.cells)
    result.cells.emplace_back(cell), result.missing.push_back(cell.data() == nullptr);
  result.rows = rows.rows;
  result.calibrated = rows.calibrated;
  return result;
}

const FakePredictor& table() {
  static const FakePredictor predictor({"age", "city"});
  return predictor;
}

std::string refusal(const std::string& body, const Predictor& predictor = table(), int status = 400) {
  try {
    read(body, predictor);
  } catch (const RequestError& error) {
    EXPECT_EQ(error.status(), status) << body;
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << body;
  return {};
}

TEST(RequestJson, ObjectsInAnyOrderOthersIgnored) {
  const Result result = read(
      R"({"rows": [{"age": 39, "city": "Paris"}, {"other": {"a": [1]}, "city": "R\u00f6m", "age": 1.50}, {"city": true, "age": null}]})",
      table());
  EXPECT_EQ(result.rows, 3);
  EXPECT_EQ(result.cells, (std::vector<std::string>{"39", "Paris", "1.50", "Röm", "", "true"}));
  EXPECT_EQ(result.missing, (std::vector<bool>{false, false, false, false, true, false}));
  EXPECT_FALSE(result.calibrated);
}

TEST(RequestJson, AnEmptyTextIsNoNull) {
  EXPECT_EQ(read(R"({"rows": [{"age": "", "city": ""}]})", table()).missing, (std::vector<bool>{false, false}));
}

TEST(RequestJson, ArraysByName) {
  const std::vector<std::string> wanted = {"1", "a", "2", "b"};
  EXPECT_EQ(read(R"({"columns": ["city", "x", "age"], "rows": [["a", 0, 1], ["b", null, 2]]})", table()).cells, wanted);
  EXPECT_EQ(read(R"({"rows": [["a", 0, 1], ["b", null, 2]], "columns": ["city", "x", "age"]})", table()).cells, wanted);
  EXPECT_NE(refusal(R"({"rows": [[1, "a"], [2, "b"]]})").find("want the key 'columns'"), std::string::npos);
  refusal(R"({"rows": [{"age": 1, "city": 2}, [1, "a"]]})");
}

TEST(RequestJson, CalibratedIsRead) {
  EXPECT_EQ(read(R"({"calibrated": false, "rows": [{"age": 1, "city": 2}]})", table()).calibrated, false);
  EXPECT_EQ(read(R"({"rows": [{"age": 1, "city": 2}], "calibrated": true})", table()).calibrated, true);
}

TEST(RequestJson, NumbersHaveAPointWhateverTheFilesHave) {
  FakePredictor predictor({"price", "day"});
  predictor.notations = ",d";
  EXPECT_EQ(read(R"({"rows": [{"price": 1.234, "day": "2024-01-31"}]})", predictor).cells[0], "1,234");
  EXPECT_NE(refusal(R"({"rows": [{"price": 1, "day": 20000}]})", predictor).find("holds dates"), std::string::npos);
}

TEST(RequestJson, Texts) {
  const FakePredictor predictor({"text"}, true);
  const std::vector<std::string> wanted = {"a\nb", ""};
  EXPECT_EQ(read(R"({"texts": ["a\nb", ""]})", predictor).cells, wanted);
  EXPECT_EQ(read(R"({"rows": [{"text": "a\nb"}, {"text": ""}]})", predictor).cells, wanted);
  refusal(R"({"texts": [1]})", predictor);
  refusal(R"({"rows": [{"text": 1}]})", predictor);
  refusal(R"({"rows": [{"text": null}]})", predictor);
  refusal(R"({"texts": ["a"], "rows": [{"text": "a"}]})", predictor);
  refusal(R"({"texts": ["a"]})");
}

TEST(RequestJson, MessagesSayWhatToDo) {
  EXPECT_NE(refusal(R"({"rows": [{"agee": 1, "city": "a"}]})")
                .find("row 0, counted from 0, has no 'age', which the model reads; null where the value is missing. Did you mean "
                      "'agee'?"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"columns": ["age", "town"], "rows": []})").find("'columns' has no 'city'"), std::string::npos);
  EXPECT_NE(refusal(R"({"rowz": []})").find("'rowz' is not known"), std::string::npos);
  EXPECT_NE(refusal(R"({"rows": [{"age": [1], "city": 1}]})").find("'age' is an array"), std::string::npos);
}

TEST(RequestJson, RefusesEverythingElse) {
  for (const char* wrong :
       {"", "[]", "{}", "null", R"({"rows": {}})", R"({"rows": []})", R"({"rows": [1]})", R"({"rows": [[1]]})",
        R"({"columns": ["age", "city"], "rows": [[1, 2, 3]]})", R"({"rows": [{"age": 1, "age": 2, "city": 3}]})",
        R"({"rows": [{"age": 1, "city": 2}], "rows": []})", R"({"rows": [{"age": 1, "city": 2}], "calibrated": 1})",
        R"({"rows": [{"age": 1, "city": 2}]} x)", R"({"rows": [{"age": 1, "city": 2},]})",
        R"({"columns": ["age", "age", "city"], "rows": [[1, 1, 1]]})", R"({"columns": ["age", "city"]})",
        "{\"rows\": [{\"age\": 1, \"city\": \"\xff\"}]}", R"({"rows": [{"age": 01, "city": 2}]})"}) {
    refusal(wrong);
  }
}

TEST(RequestJson, RowsAreBounded) {
  const std::string three = R"({"columns": ["age", "city"], "rows": [[1, 2], [1, 2], [1, 2]]})";
  EXPECT_EQ(read(three, table(), 3).rows, 3);
  try {
    read(three, table(), 2);
    FAIL();
  } catch (const RequestError& error) {
    EXPECT_EQ(error.status(), 413);
  }
}

}  // namespace
}  // namespace l0gm
